"""What the columns of a log look like in its first rows, whatever their types say."""

from typing import Any, NamedTuple

import duckdb

from presage.errors import DataError
from presage.logs.kinds import NUMBER
from presage.logs.sources import open_source
from presage.logs.tables import connected, quoted

SAMPLE = 20_000
MOST_LISTED = 20


class Look(NamedTuple):
    """What a column looks like in the sample."""

    name: str
    kind: str  # time, set, boolean, whole, number or words
    different: int  # values
    filled: int  # rows that hold one
    values: tuple[str, ...]  # all of them where they are few, numbers in their order
    most: float | None  # the largest number


def look_at(log: Any) -> tuple[str, int, tuple[Look, ...]]:
    """The name of a log, how many rows were looked at, and what each column looks like in them."""
    with connected() as connection:
        source = open_source(connection, log, "given")
        connection.execute(f"CREATE TABLE sample AS FROM {source.relation} LIMIT {SAMPLE}")
        rows = int(connection.execute("SELECT count(*) FROM sample").fetchall()[0][0])
        if not rows:
            raise DataError(f"{source.name} holds no rows", 0, "write or export it again")
        looks = tuple(
            _look(connection, name, declared, source.form != "CSV") for name, declared in source.types.items()
        )
    return source.name, rows, looks


def _look(connection: duckdb.DuckDBPyConnection, name: str, declared: str, typed: bool) -> Look:
    words = f"nullif(trim({quoted(name)}::VARCHAR), '')"
    number = f"try_cast({words} AS DOUBLE)"
    filled, different, times, numbers, wholes, flags, largest = connection.execute(
        f"SELECT count({words}), count(DISTINCT {words}), count(try_cast({words} AS TIMESTAMPTZ)), "
        f"count(try_cast({words} AS DOUBLE)), count(*) FILTER ({number} = floor({number})), "
        f"count(*) FILTER (lower({words}) IN ('true', 'false')), "
        f"max(try_cast({words} AS DOUBLE)) FROM sample"
    ).fetchall()[0]
    if declared.endswith("[]"):
        kind = "set"
    elif declared.startswith(("TIMESTAMP", "DATE")) or (filled and times == filled and numbers < filled):
        kind = "time"
    elif declared == "BOOLEAN" or (filled and flags == filled):
        kind = "boolean"
    elif declared.startswith("VARCHAR") and (typed or numbers < filled or not filled):
        kind = "words"  # where a file has types, numbers written as words are names
    elif NUMBER.takes(declared):
        kind = "whole" if wholes == filled and not declared.startswith(("FLOAT", "DOUBLE", "DECIMAL")) else "number"
    else:
        kind = "words"
    values = () if kind in ("set", "time") else _values(connection, "sample", name)
    return Look(name, kind, different, filled, values, largest)


def look_at_signal(log: Any, shown_at: str, column: str, known_at: str) -> tuple[int, tuple[str, ...]]:
    """The longest delay of a signal in the whole log, in microseconds (0: none), and its values where they are few."""
    with connected() as connection:
        relation = open_source(connection, log, "given").relation
        moments = [f"epoch_us(try_cast({quoted(one)}::VARCHAR AS TIMESTAMPTZ))" for one in (known_at, shown_at)]
        delay = connection.execute(f"SELECT max({moments[0]} - {moments[1]}) FROM {relation}").fetchall()[0][0]
        return max(int(delay or 0), 0), _values(connection, relation, column)


def _values(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> tuple[str, ...]:
    """The different values of a column, numbers in their order; none where there are many."""
    words = f"nullif(trim({quoted(column)}::VARCHAR), '')"
    different = f"SELECT DISTINCT {words} AS v FROM {relation} WHERE {words} IS NOT NULL LIMIT {MOST_LISTED + 1}"
    found = connection.execute(f"SELECT v FROM ({different}) ORDER BY try_cast(v AS DOUBLE), v").fetchall()
    return tuple(str(value) for (value,) in found) if len(found) <= MOST_LISTED else ()
