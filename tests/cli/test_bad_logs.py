"""Bad logs at the command line: a clear error in one line with nothing written, or an exclusion counted and printed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

from presage.logs import rows as room
from tests.cli.typed import Done, Presage
from tests.logs.given import csv, parquet

COMMANDS = ("task check", "proxies", "backtest")
TASK = """version = 1
name = "bad logs"
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
Row = dict[str, str]


def good_rows() -> list[Row]:
    """120 predictions over 20 days, all with proxy and outcome."""
    found = []
    for n in range(120):
        shown, proxied, ended = (f"2020-01-{1 + n // 6 + later:02} {n % 6:02}:00:00" for later in (0, 1, 6))
        proxy, outcome = ("none", "some")[n % 2], ("no", "yes")[n // 2 % 2]
        found.append({
            "id": str(n), "item": f"item-{n % 5}", "price": f"{n}.5", "shown_at": shown, "proxy": proxy,
            "proxy_at": proxied, "outcome": outcome, "outcome_at": ended,
        })  # fmt: skip
    return found


class Change(NamedTuple):
    """What is wrong with an otherwise good log or its task, and the message it ends in."""

    words: str
    rows: Callable[[list[Row]], list[Row]] = list
    task: tuple[str, str] = ("", "")


def every(**values: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [row | values for row in rows]


def one(**values: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [*rows[:7], rows[7] | values, *rows[8:]]


def without(column: str) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [{name: value for name, value in row.items() if name != column} for row in rows]


REFUSED = {
    "a column missing": Change("log.csv lacks the columns proxy_at: found ['id', 'item', ", without("proxy_at")),
    "words for times": Change(
        "most of column shown_at of log.csv cannot be read as times: found 'yesterday'; say in the task how they are ",
        every(shown_at="yesterday"),
    ),
    "words for numbers": Change(
        "every row of log.csv had to be left out: found {'rows without a valid price': 120}; correct the log, or",
        every(price="cheap"),
    ),
    "a value outside values": Change(
        "column outcome of log.csv holds values outside outcome.values: found 'maybe'; 1 row in all: add to it what is "
        "missing, or correct the log",
        one(outcome="maybe"),
    ),
    "outcomes before predictions": Change(
        "every row of log.csv had to be left out: found {'rows whose outcome was known before the prediction': 120}",
        every(outcome_at="2019-12-31"),
    ),
    "mixed time zones in a column": Change(
        "log.csv mixes times with and without a zone: found '2020-01-02T03:00:00Z in shown_at, ",
        one(shown_at="2020-01-02T03:00:00Z"),
    ),
    "mixed time zones in two columns": Change(
        "; give every time a zone, or none (then all are UTC)",
        lambda rows: [row | {"outcome_at": row["outcome_at"] + "+02:00"} for row in rows],
    ),
    "an empty log": Change("log.csv holds no rows: found 0; write or export it again", lambda rows: []),
    "a log in which nothing matures": Change(
        "no outcome in log.csv ever becomes known: found 'outcome did not come within 7 days: 84; outcome not yet "
        "known at the end of the log: 36'; check its columns and horizon (7 days), or give a longer log",
        every(outcome="", outcome_at=""),
    ),
    "a horizon longer than the log": Change(
        "the horizon of outcome is longer than log.csv: found '400 days in a log of 25.2 days'; give a longer log or a "
        "shorter horizon",
        task=('horizon = "7 days"', 'horizon = "400 days"'),
    ),
    "a category that is not declared": Change(
        "column item of log.csv holds a value not declared: found 'else'; add it to instance.item.values, or correct",
        one(item="else"),
        ('kind = "category"', f'kind = "category", values = {json.dumps([f"item-{n}" for n in range(5)])}'),
    ),
    "a key of the task that is not known": Change(
        "outcome.horizn is not a key: found 'horizn'; did you mean horizon?", task=('horizon = "7', 'horizn = "7')
    ),
    "a span of the task without a unit": Change(
        "outcome.horizon must be a span of time: found 7; write a number and a unit, such as",
        task=('horizon = "7 days"', "horizon = 7"),
    ),
}


class Typed:
    """The commands that read a log, typed on a log and the task of a folder."""

    def __init__(self, presage: Presage, folder: Path) -> None:
        self.presage, self.folder = presage, folder

    def write(self, rows: list[Row], task: tuple[str, str] = ("", "")) -> None:
        """The log as CSV, and the task with one thing changed."""
        lines = [",".join(row.values()) for row in rows]
        csv(self.folder / "log.csv", ",".join((rows or good_rows())[0]), *lines)
        (self.folder / "task.toml").write_text(TASK.replace(*task) if task[0] else TASK)

    def __call__(self, command: str, log: str = "log.csv", *more: str) -> Done:
        place, task = self.folder / log, self.folder / "task.toml"
        if command == "task check":
            return self.presage("task", "check", task, "--log", place, "--json", *more)
        return self.presage(command, place, "--task", task, "--json", "--out", self.folder / "out", *more)

    def refuses(self, command: str, words: str, log: str = "log.csv") -> None:
        """Nothing, if the command ends with code 2, one line on stderr, and nothing written."""
        before = sorted(self.folder.rglob("*"))
        done = self(command, log)
        assert done.code == 2, done.err
        assert words in done.err
        assert done.err.startswith("presage: ")
        assert len(done.err.strip().splitlines()) == 1
        assert len(done.err) < 800
        assert done.out == ""
        assert sorted(self.folder.rglob("*")) == before


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Typed:
    return Typed(Presage(monkeypatch, capsys), tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_right_is_refused_in_one_line(typed: Typed, command: str, name: str) -> None:
    change = REFUSED[name]
    typed.write(change.rows(good_rows()), change.task)
    typed.refuses(command, change.words)


@pytest.mark.parametrize("command", COMMANDS)
def test_columns_of_the_wrong_type_are_refused(typed: Typed, command: str) -> None:
    typed.write(good_rows())
    source = f"FROM read_csv('{typed.folder}/log.csv', all_varchar=true)"
    parquet(typed.folder / "flag.parquet", f"SELECT * REPLACE (true AS shown_at) {source}")
    parquet(typed.folder / "list.parquet", f"SELECT * REPLACE ([item] AS item) {source}")
    wrong = "column shown_at of flag.parquet has the wrong type: found 'BOOLEAN'; make it a time (such as "
    typed.refuses(command, wrong, "flag.parquet")
    wrong = (
        "column item of list.parquet has the wrong type: found 'VARCHAR[]'; make it words, whole numbers or booleans"
    )
    typed.refuses(command, f"{wrong}, or change instance.item", "list.parquet")


FLAWS: list[tuple[Row, str]] = [
    ({"price": "nan"}, "rows without a valid price: 1, such as row 1 (to keep them, declare instance.price.missing)"),
    ({"shown_at": "soon"}, "rows without a valid shown_at: 1, such as row 2"),
    (
        {"item": ""},
        "rows without a valid item: 1, such as row 3 (to keep them, declare instance.item.missing)",
    ),
    ({"outcome_at": "2019-01-01"}, "rows whose outcome was known before the prediction: 1, such as row 4"),
    ({"proxy_at": "2019-01-01"}, "rows whose proxy was known before the prediction: 1, such as row 5"),
    ({"id": "77"}, "rows that repeat the id of an earlier one: 1, such as row 78"),  # row 78 has it too, and is later
]
CENSORED: list[tuple[Row, str]] = [
    ({"outcome": "", "outcome_at": ""}, "outcome did not come within 7 days: 1"),
    ({"outcome_at": "2020-01-20"}, "outcome came later than 7 days: 1"),
    ({"outcome_at": ""}, "outcome has a value but no moment at which it became known: 1"),
]


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_rows_that_cannot_be_used_are_left_out_counted_and_printed(typed: Typed, command: str) -> None:
    rows = good_rows()
    for place, (flaw, _) in enumerate(FLAWS + CENSORED):
        rows[place] |= flaw
    typed.write(rows)
    done = typed(command, "log.csv", *(["--forecasters", "marginal"] if command == "backtest" else []))
    assert done.code == 0, done.err
    for prefix, flaws in (("left out: ", FLAWS), ("censored: ", CENSORED)):
        printed = [line.removeprefix(prefix) for line in done.err.splitlines() if line.startswith(prefix)]
        assert sorted(printed) == sorted(words for _, words in flaws)
    if command == "task check":
        assert json.loads(done.out)["rows"] == 120 - 6  # rows that are censored are kept, without an outcome


def test_what_comes_late_is_taken_as_absent_where_the_task_says_so(typed: Typed) -> None:
    typed.write(one(outcome_at="2020-01-20")(good_rows()), ('horizon = "7 days"', 'horizon = "7 days"\nabsent = "no"'))
    assert "taken as no: outcome came later than 7 days: 1" in typed("task check").err


BROKEN: dict[str, tuple[Callable[[str], str], str]] = {
    "a row too short": (
        lambda text: text.replace(",item-2,7.5", ",item-2"),
        "log.csv cannot be read as CSV: found 'line 9 has 7 columns, the first 8'; correct it, or skip such lines "
        "(--skip-bad-lines)",
    ),
    "a row too long": (
        lambda text: text.replace(",item-2,7.5", ",item-2,7.5,8.5"),
        "log.csv cannot be read as CSV: found 'line 9 has 9 columns, the first 8'; ",
    ),
    "a short row far down": (
        lambda text: "\n".join([*text.splitlines(), *text.splitlines()[1:] * 300, "7,item", text.splitlines()[1]]),
        "log.csv cannot be read as CSV: found 'line 36,122 has 2 columns, the first 8'; ",
    ),
    "a file cut within a row": (
        lambda text: text[:2000].rpartition(",")[0],
        "columns, the first 8; it is the last: was the file cut?'; ",
    ),
    "a quote that is not closed": (
        lambda text: text.replace(",item-2,7.5", ',"item-2,7.5'),
        "log.csv cannot be read as CSV: found 'line 9 has a quote that is not closed'; ",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_line_at_which_a_csv_is_broken_is_told(typed: Typed, name: str) -> None:
    typed.write(good_rows())
    spoil, words = BROKEN[name]
    log = typed.folder / "log.csv"
    log.write_bytes(spoil(log.read_text()).encode())
    typed.refuses("task check", words)


def test_of_several_files_the_broken_one_is_named(typed: Typed) -> None:
    typed.write(good_rows())
    text = (typed.folder / "log.csv").read_text()
    (typed.folder / "parts").mkdir()
    (typed.folder / "parts" / "a.csv").write_text(text)
    (typed.folder / "parts" / "b.csv").write_text(text.replace(",item-2,7.5", ",item-2"))
    typed.refuses("task check", "b.csv cannot be read as CSV: found 'line 9 has 7 columns, ", "parts")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("log.csv", "log.csv cannot be read as CSV: found "),
        ("log.parquet", "log.parquet cannot be read as Parquet: found "),
        ("log.ndjson", "log.ndjson cannot be read as NDJSON: found "),
        ("log.duckdb::log", "log.duckdb cannot be read as DuckDB: found "),
    ],
)
def test_a_file_of_30_gigabytes_of_nothing_is_refused_in_one_line(
    typed: Typed, command: str, name: str, words: str
) -> None:
    """The file is sparse: it takes no room, and whoever tried to hold it in memory would fail."""
    typed.write(good_rows())
    with (typed.folder / name.partition("::")[0]).open("ab") as file:
        file.truncate(30 * 2**30)
    typed.refuses(command, words, name)


@pytest.mark.parametrize("command", COMMANDS)
def test_more_rows_than_fit_into_memory_are_refused(
    typed: Typed, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: 5000)
    typed.write(good_rows())
    typed.refuses(command, "log.csv has too many rows for the memory of this machine: found '120 rows of 56 bytes make")


def test_the_memory_that_is_free_is_read_where_the_system_tells(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   2048 kB\n")
    assert room.free_memory(tmp_path / "meminfo") == 2 * 2**20
    assert room.free_memory(tmp_path / "nothing") is None


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_ten_million_categories_must_be_hashed(typed: Typed, command: str) -> None:
    typed.write(good_rows())
    times = "'2020-01-01'::TIMESTAMP + to_seconds((range % 5000000)::INTEGER) AS shown_at"
    known = "shown_at AS proxy_at, 'some' AS proxy, shown_at + INTERVAL 5 DAY AS outcome_at, 'yes' AS outcome"
    query = f"SELECT range AS id, 'item-' || range AS item, 1.0 AS price, {times}, {known} FROM range(10000000)"
    duckdb.execute(f"COPY ({query}) TO '{typed.folder}/log.parquet' (FORMAT parquet)")
    wrong = "column item of log.parquet has too many categories to tell apart: found '10,000,000 of at most 1,000,000'"
    typed.refuses(command, f"{wrong}; hash them: add hashed = 65536 to instance.item", "log.parquet")
