"""Wrong and odd logs, as people have them, and what becomes of each: one line on stderr, or how many rows are read.

`python -m tests.logs.odd_logs FOLDER` writes them all, each into a folder of its own. A new one is a line in ODD_LOGS:
its name, what it says, its files, and what it changes in the task. Nothing here depends on chance or the clock.
"""

import gzip
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np

TASK = """version = 1
name = "odd logs"
[instance]
item = { kind = "category" }
price = { kind = "number" }
[proxy]
values = ["none", "some"]
horizon = "2 days"
[outcome]
values = ["no", "yes"]
horizon = "7 days"
[log]
id = "id"
"""
HEADER = "id,item,price,shown_at,proxy,proxy_at,outcome,outcome_at"
ROWS = 60
FOLDER = "{folder}"
"""Stands in a message for the folder in which the log lies."""

Content = bytes | Callable[[Path], object]
"""The bytes of a file, or what writes it to a path."""


def row(n: int) -> str:
    """The n-th prediction; all of them have a proxy and an outcome."""
    shown, proxied, ended = (f"2024-03-{1 + n // 3 + later:02} {n % 3:02}:30:00" for later in (0, 1, 6))
    return f"{n},item-{n % 5},{n}.5,{shown},{('none', 'some')[n % 2]},{proxied},{('no', 'yes')[n // 2 % 2]},{ended}"


def text(*, header: str = HEADER, change: Callable[[str], str] = str, rows: int = ROWS, end: str = "\n") -> str:
    """The log as CSV; `change` is done to each row."""
    return end.join([header, *(change(row(n)) for n in range(rows))]) + end


GOOD = text()


def line(number: int, change: Callable[[str], str], source: str = GOOD) -> bytes:
    """The log with one line of it changed; the header is line 1."""
    lines = source.splitlines()
    return "\n".join([*lines[: number - 1], change(lines[number - 1]), *lines[number:], ""]).encode("latin-1")


def column(name: str, change: Callable[[str], str]) -> bytes:
    """The log with every value of a column changed."""
    place = HEADER.split(",").index(name)
    return text(
        change=lambda one: ",".join(change(v) if p == place else v for p, v in enumerate(one.split(",")))
    ).encode()


def sql(query: str) -> Callable[[Path], object]:
    """What writes the good log with a query to a file; the query reads it as `good`."""

    def write(path: Path) -> None:
        with duckdb.connect() as connection:
            lines = ", ".join("('" + "', '".join(row(n).split(",")) + "')" for n in range(ROWS))
            connection.execute(f"CREATE TABLE good AS FROM (VALUES {lines}) AS t({HEADER})")
            form = "parquet" if path.suffix == ".parquet" else "json"
            packed = ", COMPRESSION zstd" if path.suffix == ".zst" else ""
            form = "csv, HEADER" if ".csv" in path.name else form
            connection.execute(f"COPY ({query}) TO '{path}' (FORMAT {form}{packed})")

    return write


def database(path: Path) -> None:
    """A DuckDB file with the good log in a table of an odd name, and a view that reads another file."""
    with duckdb.connect(str(path)) as connection:
        lines = ", ".join("('" + "', '".join(row(n).split(",")) + "')" for n in range(ROWS))
        connection.execute(f"""CREATE TABLE "it's ""my"" log" AS FROM (VALUES {lines}) AS t({HEADER})""")


def spoilt(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """What writes the good log in a form of DuckDB's and then spoils its bytes."""

    def write(path: Path) -> None:
        sql("FROM good")(path.with_name(name))
        path.write_bytes(change(path.with_name(name).read_bytes()))
        if path.name != name:
            path.with_name(name).unlink()

    return write


class OddLog(NamedTuple):
    """A log, what is done with it, and what becomes of it."""

    says: str | int  # the line on stderr, without "presage: "; or how many rows are read
    files: Mapping[str, Content]
    task: tuple[str, str] = ("", "")  # what is replaced in the task, and by what
    log: str = ""  # the first file where nothing is said
    flags: tuple[str, ...] = ()
    left_out: Mapping[str, int] = {}
    told: str = ""  # a line on stderr beside them
    warnings: tuple[str, ...] = ()  # the kinds of what is to be looked at


def missing_items() -> str:
    """The log with ten items that are missing, each in other words."""
    words = ["NaN", "nan", "NULL", "null", "NA", "N/A", "n/a", "<NA>", " None ", "\\N"]
    rows = [row(n).replace(f"item-{n % 5}", words[n]) if n < 10 else row(n) for n in range(ROWS)]
    return "\n".join([HEADER, *rows, ""])


def log_key(line: str) -> tuple[str, str]:
    """A line added to [log]."""
    return 'id = "id"', f'id = "id"\n{line}'


def where(condition: str) -> tuple[str, str]:
    """A condition added to [log]."""
    return log_key(f"where = '''{condition}'''")


def csv(content: bytes | str = GOOD) -> dict[str, Content]:
    """A log.csv of these bytes."""
    return {"log.csv": content.encode() if isinstance(content, str) else content}


def replaced(old: str, new: str) -> dict[str, Content]:
    """A log.csv in which something is written in another way."""
    assert old in GOOD
    return csv(GOOD.replace(old, new))


def berlin(moment: str) -> str:
    """A time as a German spreadsheet writes it."""
    return f"{moment[8:10]}.{moment[5:7]}.{moment[:4]} {moment[11:16]}"


def epoch(moment: str, each: int) -> str:
    """A time as a number since 1970."""
    return str(int(np.datetime64(moment, "s").astype(int)) * each)


def times(change: Callable[[str], str]) -> dict[str, Content]:
    """A log.csv in which every time is written in another way."""
    return csv(text(change=lambda one: ",".join(change(v) if v.startswith("2024-") else v for v in one.split(","))))


SEPARATED = {name: text().replace(",", mark) for name, mark in (("semicolons", ";"), ("tabs", "\t"), ("bars", "|"))}
SKIP = ("--skip-bad-lines",)
BAD_LINES = "lines that cannot be read"
LEFT = "rows that log.where leaves out"
STATUS = text(header=f"{HEADER},status", change=lambda one: f"{one},{'test' if one[0] == '1' else 'live'}")
ROWS_TASK = """[proxy]
values = ["none", "some"]
horizon = "2 rows"
[outcome]
values = ["no", "yes"]
horizon = "7 rows"
[log]
order = "rows"
"""
"""What stands in a task on a log without times, from its signals on."""

ODD_LOGS: dict[str, OddLog] = {
    # How a CSV is written.
    "semicolons": OddLog(ROWS, csv(SEPARATED["semicolons"])),
    "tabs in a csv": OddLog(ROWS, csv(SEPARATED["tabs"])),
    "bars": OddLog(ROWS, csv(SEPARATED["bars"])),
    "a tsv of tabs": OddLog(ROWS, {"log.tsv": SEPARATED["tabs"].encode()}),
    "a tsv of commas": OddLog(
        "log.tsv lacks the columns shown_at, id, item, price, proxy, proxy_at, outcome, outcome_at: found "
        "['id,item,price,shown_at,proxy,proxy_at,outcome,outcome_at']; rename or add them, or say in the "
        "task which columns they are: log.shown_at, log.id, instance.item, instance.price, proxy.column, "
        "proxy.known_at, outcome.column, outcome.known_at; a value known when its horizon has passed needs known = "
        '"at horizon" instead of known_at',
        {"log.tsv": GOOD.encode()},
    ),
    "a header that may be split in two ways": OddLog(
        "the header of log.csv may be split at commas or semicolons: found 'a;b,c;d'; export it with one of them",
        csv(GOOD.replace(HEADER, "a;b,c;d", 1)),
    ),
    "a header of which one way gives the columns": OddLog(
        ROWS, csv(text(header=HEADER + ",a;b", change=lambda one: one + ",1"))
    ),
    "a bar in a quoted name": OddLog(ROWS, csv(text(header=HEADER + ',"a|b"', change=lambda one: one + ",1"))),
    "a byte-order mark": OddLog(ROWS, csv(b"\xef\xbb\xbf" + GOOD.encode())),
    "UTF-16": OddLog(
        "log.csv cannot be read as CSV: found 'it looks like UTF-16 text'; save it as UTF-8", csv(GOOD.encode("utf-16"))
    ),
    "UTF-16 without a mark": OddLog(
        "log.csv cannot be read as CSV: found 'line 1 holds a zero byte: it is no text, or not UTF-8'; "
        "export it as CSV in UTF-8",
        csv(GOOD.encode("utf-16-le")),
    ),
    "Latin-1": OddLog(
        "log.csv cannot be read as CSV: found 'line 17 is not UTF-8: byte 0xFC in place 4'; save the "
        "file as UTF-8, such as by iconv -f latin1 -t utf8",
        csv(line(17, lambda one: one.replace("item", "\xfcber"))),
    ),
    "Latin-1 in the header": OddLog(
        "log.csv cannot be read as CSV: found 'line 1 is not UTF-8: byte 0xE9 in place 11'; save the "
        "file as UTF-8, such as by iconv -f latin1 -t utf8",
        csv(line(1, lambda one: one.replace("price", "pr\xe9"))),
    ),
    "Latin-1 that is skipped": OddLog(
        ROWS - 1,
        csv(line(17, lambda one: one.replace("item", "\xfcber"))),
        flags=SKIP,
        left_out={BAD_LINES: 1},
        told="left out: lines that cannot be read: 1, such as line 17 is not UTF-8: byte 0xFC in place 4",
    ),
    "line ends of Windows": OddLog(ROWS, csv(text(end="\r\n"))),
    "line ends that are mixed": OddLog(ROWS, csv(GOOD.replace("\n", "\r\n", 20))),
    "line ends that change far down": OddLog(ROWS, csv(GOOD[:-1].replace("\n", "\r\n") + "\n")),
    "line ends of an old Mac": OddLog(ROWS, csv(text(end="\r"))),
    "no line end at the end": OddLog(ROWS, csv(GOOD[:-1])),
    "empty lines before the header": OddLog(ROWS, csv("\n\n" + GOOD)),
    "empty lines between rows": OddLog(ROWS, csv(GOOD.replace("\n", "\n\n"))),
    "every value in quotes": OddLog(ROWS, csv('"' + GOOD[:-1].replace(",", '","').replace("\n", '"\n"') + '"\n')),
    "a quoted value over two lines": OddLog(ROWS, csv(line(9, lambda one: one.replace("item-2", '"item\n2"')))),
    "a quoted value over two lines among mixed ends": OddLog(
        ROWS, csv(line(9, lambda one: one.replace("item-2", '"item\n2"')).replace(b"\n", b"\r\n", 3))
    ),
    "a column without a name": OddLog(ROWS, csv(text(header="," + HEADER, change=lambda one: "0," + one))),
    "a delimiter at the end of every line": OddLog(ROWS, csv(text(header=HEADER + ",", change=lambda one: one + ","))),
    "a delimiter at the end of every row": OddLog(ROWS, csv(text(change=lambda one: one + ","))),
    "a delimiter at the end of some rows": OddLog(ROWS, csv(line(9, lambda one: one + ","))),
    "a name in capitals in the ending": OddLog(ROWS, {"LOG.CSV": GOOD.encode()}),
    "an odd name": OddLog(ROWS, {"it's [a] *log*?.csv": GOOD.encode()}),
    "a name with two colons": OddLog(ROWS, {"a::log.csv": GOOD.encode()}),
    # What is not there.
    "only a header": OddLog("log.csv holds no rows: found 0; write or export it again", csv(HEADER + "\n")),
    "only a header, without a line end": OddLog(
        "log.csv holds no rows: found 0; write or export it again", csv(HEADER)
    ),
    "nothing": OddLog("log.csv is empty: found '{folder}/log.csv'; write or export the file again", csv(b"")),
    "only line ends": OddLog(
        "log.csv holds only empty lines: found '{folder}/log.csv'; write or export the file again", csv("\n\n\n")
    ),
    "a column twice": OddLog(
        "log.csv has more than one column item: found ['id', 'item', 'item', 'shown_at', 'proxy', "
        "'proxy_at', 'outcome', 'outcome_at']; rename one of them, and export it again",
        csv(text(header=HEADER.replace("price", "item"))),
    ),
    "a column twice in other letters": OddLog(
        "log.csv has more than one column item: found ['id', 'item', 'Item', 'shown_at', 'proxy', "
        "'proxy_at', 'outcome', 'outcome_at']; rename one of them, and export it again",
        csv(text(header=HEADER.replace("price", "Item"))),
    ),
    "a column twice that is not read": OddLog(ROWS, csv(text(header=HEADER + ",x,x", change=lambda one: one + ",1,2"))),
    "no file": OddLog(
        "log.csv is not there: found '{folder}/log.csv'; check the folder and the name", {}, log="log.csv"
    ),
    "a link to nothing": OddLog(
        "log.csv is not there: found 'a link to nothing'; check the folder and the name",
        {"log.csv": lambda path: path.symlink_to("gone.csv")},
    ),
    "an ending that is unknown": OddLog(
        "the kind of this file is unknown: found '{folder}/log.xlsx'; name it .parquet, .csv, .tsv, "
        ".ndjson, .jsonl, and text also with .gz or .zst after it, or FILE.duckdb::TABLE",
        {"log.xlsx": b"PK\x03\x04"},
    ),
    "a folder without a log": OddLog(
        "the folder a holds no log: found '{folder}/a'; put files of one kind there: .parquet, .csv, .tsv, "
        ".ndjson, .jsonl, and text also with .gz or .zst after it",
        {"a/readme.txt": b"x"},
        log="a",
    ),
    "a folder of two kinds": OddLog(
        "the folder a holds files of several kinds: found ['.csv', '.jsonl']; keep one kind, or name a file",
        {"a/log.csv": GOOD.encode(), "a/log.jsonl": b"{}"},
        log="a",
    ),
    "a folder of two delimiters": OddLog(
        "the files of a have different delimiters: found 'commas in 1.csv, semicolons in 2.csv'; export them with one",
        {"a/1.csv": GOOD.encode(), "a/2.csv": SEPARATED["semicolons"].encode()},
        log="a",
    ),
    "a folder of two files": OddLog(
        ROWS, {"a/1.csv": text(rows=30).encode(), "a/2.csv": (HEADER + GOOD.split(row(29))[1]).encode()}, log="a"
    ),
    "a folder called like a file": OddLog(ROWS, {"log.csv/part.csv": GOOD.encode()}, log="log.csv"),
    # What cannot be read.
    "a row too short": OddLog(
        "log.csv cannot be read as CSV: found 'line 9 has 7 columns, the first 8'; correct it, or skip such"
        " lines (--skip-bad-lines)",
        csv(line(9, lambda one: one.rpartition(",")[0])),
    ),
    "a row too long": OddLog(
        "log.csv cannot be read as CSV: found 'line 9 has 9 columns, the first 8'; correct it, or skip such"
        " lines (--skip-bad-lines)",
        csv(line(9, lambda one: one + ",8.5")),
    ),
    "a quote that is not closed": OddLog(
        "log.csv cannot be read as CSV: found 'line 9 has a quote that is not closed'; correct it, or skip "
        "such lines (--skip-bad-lines)",
        csv(line(9, lambda one: one.replace("item", '"item'))),
    ),
    "text after a quote": OddLog(
        "log.csv cannot be read as CSV: found 'line 9 has text after a closing quote'; correct it, or skip "
        "such lines (--skip-bad-lines)",
        csv(line(9, lambda one: one.replace("item-2", '"item"-2'))),
    ),
    "a quote within a value": OddLog(ROWS, csv(line(9, lambda one: one.replace("item-2", 'item 2"')))),
    "a zero byte among mixed line ends": OddLog(
        "log.csv cannot be read as CSV: found 'line 4 holds a zero byte: it is no text, or not UTF-8'; "
        "export it as CSV in UTF-8",
        csv(GOOD.replace("\n", "\r\n", 3).replace("item-2", "it\0m", 1)),
    ),
    "a zero byte": OddLog(
        "log.csv cannot be read as CSV: found 'line 9 holds a zero byte: it is no text, or not UTF-8'; "
        "export it as CSV in UTF-8",
        csv(line(9, lambda one: one.replace("item", "it\0m"))),
    ),
    "a file that was cut": OddLog(
        "log.csv cannot be read as CSV: found 'line 25 has 5 columns, the first 8; it is the last: was the "
        "file cut?'; correct it, or skip such lines (--skip-bad-lines)",
        csv(GOOD[:2000].rpartition(",")[0]),
    ),
    "four bad lines that are skipped": OddLog(
        ROWS - 4,
        csv(
            "\n".join(
                one + ",x" if n in (5, 20) else '"' + one if n == 40 else one[:9] if n == 41 else one
                for n, one in enumerate(GOOD.splitlines())
            )
        ),
        flags=SKIP,
        left_out={BAD_LINES: 4},
        told="left out: lines that cannot be read: 4, such as line 6 has 9 columns, the first 8; line 21 has 9 "
        "columns, the first 8; line 41 has a quote that is not closed",
    ),
    "two quotes ten lines apart of which one is skipped": OddLog(
        ROWS - 2,
        csv(
            line(
                19,
                lambda one: one.replace("17.5", '17.5"'),
                line(9, lambda one: one.replace("item", '"item')).decode(),
            )
        ),
        flags=SKIP,
        left_out={BAD_LINES: 1, "rows without a valid price": 1},
        told="left out: lines that cannot be read: 1, such as line 9 has 7 columns, the first 8",
    ),
    "mostly bad lines that are skipped": OddLog(
        "most lines of log.csv cannot be read as CSV: found 'line 2 has 10 columns, the first 8'; export "
        "the file again",
        csv(text(change=lambda one: one + ",x,y") + row(0) + "\n"),
        flags=SKIP,
    ),
    "a bad header that is skipped": OddLog(
        "log.csv cannot be read as CSV: found 'line 1 has a quote that is not closed'; correct it, or export it again",
        csv(line(1, lambda one: '"' + one)),
        flags=SKIP,
    ),
    "nothing to skip": OddLog(ROWS, csv(), flags=SKIP),
    # Packed files and other forms.
    "gzip": OddLog(ROWS, {"log.csv.gz": gzip.compress(GOOD.encode(), mtime=0)}),
    "gzip with a bad line": OddLog(
        "log.csv.gz cannot be read as CSV: found 'line 9 has 9 columns, the first 8'; correct it, or skip "
        "such lines (--skip-bad-lines)",
        {"log.csv.gz": gzip.compress(line(9, lambda one: one + ",8.5"), mtime=0)},
    ),
    "gzip of semicolons and mixed ends": OddLog(
        ROWS, {"log.csv.gz": gzip.compress(SEPARATED["semicolons"].replace("\n", "\r\n", 9).encode(), mtime=0)}
    ),
    "gzip of tabs": OddLog(ROWS, {"log.tsv.gz": gzip.compress(SEPARATED["tabs"].encode(), mtime=0)}),
    "gzip that was cut": OddLog(
        "log.csv.gz cannot be unpacked: found 'Compressed file ended before the end-of-stream marker was "
        "reached'; copy or export the file again",
        {"log.csv.gz": gzip.compress(GOOD.encode(), mtime=0)[:300]},
    ),
    "gzip that is none": OddLog(
        "log.csv.gz cannot be read as CSV: found 'it looks like something else than gzip'; give it the "
        "ending of what it is, or export it as CSV",
        {"log.csv.gz": GOOD.encode()},
    ),
    "gzip that is called csv": OddLog(
        "log.csv cannot be read as CSV: found 'it looks like gzip'; give it the ending of what it is, or "
        "export it as CSV",
        csv(gzip.compress(GOOD.encode(), mtime=0)),
    ),
    "zstd": OddLog(ROWS, {"log.csv.zst": sql("FROM good")}),
    "zstd that is none": OddLog(
        "log.csv.zst cannot be read as CSV: found 'it looks like something else than zstd'; give it the "
        "ending of what it is, or export it as CSV",
        {"log.csv.zst": GOOD.encode()},
    ),
    "zstd that was cut": OddLog(
        "log.csv.zst cannot be unpacked: found 'zstd that was cut'; copy or export the file again",
        {"log.csv.zst": spoilt("whole.csv.zst", lambda data: data[:500])},
    ),
    "ndjson": OddLog(ROWS, {"log.ndjson": sql("FROM good")}),
    "ndjson in gzip": OddLog(ROWS, {"log.ndjson.gz": spoilt("l.ndjson", lambda data: gzip.compress(data, mtime=0))}),
    "jsonl in zstd": OddLog(ROWS, {"log.jsonl.zst": sql("FROM good")}),
    "ndjson with a bad line": OddLog(
        "log.ndjson cannot be read as NDJSON: found 'line 1 is no JSON object (Expected `object`, got "
        "`str`)'; correct it, or skip such lines (--skip-bad-lines)",
        {"log.ndjson": spoilt("l.ndjson", lambda data: data.replace(b"{", b"", 1))},
    ),
    "ndjson with a bad line far down": OddLog(
        'log.ndjson cannot be read as NDJSON: found "line 34 is no JSON object (JSON is malformed: expected'
        " ',' or '}' (byte 8))\"; correct it, or skip such lines (--skip-bad-lines)",
        {"log.ndjson": spoilt("l.ndjson", lambda data: data.replace(b'{"id":"33"', b'{"id":33"', 1))},
    ),
    "ndjson with a bad line that is skipped": OddLog(
        ROWS - 1,
        {"log.ndjson": spoilt("l.ndjson", lambda data: data.replace(b'{"id":"33"', b'{"id":33"', 1))},
        flags=SKIP,
        left_out={BAD_LINES: 1},
    ),
    "a column in other letters": OddLog(
        "log.csv lacks the columns price: found ['id', 'item', 'Price', 'shown_at', 'proxy', 'proxy_at', 'outcome', "
        "'outcome_at']; did you mean Price? Then correct instance.price",
        csv(GOOD.replace("price", "Price", 1)),
    ),
    "ndjson that is one array": OddLog(
        "log.ndjson cannot be read as NDJSON: found 'it looks like one JSON array rather than a line for "
        "each row'; turn an array into a row per line, such as by jq -c '.[]' FILE.json > FILE.ndjson",
        {"log.ndjson": b'[{"id": 1},\n{"id": 2}]\n'},
    ),
    "ndjson that is csv": OddLog(
        "log.ndjson cannot be read as NDJSON: found 'line 1 is no JSON object (JSON is malformed: invalid "
        "character (byte 0))'; correct it, or skip such lines (--skip-bad-lines)",
        {"log.ndjson": GOOD.encode()},
    ),
    "csv that is json": OddLog(
        "log.csv cannot be read as CSV: found 'it looks like JSON'; give it the ending of what it is, or "
        "export it as CSV",
        csv('[{"id": 1}]\n'),
    ),
    "csv that is a spreadsheet": OddLog(
        "log.csv cannot be read as CSV: found 'it looks like a ZIP archive, as .xlsx is'; give it the "
        "ending of what it is, or export it as CSV",
        csv(b"PK\x03\x04\x14\0\6\0"),
    ),
    "csv that is a page": OddLog(
        "log.csv cannot be read as CSV: found 'it looks like HTML'; give it the ending of what it is, or "
        "export it as CSV",
        csv("\n<!DOCTYPE html>\n<html><title>Sign in</title>\n"),
    ),
    "csv that is Parquet": OddLog(
        "log.csv cannot be read as CSV: found 'it looks like Parquet'; give it the ending of what it is, or"
        " export it as CSV",
        {"log.csv": spoilt("good.parquet", bytes)},
    ),
    "csv that is SQLite": OddLog(
        "log.csv cannot be read as CSV: found 'it looks like SQLite'; give it the ending of what it is, or "
        "export it as CSV",
        csv(b"SQLite format 3\0\x10\0"),
    ),
    "Parquet": OddLog(ROWS, {"log.parquet": sql("FROM good")}),
    "Parquet that was cut": OddLog(
        "log.parquet cannot be read as Parquet: found 'it looks like Parquet that was cut'; give it the "
        "ending of what it is, or export it as Parquet",
        {"log.parquet": spoilt("good.parquet", lambda data: data[:-100])},
    ),
    "Parquet with its middle lost": OddLog(
        'log.parquet cannot be read as Parquet: found "Invalid Input Error: Footer length error in file '
        "'{folder}/log.parquet' \"; write or export it again",
        {"log.parquet": spoilt("good.parquet", lambda data: data[:4] + b"\0" * 99 + data[-4:])},
    ),
    "Parquet that is csv": OddLog(
        "log.parquet cannot be read as Parquet: found 'it looks like text, such as CSV'; give it the ending"
        " of what it is, or export it as Parquet",
        {"log.parquet": GOOD.encode()},
    ),
    # Values as they are written.
    "a decimal comma": OddLog(
        "column price of log.csv writes numbers with a comma: found '0,5'; export them like 1234.5, with a "
        "point and without separators of thousands",
        csv(SEPARATED["semicolons"].replace(".5;", ",5;")),
    ),
    "one decimal comma": OddLog(
        "column price of log.csv writes numbers with a comma: found '7,5'; export them like 1234.5, with a "
        "point and without separators of thousands",
        csv(line(9, lambda one: one.replace("7.5", '"7,5"'))),
    ),
    "thousands with a comma": OddLog(
        "column price of log.csv writes numbers with a comma: found '1,234,567'; export them like 1234.5, "
        "with a point and without separators of thousands",
        csv(line(9, lambda one: one.replace("7.5", '"1,234,567"'))),
    ),
    "words for what is missing": OddLog(ROWS - 10, csv(missing_items()), left_out={"rows without a valid item": 10}),
    "missing numbers": OddLog(
        ROWS - 4,
        csv(
            line(9, lambda one: one.replace("7.5", "-"))
            .replace(b",8.5,", b",NA,")
            .replace(b",9.5,", b", n/a ,")
            .replace(b",10.5,", b",,")
        ),
        left_out={"rows without a valid price": 4},
    ),
    "a value called NA that is declared": OddLog(
        ROWS, csv(GOOD.replace(",none,", ",NA,")), task=('values = ["none", "some"]', 'values = ["NA", "some"]')
    ),
    "a value called None that is not declared": OddLog(
        ROWS, csv(GOOD.replace(",none,", ",None,")), left_out={"proxy did not come within 2 days": 30}
    ),
    "a category called NULL that is declared": OddLog(
        ROWS,
        csv(GOOD.replace("item-0", "NULL")),
        task=('kind = "category"', 'kind = "category", values = ["NULL", "item-1", "item-2", "item-3", "item-4"]'),
    ),
    "outcomes called -": OddLog(
        "column outcome of log.csv holds values outside outcome.values: found '-'; 30 rows in all: add to "
        "it what is missing, or correct the log",
        csv(GOOD.replace(",no,", ",-,")),
    ),
    # Times.
    "German times": OddLog(
        "most of column shown_at of log.csv cannot be read as times: found '01.03.2024 00:30'; say in the "
        'task how they are written ([log] time_format = "%d.%m.%Y %H:%M"), or correct log.shown_at',
        times(berlin),
    ),
    "German times with their format": OddLog(ROWS, times(berlin), task=log_key('time_format = "%d.%m.%Y %H:%M"')),
    "times in two formats": OddLog(
        ROWS,
        csv(GOOD.replace("2024-03-01", "01/03/2024")),
        task=log_key('time_format = ["%Y-%m-%d %H:%M:%S", "%d/%m/%Y %H:%M:%S"]'),
    ),
    "times in another format than declared": OddLog(
        "most of column shown_at of log.csv cannot be read as times: found '2024-03-01 00:30:00'; "
        "log.time_format says %d.%m.%Y: correct it, or give a list of formats",
        csv(),
        task=log_key('time_format = "%d.%m.%Y"'),
    ),
    "American times": OddLog(
        "most of column shown_at of log.csv cannot be read as times: found '03/01/2024'; say in the task "
        'how they are written ([log] time_format = "%d/%m/%Y" or time_format = "%m/%d/%Y"), or correct '
        "log.shown_at",
        times(lambda moment: f"{moment[5:7]}/{moment[8:10]}/{moment[:4]}"),
    ),
    "a format that is none": OddLog(
        "log.time_format must be how times are written, with their year: found 'DD.MM.YYYY'; give it as for"
        ' strptime, such as "%d.%m.%Y %H:%M", or one of seconds, milliseconds, microseconds, nanoseconds',
        csv(),
        task=log_key('time_format = "DD.MM.YYYY"'),
    ),
    "a format of an unknown letter": OddLog(
        "log.time_format must be how times are written, with their year: found '%Y-%m-%Q'; give it as for "
        'strptime, such as "%d.%m.%Y %H:%M", or one of seconds, milliseconds, microseconds, nanoseconds',
        csv(),
        task=log_key('time_format = "%Y-%m-%Q"'),
    ),
    "a format without a year": OddLog(
        "log.time_format must be how times are written, with their year: found '%H:%M'; give it as for "
        'strptime, such as "%d.%m.%Y %H:%M", or one of seconds, milliseconds, microseconds, nanoseconds',
        csv(),
        task=log_key('time_format = "%H:%M"'),
    ),
    "seconds since 1970": OddLog(ROWS, times(lambda moment: epoch(moment, 1))),
    "milliseconds": OddLog(
        "column shown_at of log.csv seems to hold milliseconds since 1970: found '1709253000000'; say so in"
        ' the task: [log] time_format = "milliseconds"',
        times(lambda moment: epoch(moment, 1000)),
    ),
    "microseconds": OddLog(
        "column shown_at of log.csv seems to hold microseconds since 1970: found '1709253000000000'; say so"
        ' in the task: [log] time_format = "microseconds"',
        times(lambda moment: epoch(moment, 1_000_000)),
    ),
    "nanoseconds": OddLog(
        "column shown_at of log.csv seems to hold nanoseconds since 1970: found '1709253000000000000'; say "
        'so in the task: [log] time_format = "nanoseconds"',
        times(lambda moment: epoch(moment, 1_000_000_000)),
    ),
    "milliseconds that are declared": OddLog(
        ROWS, times(lambda moment: epoch(moment, 1000)), task=log_key('time_format = "milliseconds"')
    ),
    "milliseconds in Parquet": OddLog(
        "column shown_at of log.parquet seems to hold milliseconds since 1970: found '1709253000000'; say "
        'so in the task: [log] time_format = "milliseconds"',
        {"log.parquet": sql("SELECT * REPLACE (epoch_ms(shown_at::TIMESTAMP) AS shown_at) FROM good")},
    ),
    "days without dashes": OddLog(
        "column shown_at of log.csv seems to hold days: found '20240301'; say in the task how they are "
        'written: [log] time_format = "%Y%m%d" (or "seconds" since 1970)',
        times(lambda moment: moment[:10].replace("-", "")),
    ),
    "days without dashes that are declared": OddLog(
        ROWS, times(lambda moment: moment[:10].replace("-", "")), task=log_key('time_format = "%Y%m%d"')
    ),
    "days without dashes as numbers": OddLog(
        ROWS,
        {
            "log.parquet": sql(
                "SELECT * REPLACE (strftime(shown_at::DATE, '%Y%m%d')::INTEGER AS shown_at, replace("
                "proxy_at[:10], '-', '') AS proxy_at, replace(outcome_at[:10], '-', '') AS outcome_at) FROM good"
            )
        },
        task=log_key('time_format = "%Y%m%d"'),
    ),
    "words for times": OddLog(
        "most of column shown_at of log.csv cannot be read as times: found 'yesterday'; say in the task how"
        ' they are written ([log] time_format = "%d.%m.%Y %H:%M" or the like), or correct log.shown_at',
        times(lambda moment: "yesterday"),
    ),
    "words for the times of outcomes": OddLog(
        "most of column outcome_at of log.csv cannot be read as times: found 'soon'; say in the task how "
        'they are written ([log] time_format = "%d.%m.%Y %H:%M" or the like), or correct outcome.known_at',
        csv(column("outcome_at", lambda moment: "soon")),
    ),
    "a few words for times": OddLog(
        ROWS - 1,
        csv(line(9, lambda one: one.replace("2024-03-03 01:30:00", "soon", 1))),
        left_out={"rows without a valid shown_at": 1},
    ),
    "offsets of two sizes": OddLog(
        ROWS, csv(GOOD.replace(":30:00", ":30:00+02:00").replace("2024-03-03 01:30:00+02:00", "2024-03-02T23:30:00Z"))
    ),
    "some times with a zone": OddLog(
        "log.csv mixes times with and without a zone: found '2024-03-03 01:30:00+01:00 in shown_at, "
        "2024-03-01 00:30:00 in shown_at'; give every time a zone, or none (then all are UTC), or say it: "
        '[log] time_zone = "Europe/Berlin"',
        csv(line(9, lambda one: one.replace("03 01:30:00", "03 01:30:00+01:00", 1))),
    ),
    "some times with a zone, and the zone of the others": OddLog(
        ROWS,
        csv(line(9, lambda one: one.replace("03 01:30:00", "03 01:30:00+01:00", 1))),
        task=log_key('time_zone = "Europe/Berlin"'),
    ),
    "a zone that is unknown": OddLog(
        "log.time_zone is unknown: found 'Europe/Berln'; did you mean Europe/Berlin?",
        csv(),
        task=log_key('time_zone = "Europe/Berln"'),
    ),
    "a zone that is an injection": OddLog(
        "log.time_zone is unknown: found \"UTC', read_text('/etc/hostname'))--\"; name a place, such as "
        "Europe/Berlin, or UTC",
        csv(),
        task=log_key("time_zone = \"UTC', read_text('/etc/hostname'))--\""),
    ),
    # Conditions.
    "a condition": OddLog(ROWS - 11, csv(STATUS), task=where("status <> 'test'"), left_out={LEFT: 11}),
    "a condition with a function": OddLog(
        ROWS - 11,
        csv(STATUS),
        task=where("lower(status) LIKE 'l%' AND try_cast(price AS DOUBLE) >= 0"),
        left_out={LEFT: 11},
    ),
    "a condition on Parquet": OddLog(
        50,
        {"log.parquet": sql("SELECT *, price::DOUBLE AS cost FROM good")},
        task=where("cost < 50"),
        left_out={LEFT: 10},
    ),
    "a condition on ndjson": OddLog(
        50,
        {"log.ndjson": sql("SELECT *, price::DOUBLE AS cost FROM good")},
        task=where("cost < 50"),
        left_out={LEFT: 10},
    ),
    "a condition on semicolons": OddLog(
        ROWS - 11, csv(STATUS.replace(",", ";")), task=where("status = 'live'"), left_out={LEFT: 11}
    ),
    "rows that would be wrong, left out": OddLog(
        ROWS - 1,
        csv(line(9, lambda one: one.replace("yes", "maybe").replace("no,", "maybe,"))),
        task=where("outcome <> 'maybe'"),
        left_out={LEFT: 1},
    ),
    "a condition that leaves nothing": OddLog(
        "log.where leaves no row of log.csv: found \"status = 'gone'\"; correct it; the log has 60 rows",
        csv(STATUS),
        task=where("status = 'gone'"),
    ),
    "a condition that is NULL": OddLog(
        "log.where leaves no row of log.csv: found 'NULL'; correct it; the log has 60 rows",
        csv(STATUS),
        task=where("NULL"),
    ),
    "a condition on a column that is not there": OddLog(
        "log.where names a column that log.csv lacks: found 'statsu'; did you mean status?",
        csv(STATUS),
        task=where("statsu <> 'test'"),
    ),
    "a condition in double quotes": OddLog(
        "log.where names a column that log.csv lacks: found 'test'; its columns are id, item, price, "
        "shown_at, proxy, proxy_at, outcome, outcome_at, status; text goes between '...'",
        csv(STATUS),
        task=where('status <> "test"'),
    ),
    "a condition that is not SQL": OddLog(
        "log.where cannot be read as SQL: found 'status is not'; syntax error at or near \")\"; compare "
        "columns of the log with values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("status is not"),
    ),
    "a condition that is empty": OddLog(
        "log.where must be words: found ' '; give it in quotes, such as \"a name\"", csv(STATUS), task=where(" ")
    ),
    "a condition of words and numbers": OddLog(
        "log.where compares the text of column price with a number: found 'price > 5'; write try_cast(price"
        " AS DOUBLE), or put the value between '...'",
        csv(STATUS),
        task=where("price > 5"),
    ),
    "a condition that casts in vain": OddLog(
        'log.where cannot be worked out on every row of log.csv: found "Conversion Error: Could not convert'
        " string 'live' to INT32 when casting from source column status \"; use try_cast, which gives NULL "
        "where it cannot be done",
        csv(STATUS),
        task=where("status::INTEGER = 5"),
    ),
    "a condition of the wrong type": OddLog(
        "log.where does not fit log.csv: found \"status + item = 'x'\"; Binder Error: No function matches the"
        " given name and argument types '+(VARCHAR, VARCHAR)'. You might need to add explicit type casts.",
        csv(STATUS),
        task=where("status + item = 'x'"),
    ),
    "a condition with a query": OddLog(
        "log.where may only compute with the columns of the log: found \"a query within it in 'id IN (SELECT"
        " id FROM predictions)'\"; compare columns of the log with values, such as status <> 'test' AND "
        "country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("id IN (SELECT id FROM predictions)"),
    ),
    "a condition that reads a file": OddLog(
        "log.where may only compute with the columns of the log: found 'a query within it in \"(SELECT "
        "content FROM read_text(\\'/etc/hostname\\')) <> \\'\\'\"'; compare columns of the log with values, such"
        " as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("(SELECT content FROM read_text('/etc/hostname')) <> ''"),
    ),
    "a condition that calls a table function": OddLog(
        "log.where may not call this function: found 'read_text'; compare columns of the log with values, "
        "such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("read_text('/etc/hostname') = ''"),
    ),
    "a condition that reads the environment": OddLog(
        "log.where may not call this function: found 'getenv'; compare columns of the log with values, such"
        " as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("getenv('HOME') <> ''"),
    ),
    "a condition that reads a setting": OddLog(
        "log.where may not call this function: found 'current_setting'; compare columns of the log with "
        "values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("current_setting('temp_directory') <> ''"),
    ),
    "a condition that closes its bracket": OddLog(
        "log.where must be one condition and nothing else: found 'true) UNION SELECT (true'; compare "
        "columns of the log with values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("true) UNION SELECT (true"),
    ),
    "a condition of two statements": OddLog(
        "log.where cannot be read as SQL: found \"true); COPY good TO 'stolen.csv'; SELECT (1\"; Only SELECT "
        "statements can be serialized to json!; compare columns of the log with values, such as status <> "
        "'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("true); COPY good TO 'stolen.csv'; SELECT (1"),
    ),
    "a condition that groups": OddLog(
        "log.where must be one condition and nothing else: found 'true) GROUP BY (id'; compare columns of "
        "the log with values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("true) GROUP BY (id"),
    ),
    "a condition with an aggregate": OddLog(
        "log.where may not call this function: found 'count(*)'; compare columns of the log with values, "
        "such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("count(*) > 1"),
    ),
    "a condition with a window": OddLog(
        "log.where may only compute with the columns of the log: found \"window in 'row_number() OVER () < "
        "5'\"; compare columns of the log with values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("row_number() OVER () < 5"),
    ),
    "a condition with a lambda": OddLog(
        "log.where may not call this function: found 'list_transform'; compare columns of the log with "
        "values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("list_transform([id], lambda x: x) = ['1']"),
    ),
    "a condition on today": OddLog(
        "log.where would mean something else at every run: it calls current_date: found 'shown_at < "
        "current_date'; write the date itself, such as shown_at < '2024-07-01'",
        csv(STATUS),
        task=where("shown_at < current_date"),
    ),
    "a condition on chance": OddLog(
        "log.where would mean something else at every run: it calls random: found 'random() < 0.5'; write "
        "the date itself, such as shown_at < '2024-07-01'",
        csv(STATUS),
        task=where("random() < 0.5"),
    ),
    "a condition with a parameter": OddLog(
        "log.where must be one condition and nothing else: found 'id = ?'; compare columns of the log with "
        "values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("id = ?"),
    ),
    "a condition on all columns": OddLog(
        "log.where may only compute with the columns of the log: found \"star in 'COLUMNS(*) IS NOT NULL'\"; "
        "compare columns of the log with values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("COLUMNS(*) IS NOT NULL"),
    ),
    "a condition of a thousand brackets": OddLog(
        "log.where cannot be read as SQL: found '(((((((((((((((((((((((((((((((((((((((((((((((((((((((((("
        "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("
        "(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("
        "(((((((((((((((((((((((((... (3,006 characters); it is nested too deeply; compare columns of the "
        "log with values, such as status <> 'test' AND country IN ('DE', 'FR')",
        csv(STATUS),
        task=where("(" * 1500 + "true" + ")" * 1500),
    ),
    "a condition that is too long": OddLog(
        "log.where is too long: found '15,988 characters'; keep it within 10,000",
        csv(STATUS),
        task=where("status = 'x' OR " * 999 + "true"),
    ),
    # Values without a moment, moments without a value, no moments at all, and numbers that are cut.
    "outcomes that are known at their horizon": OddLog(
        ROWS,
        csv(text(header=HEADER.replace("_at,outcome,outcome_at", "_at,outcome,x"))),
        task=('horizon = "7 days"', 'horizon = "7 days"\nknown = "at horizon"'),
        left_out={"outcome not yet known at the end of the log": 18},
    ),
    "times of success in another format": OddLog(
        "most of column outcome_at of log.csv cannot be read as times: found '07.03.2024 00:30'; say in the"
        ' task how they are written ([log] time_format = "%d.%m.%Y %H:%M"), or correct outcome.happened_at',
        csv(column("outcome_at", lambda moment: "" if moment[9] == "1" else berlin(moment))),
        task=('values = ["no", "yes"]', 'values = ["no", "yes"]\nhappened_at = "outcome_at"'),
    ),
    "times of success with a dash for none": OddLog(
        ROWS,
        csv(column("outcome_at", lambda moment: " - " if moment[9] == "1" else moment)),
        task=('values = ["no", "yes"]', 'values = ["no", "yes"]\nhappened_at = "outcome_at"'),
        left_out={"outcome not yet known at the end of the log": 3},
    ),
    "times of success that are words": OddLog(
        "column outcome_at of log.csv holds what is no time: found 'never'; 6 rows in all: write a time "
        "where it happened, and nothing where it did not",
        csv(column("outcome_at", lambda moment: "never" if moment[9] == "1" else moment)),
        task=('values = ["no", "yes"]', 'values = ["no", "yes"]\nhappened_at = "outcome_at"'),
    ),
    "numbers that are cut, with dashes for what is missing": OddLog(
        ROWS,
        csv(column("outcome", lambda value: "-" if value == "no" else "4.5")),
        task=('values = ["no", "yes"]', "edges = [1, 5]"),
        left_out={"outcome did not come within 7 days": 29, "outcome not yet known at the end of the log": 1},
    ),
    "numbers that are cut, with a comma": OddLog(
        "column outcome of log.csv writes numbers with a comma: found '4,5'; export them like 1234.5, with "
        "a point and without separators of thousands",
        csv(column("outcome", lambda value: "0" if value == "no" else "4,5").replace(b"4,5", b'"4,5"')),
        task=('values = ["no", "yes"]', "edges = [1, 5]"),
    ),
    "quantiles of a log with a bad line that is skipped": OddLog(
        ROWS - 1,
        csv(line(9, lambda one: one + ",8", column("outcome", lambda value: "0" if value == "no" else "4").decode())),
        task=('values = ["no", "yes"]', 'edges = "quantiles:2"'),
        flags=SKIP,
        left_out={BAD_LINES: 1},
    ),
    "quantiles of the rows that a condition keeps": OddLog(
        ROWS - 11,
        csv(STATUS.replace(",no,", ",0,").replace(",yes,", ",4,")),
        task=(
            """values = ["no", "yes"]
horizon = "7 days"
[log]""",
            """edges = "quantiles:2"
horizon = "7 days"
[log]
where = "status <> 'test'\"""",
        ),
        left_out={LEFT: 11},
    ),
    "no times at all, in rows of two kinds of line end": OddLog(
        ROWS,
        csv(text(header="id,item,price,a,proxy,b,outcome,c").replace("\n", "\r\n", 7)),
        task=(TASK[TASK.index("[proxy]") :], ROWS_TASK),
        left_out={"outcome not yet known at the end of the log": 7, "proxy not yet known at the end of the log": 2},
    ),
    "no times at all, and a condition": OddLog(
        ROWS - 11,
        csv(
            text(
                header="id,item,price,a,proxy,b,outcome,c,status",
                change=lambda one: one + (",test" if one[0] == "1" else ",live"),
            )
        ),
        task=(TASK[TASK.index("[proxy]") :], ROWS_TASK + "where = \"status <> 'test'\"\n"),
        left_out={
            LEFT: 11,
            "outcome not yet known at the end of the log": 7,
            "proxy not yet known at the end of the log": 2,
        },
    ),
    # Names that mean something in SQL.
    "a table of an odd name": OddLog(ROWS, {"log.duckdb": database}, log="""log.duckdb::it's "my" log"""),
    "a table that is a function": OddLog(
        "log.duckdb::read_text('/etc/hostname') cannot be read as DuckDB: found 'Catalog Error: Table with "
        "name read_text(\\'/etc/hostname\\') does not exist! Did you mean \"it\\'s \"my\" log\"?'; write or export"
        " it again",
        {"log.duckdb": database},
        log="log.duckdb::read_text('/etc/hostname')",
    ),
    "a table that is a query": OddLog(
        "log.duckdb::(SELECT 1) cannot be read as DuckDB: found 'Catalog Error: Table with name (SELECT 1) "
        'does not exist! Did you mean "it\\\'s "my" log"?\'; write or export it again',
        {"log.duckdb": database},
        log="log.duckdb::(SELECT 1)",
    ),
    "a table of another database": OddLog(
        "log.duckdb::scratch.main.x cannot be read as DuckDB: found 'Catalog Error: Table with name "
        '"scratch.main.x" does not exist because schema "scratch.main" does not exist. \'; write or export '
        "it again",
        {"log.duckdb": database},
        log="log.duckdb::scratch.main.x",
    ),
    "a DuckDB file without a table": OddLog(
        "a DuckDB file may hold many tables: found '{folder}/log.duckdb'; name one: log.duckdb::TABLE",
        {"log.duckdb": database},
    ),
    "a DuckDB file that is csv": OddLog(
        'log.duckdb cannot be read as DuckDB: found \'IO Error: The file "{folder}/log.duckdb" exists, but '
        "it is not a valid DuckDB database file!'; write or export it again",
        {"log.duckdb": GOOD.encode()},
        log="log.duckdb::log",
    ),
    "columns named like SQL": OddLog(
        ROWS,
        csv(GOOD.replace("price", 'select,""x""', 1).replace('select,""x""', '"select "" from"', 1)),
        task=("price = { kind", "price = { column = 'select \" from', kind"),
    ),
    "columns named like ours": OddLog(
        ROWS,
        csv(text(header=HEADER + ",row,= kept,= t0", change=lambda one: one + ",5,5,5")),
        task=("[proxy]", 'row = { kind = "number" }\nkept = { kind = "number", column = "= kept" }\n[proxy]'),
    ),
}


def write(name: str, folder: Path) -> Path:
    """The log of that name, written into the folder with its task beside it."""
    case = ODD_LOGS[name]
    for file, content in case.files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content)
    assert case.task[0] in TASK
    (folder / "task.toml").write_text(TASK.replace(*case.task, 1) if case.task[0] else TASK)
    return folder / (case.log or next(iter(case.files)))


if __name__ == "__main__":
    for place, name in enumerate(ODD_LOGS):
        (Path(sys.argv[1]) / f"{place:03}").mkdir(parents=True)
        print(write(name, Path(sys.argv[1]) / f"{place:03}"), name, sep="\t")  # noqa: T201
