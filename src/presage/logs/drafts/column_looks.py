"""What the columns of a log look like: their kinds, values, gaps, and how their times are written."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import duckdb

from presage.errors import DataError
from presage.logs.columns import LABEL, LATEST, NUMBER, NUMBER_TYPES, WHOLE_TYPES
from presage.logs.engines import MISSING, value
from presage.logs.sources import Source, open_source
from presage.logs.tables import connected, quoted, sql_text

WHOLE = 2_000_000
"""Rows up to which all of a log is looked at; of a longer one every second, third ... row, and the draft says so."""

MOST_LISTED = 20

FORMATS = tuple(
    f"{date}{clock}"
    for date in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d")
    for clock in ("", " %H:%M", " %H:%M:%S")
)
"""How times are written that are not ISO; where two fit, the first one is taken."""

TIME_WORDS = ("at", "ts", "time", "date", "on", "timestamp", "datetime")


class ColumnLook(NamedTuple):
    """What a column looks like."""

    name: str
    kind: str  # time, set, boolean, whole, number or words
    different: int  # values
    filled: int  # rows that hold one
    values: tuple[str, ...]  # all of them where they are few, numbers in their order
    low: float | None  # the smallest number
    high: float | None
    moment: str | None  # of times, SQL for the microseconds since 1970 UTC
    written: str | None  # of times that are not ISO, how they are written

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its name."""
        return name_words(self.name)


class LogLook(NamedTuple):
    """What a log looks like; its rows stand under `rows` in the database."""

    connection: duckdb.DuckDBPyConnection
    name: str
    rows: int  # looked at
    total: int  # in the log
    columns: dict[str, ColumnLook]
    typed: bool  # whether the log says of which type its columns are

    def ask(self, query: str) -> tuple[Any, ...]:
        """The first row that a query over `rows` gives."""
        return tuple(self.connection.execute(query).fetchall()[0])


def name_words(name: str) -> tuple[str, ...]:
    """The words of a column's name, in small letters.

    >>> name_words("paidAt"), name_words("ORDER_ID"), name_words("date of birth"), name_words("UserUUID")
    (('paid', 'at'), ('order', 'id'), ('date', 'of', 'birth'), ('user', 'uuid'))
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return tuple(word.lower() for word in re.split(r"[\W_]+", parted) if word)


@contextmanager
def looked_at(log: Any) -> Iterator[LogLook]:
    """What a log looks like, as long as its rows are there to be asked."""
    with TemporaryDirectory(prefix="presage-") as scratch, connected(memory_limit="2GB") as connection:
        connection.execute(f"SET temp_directory = {sql_text(str(Path(scratch) / 'spill'))}")
        source = open_source(connection, log, "given")
        rows, total = _load(connection, source)
        typed = source.form != "CSV"
        columns = {n: _look(connection, n, declared, typed) for n, declared in source.types.items()}
        yield LogLook(connection, source.name, rows, total, columns, typed)


def _load(connection: duckdb.DuckDBPyConnection, source: Source) -> tuple[int, int]:
    """How many rows are looked at, and how many there are; they now stand under `rows`, numbered as `nth`."""
    numbered = f"SELECT *, row_number() OVER () AS nth FROM {source.relation}"
    if source.cheap:
        total = int(connection.execute(f"SELECT count(*) FROM {source.relation}").fetchall()[0][0])
        every = -(-total // WHOLE)
        connection.execute(f"CREATE TABLE rows AS FROM ({numbered}) WHERE nth % {max(every, 1)} = 0")
    else:
        connection.execute(f"CREATE TABLE rows AS {numbered}")
        total = int(connection.execute("SELECT count(*) FROM rows").fetchall()[0][0])
    rows = int(connection.execute("SELECT count(*) FROM rows").fetchall()[0][0])
    if not rows:
        raise DataError(f"{source.name} holds no rows", 0, "write or export it again")
    return rows, total


def written_words(name: str, declared: str, typed: bool) -> str:
    """SQL for what a column holds as text; in a CSV, words for nothing are nothing."""
    words = f"nullif(trim({quoted(name)}::VARCHAR), '')"
    if typed or declared != "VARCHAR":
        return words
    return f"CASE WHEN {words} NOT IN ({', '.join(map(sql_text, MISSING))}) THEN {words} END"


class Tally(NamedTuple):
    """Counts of a column: what is there, and what it can be read as."""

    filled: int
    different: int
    times: int
    numbers: int
    wholes: int
    flags: int
    low: float | None
    high: float | None


def _look(connection: duckdb.DuckDBPyConnection, name: str, declared: str, typed: bool) -> ColumnLook:
    column = quoted(name)
    words = written_words(name, declared, typed)
    counts = _tally(connection, column, words, declared)
    filled = counts.filled
    moment, written = None, None
    if declared.startswith(("TIMESTAMP", "DATE")):
        moment = f"epoch_us({column}::TIMESTAMPTZ)"
    elif filled and counts.times == filled and counts.numbers < filled:
        moment = f"epoch_us(try_cast({words} AS TIMESTAMPTZ))"
    elif filled and counts.wholes == filled and _like_seconds(name, counts.low, counts.high):
        moment = f"(try_cast({words} AS DOUBLE) * 1000000)::BIGINT"
    elif filled and not counts.numbers and declared == "VARCHAR":
        written = _format(connection, words, filled)
        moment = written and f"epoch_us(try_strptime({words}, {sql_text(written)}))"
    if declared.endswith("[]"):
        kind = "set"
    elif moment:
        kind = "time"
    elif declared == "BOOLEAN" or (filled and counts.flags == filled):
        kind = "boolean"
    elif declared.startswith("VARCHAR") and (typed or counts.numbers < filled or not filled):
        kind = "words"  # where a file has types, numbers written as words are names
    elif NUMBER.takes(declared):
        kind = "whole" if counts.wholes == filled and (not typed or declared.startswith(WHOLE_TYPES)) else "number"
    else:
        kind = "words"
    label = words if declared == "VARCHAR" else value(LABEL, column, declared)
    values = () if kind in ("set", "time") else _values(connection, label)
    return ColumnLook(name, kind, counts.different, filled, values, counts.low, counts.high, moment, written)


def _tally(connection: duckdb.DuckDBPyConnection, column: str, words: str, declared: str) -> Tally:
    """The counts of a column; text is only tried as what its first thousand values can be read as."""
    if declared.startswith(NUMBER_TYPES) and declared != "VARCHAR" and not declared.endswith("[]"):
        words, number, times, flags = column, f"{column}::DOUBLE", "0", "0"
    elif declared == "VARCHAR":
        some = f"(SELECT {words} AS v FROM rows WHERE {words} IS NOT NULL LIMIT 1000)"
        tried = "count(*) = count(try_cast(v AS TIMESTAMPTZ)), count(try_cast(v AS DOUBLE)) > 0"
        timely, numeric = connection.execute(f"SELECT {tried} FROM {some}").fetchall()[0]
        times = f"count(try_cast({words} AS TIMESTAMPTZ))" if timely else "0"
        number = f"try_cast({words} AS DOUBLE)" if numeric else "NULL::DOUBLE"
        flags = f"count(*) FILTER (lower({words}) IN ('true', 'false'))"
    else:
        number, times, flags = "NULL::DOUBLE", "0", "0"
    finite = f"FILTER (isfinite({number}))"
    found = connection.execute(
        f"SELECT count({words}), count(DISTINCT {words}), {times}, count({number}) {finite}, count(*) FILTER "
        f"({number} = floor({number})), {flags}, min({number}) {finite}, max({number}) {finite} FROM rows"
    ).fetchall()[0]
    return Tally(*found)


def _like_seconds(name: str, low: float | None, high: float | None) -> bool:
    """Whether numbers are seconds since 1970: by the column's name, and from 1990 on."""
    there = low is not None and high is not None and low > 20 * 365 * 86_400 and high < LATEST
    return there and name_words(name)[-1:] != () and name_words(name)[-1] in TIME_WORDS


def _format(connection: duckdb.DuckDBPyConnection, words: str, filled: int) -> str | None:
    """The first format in which all values are written; only those that fit the first thousand are tried on all."""
    some = f"(SELECT {words} AS v FROM rows WHERE {words} IS NOT NULL LIMIT 1000)"
    fits = ", ".join(f"count(*) = count(try_strptime(v, {sql_text(one)}))" for one in FORMATS)
    likely = connection.execute(f"SELECT {fits} FROM {some}").fetchall()[0]
    for one in (one for one, fit in zip(FORMATS, likely, strict=True) if fit):
        every = connection.execute(f"SELECT count(try_strptime({words}, {sql_text(one)})) FROM rows").fetchall()
        if every[0][0] == filled:
            return one
    return None


def _values(connection: duckdb.DuckDBPyConnection, label: str) -> tuple[str, ...]:
    """The different values of a column, numbers in their order; none where there are many."""
    different = f"SELECT DISTINCT {label} AS v FROM rows WHERE {label} IS NOT NULL LIMIT {MOST_LISTED + 1}"
    found = connection.execute(f"SELECT v FROM ({different}) ORDER BY try_cast(v AS DOUBLE), v").fetchall()
    return tuple(str(value) for (value,) in found) if len(found) <= MOST_LISTED else ()
