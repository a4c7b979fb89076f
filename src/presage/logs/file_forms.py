"""What a file is: its form by its ending, what its first bytes look like, and how the header of a CSV is split."""

import csv
import gzip
import io
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb

from presage.errors import DataError

FORMS = {".parquet": "Parquet", ".csv": "CSV", ".tsv": "CSV", ".ndjson": "NDJSON", ".jsonl": "NDJSON"}
PACKED = {".gz": "gzip", ".zst": "zstd"}
ENDINGS = tuple(FORMS) + tuple(f"{end}{packed}" for end in FORMS if end != ".parquet" for packed in PACKED)
ENDINGS_IN_WORDS = f"{', '.join(FORMS)}, and text also with {' or '.join(PACKED)} after it"

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
HEAD = 2**16
"""How many bytes of a file are looked at to see what it is."""

MAGIC = {
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"PAR1": "Parquet", b"%PDF": "a PDF",
    b"PK\x03\x04": "a ZIP archive, as .xlsx is", b"\xd0\xcf\x11\xe0": "an old Excel file", b"SQLite format 3": "SQLite",
    b"\xff\xfe": "UTF-16 text", b"\xfe\xff": "UTF-16 text", b"<?xml": "XML", b"<!doctype html": "HTML",
    b"<html": "HTML",
}  # fmt: skip
"""The first bytes of files that are given the wrong ending."""

# Nothing about a CSV is guessed: a guess may take a broken row for the header and drop what stands above it.
CSV = (
    """read_csv({path}, all_varchar=true, header=true, skip=0, delim='{delimiter}', quote='"', escape='"', """
    "comment='', compression='{packed}'{more})"
)
READERS = {
    "Parquet": "read_parquet({path}{more})",
    "CSV": CSV,
    "NDJSON": "read_json({path}, format='newline_delimited', compression='{packed}'{more})",
}


class TextHead(NamedTuple):
    """The beginning of a text file that can be read: how it is split, and its column names as they are written."""

    delimiter: str = ","
    header: tuple[str, ...] = ()
    clean: bool = True  # whether the header is the very first line


ONE_ARRAY = "one JSON array rather than a line for each row"
ONE_ROW_PER_LINE = "turn an array into a row per line, such as by jq -c '.[]' FILE.json > FILE.ndjson"


def ending(path: Path) -> str:
    """The ending that says what a file is, in small letters: .csv.gz as a whole.

    >>> ending(Path("may.CSV.gz")), ending(Path("may.txt"))
    ('.csv.gz', '.txt')
    """
    name = path.name.lower()
    fits = [one for one in ENDINGS if name.endswith(one)]
    return max(fits, key=len) if fits else path.suffix.lower()


def form_of(path: Path) -> str:
    """Parquet, CSV or NDJSON, by the ending."""
    if ending(path) not in ENDINGS:
        remedy = f"name it {ENDINGS_IN_WORDS}, or FILE.duckdb::TABLE"
        remedy = f"{remedy}; {ONE_ROW_PER_LINE}" if ending(path) == ".json" else remedy
        raise DataError("the kind of this file is unknown", str(path), remedy)
    return FORMS[f".{ending(path).split('.')[1]}"]


def packed_as(path: Path) -> str:
    """How a text file is compressed: none, gzip or zstd."""
    return PACKED.get(path.suffix.lower(), "none")


def check_file(path: Path) -> None:
    """Nothing, or the error of a file that is not there, empty, unreadable, or not what its ending says."""
    if not path.is_file():
        found = "a link to nothing" if path.is_symlink() else str(path)
        raise DataError(f"{path.name} is not there", found, "check the folder and the name")
    if not path.stat().st_size:
        raise DataError(f"{path.name} is empty", str(path), "write or export the file again")
    form = form_of(path)
    with path.open("rb") as file:
        first = file.read(HEAD)
        file.seek(max(path.stat().st_size - 4, 0))
        last = file.read(4)
    wrong, packed = None, packed_as(path)
    if packed != "none":
        wrong = None if looks_like(first) == packed else looks_like(first) or f"something else than {packed}"
        first = first if wrong or packed == "zstd" else _unpacked(path)
        if not wrong and packed == "zstd" and not _is_whole_zstd(path):
            raise DataError(f"{path.name} cannot be unpacked", "zstd that was cut", "copy or export the file again")
    if form == "Parquet" and (first[:4] != b"PAR1" or last != b"PAR1"):
        wrong = "Parquet that was cut" if first[:4] == b"PAR1" else looks_like(first) or _text_or_bytes(first)
    elif form != "Parquet" and not wrong and not (packed == "zstd" or (form == "NDJSON" and first[:1] == b"{")):
        wrong = looks_like(first)
        if form == "NDJSON" and wrong and wrong.startswith("JSON"):
            wrong = ONE_ARRAY if first.lstrip()[:1] == b"[" else None
    if wrong:
        remedy = f"give it the ending of what it is, or export it as {form}"
        remedy = {"UTF-16 text": "save it as UTF-8", ONE_ARRAY: ONE_ROW_PER_LINE}.get(wrong, remedy)
        raise DataError(f"{path.name} cannot be read as {form}", f"it looks like {wrong}", remedy)


def looks_like(first: bytes) -> str | None:
    """What the first bytes of a file say it is; None where they are like those of a table in text."""
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    for magic, words in MAGIC.items():
        if first.startswith(magic) or (magic[:1] == b"<" and text[:20].lower().startswith(magic)):
            return words
    if first[8:12] == b"DUCK":
        return "a DuckDB file: name a table in it as FILE.duckdb::TABLE"
    if text[:1] == b"{" and text[1:].lstrip()[:1] in (b'"', b"}"):
        return "JSON"
    return "JSON" if text[:1] == b"[" and text[1:].lstrip()[:1] in (b"{", b"]") else None


def _text_or_bytes(first: bytes) -> str:
    odd = b"\0" in first or any(byte < 9 for byte in first[:1000])
    return "neither text nor Parquet" if odd else "text, such as CSV"


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            return file.read(HEAD)
    except (EOFError, zlib.error, OSError) as error:
        remedy = "copy or export the file again"
        raise DataError(f"{path.name} cannot be unpacked", str(error), remedy) from error


def _is_whole_zstd(path: Path) -> bool:
    """Whether every frame of a zstd file has its last block: what DuckDB reads of a cut one it takes for the whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        while len(magic := file.read(4)) == 4:
            if 0x184D2A50 <= int.from_bytes(magic, "little") <= 0x184D2A5F:  # a frame to skip
                file.seek(int.from_bytes(file.read(4), "little"), 1)
                continue
            told = int.from_bytes(file.read(1), "little")
            single, sized = told >> 5 & 1, told >> 6
            file.seek((not single) + (0, 1, 2, 4)[told & 3] + (single if not sized else 1 << sized), 1)
            last = False
            while not last:
                block = file.read(3)
                if len(block) < 3:
                    return False
                header = int.from_bytes(block, "little")
                last = bool(header & 1)
                file.seek(1 if header >> 1 & 3 == 1 else header >> 3, 1)  # one byte where it is repeated
            file.seek(4 * (told >> 2 & 1), 1)  # the checksum
        return file.tell() == size


def text_head(connection: duckdb.DuckDBPyConnection, path: Path, wanted: Collection[str] = ()) -> TextHead:
    """How the header of a CSV is split; where it could be split in several ways, so that the wanted columns appear."""
    first = _zstd_lines(connection, path) if packed_as(path) == "zstd" else _first_bytes(path)
    if b"\0" in first:
        at = f"line {first[: first.index(0)].count(10) + 1:,} holds a zero byte: it is no text, or not UTF-8"
        raise DataError(f"{path.name} cannot be read as CSV", at, "export it as CSV in UTF-8")
    text = first.decode("utf-8-sig", "replace")
    clean, text = not text.startswith(("\n", "\r")), text.lstrip("\r\n")
    if not text.strip():
        raise DataError(f"{path.name} holds only empty lines", str(path), "write or export the file again")
    line = text.splitlines()[0]
    if ending(path).startswith(".tsv"):
        return TextHead("\t", _split(text, "\t")[0], clean)
    ways = {d: split for d in DELIMITERS if len((split := _split(text, d))[0]) > 1}
    if len(ways) > 1:
        fit = {d: split for d, split in ways.items() if wanted and set(wanted) <= set(split[0])}
        ways = fit or ways
    if len(ways) > 1:
        ways = {d: split for d, split in ways.items() if len(split[0]) == len(split[1])} or ways
    if len(ways) > 1:
        seen = " or ".join(DELIMITERS[delimiter] for delimiter in ways)
        raise DataError(f"the header of {path.name} may be split at {seen}", line[:200], "export it with one of them")
    delimiter = next(iter(ways), ",")
    return TextHead(delimiter, _split(text, delimiter)[0], clean)


def _split(text: str, delimiter: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The header and the first row at this delimiter."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return tuple(next(rows, [])), tuple(next(rows, []))
    except csv.Error:  # a field of more than 128 KiB: the reader of the whole file says where
        return (), ()


def _first_bytes(path: Path) -> bytes:
    if packed_as(path) == "gzip":
        return _unpacked(path)
    with path.open("rb") as file:
        return file.read(HEAD)


def _zstd_lines(connection: duckdb.DuckDBPyConnection, path: Path) -> bytes:
    """The first lines of a file that only DuckDB can unpack."""
    plain = "auto_detect=false, columns={'line': 'VARCHAR'}, header=false, delim='\x01', quote='', escape=''"
    query = f"FROM read_csv({literal(path)}, {plain}, compression='zstd', strict_mode=false) LIMIT 2"
    return "\n".join(line or "" for (line,) in connection.execute(query).fetchall()).encode()


def reader_sql(form: str, paths: Sequence[Path], delimiter: str = ",", more: str = "") -> str:
    """SQL that reads files of one form; `more` holds further options."""
    named = literal(paths[0])
    if len(paths) > 1:
        named, more = f"[{', '.join(literal(path) for path in paths)}]", f", union_by_name=true{more}"
    return READERS[form].format(path=named, delimiter=delimiter, packed=packed_as(paths[0]), more=more)


def literal(path: Path) -> str:
    """A path as SQL takes it, with nothing in it read as a pattern."""
    plain = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
    return "'" + plain.replace("'", "''") + "'"
