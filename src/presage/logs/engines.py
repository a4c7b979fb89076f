"""Engines that read a log and join its parts: DuckDB, or Spark for logs too large for one machine."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import duckdb

from presage import settings
from presage.errors import DataError
from presage.logs.columns import FLAG, LABEL, TEXTS, TIME, ColumnKind, WantedColumn, check_columns
from presage.logs.csv_errors import unreadable_log
from presage.logs.sources import Source, open_source
from presage.logs.tables import quoted, sql_text

FLOATS = ("FLOAT", "DOUBLE", "DECIMAL")


def value(kind: ColumnKind, column: str, declared: str, separator: str = ",") -> str:
    """SQL for a value: times as microseconds since 1970 UTC, labels as words, sets as lists of different words."""
    if kind is TIME:
        return f"epoch_us({_moment(kind, column, declared)})"
    if kind is LABEL:
        return _label(column, declared)
    if kind is TEXTS:
        return _texts(column, declared, separator)
    if kind is FLAG:
        return f"try_cast({column} AS BOOLEAN)"
    return kind.value(column, declared)


def _moment(kind: ColumnKind, column: str, declared: str) -> str:
    if declared == "TIMESTAMP WITH TIME ZONE":
        return f"CASE WHEN isfinite({column}) THEN {column} END"
    if declared.startswith(("TIMESTAMP", "DATE")):  # UTC; by way of a zone it would take thrice the time
        return f"CASE WHEN isfinite({column}::TIMESTAMP) THEN {column}::TIMESTAMP END"
    return kind.value(column, declared)


def _label(column: str, declared: str) -> str:
    if declared.startswith(FLOATS):  # whole numbers in which a gap has made floats of all
        whole = f"{column} = floor({column}) AND abs({column}) < 1e15"
        text = f"CASE WHEN {whole} THEN {column}::BIGINT::VARCHAR ELSE {column}::VARCHAR END"
        return f"CASE WHEN isfinite({column}::DOUBLE) THEN {text} END"
    return f"nullif(trim({column}::VARCHAR), '')"


def _texts(column: str, declared: str, separator: str) -> str:
    parts = column
    if not declared.endswith("[]"):
        parts = f"string_split({column}::VARCHAR, {sql_text(separator)})"
    trimmed = f"list_transform({parts}, lambda word: trim(word::VARCHAR))"
    return f"coalesce(list_distinct(list_filter({trimmed}, lambda word: word <> '')), [])::VARCHAR[]"


CLOCK = r"\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|UTC|GMT|[+-]\d\d(:?\d\d)?|[A-Za-z]+/[A-Za-z_/]+)$"


def check_zones(
    connection: duckdb.DuckDBPyConnection, source: Source, relation: str, wanted: Iterable[WantedColumn]
) -> None:
    """Nothing, or the error that some times say their zone and others do not."""
    with_zone: dict[str, str] = {}
    without: dict[str, str] = {}
    for column in dict.fromkeys(one.column for one in wanted if one.kind is TIME):
        declared = source.types[column]
        if source.form == "NDJSON" or declared.startswith("VARCHAR"):
            zoned, plain = _text_times(connection, relation, column)
        else:
            zoned = declared if declared == "TIMESTAMP WITH TIME ZONE" else None
            plain = declared if declared.startswith(("TIMESTAMP", "DATE")) and not zoned else None
        with_zone |= {column: zoned} if zoned else {}
        without |= {column: plain} if plain else {}
    if with_zone and without:
        (there, zoned), (here, plain) = next(iter(with_zone.items())), next(iter(without.items()))
        found = f"{zoned} in {there}, {plain} in {here}"
        remedy = "give every time a zone, or none (then all are UTC)"
        raise DataError(f"{source.name} mixes times with and without a zone", found, remedy)


def _text_times(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> tuple[str | None, str | None]:
    """A time with a zone and one without, where there are such; whole numbers are seconds and have none."""
    text = f"trim({quoted(column)}::VARCHAR)"
    zoned = f"regexp_matches({text}, '{CLOCK}')"
    plain = f"NOT {zoned} AND try_cast({text} AS TIMESTAMP) IS NOT NULL"
    query = f"SELECT any_value({text}) FILTER ({zoned}), any_value({text}) FILTER ({plain}) FROM {relation}"
    found = connection.execute(query).fetchall()[0]
    return found[0], found[1]


ENGINES = ("duckdb", "spark")


class LogEngine(Protocol):
    """What reading a log asks of an engine."""

    def read(self, name: str, log: Any, wanted: tuple[WantedColumn, ...]) -> str:
        """What errors call the log, whose wanted columns and "row" now stand, checked, under `name`."""

    def ask(self, query: str) -> list[int | None]:
        """The one row of whole numbers that a query gives."""

    def join(self, query: str) -> None:
        """Nothing; what the query gives now stands in the DuckDB database under `joined`."""


@contextmanager
def engine_called(
    name: str, connection: duckdb.DuckDBPyConnection, folder: Path, session: Any = None
) -> Iterator[LogEngine]:
    """The engine of that name. It may keep files in `folder`; Spark takes a `session`, or starts one of its own."""
    if settings.one_of("engine", name, ENGINES) == "duckdb":
        yield DuckDBEngine(connection)
        return
    from presage.logs.spark import spark_engine  # noqa: PLC0415 only those who have Spark can import it

    with spark_engine(connection, folder, session) as engine:
        yield engine


class DuckDBEngine:
    """DuckDB, within this process."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def read(self, name: str, log: Any, wanted: tuple[WantedColumn, ...]) -> str:
        """What errors call the log, whose wanted columns and "row" now stand, checked, under `name`.

        A log that must be parsed is parsed once and kept; others stay where they are.
        """
        source = open_source(self.connection, log, f"given_{name}")
        check_columns(source.name, source.types, wanted)
        columns = list(dict.fromkeys(one.column for one in wanted))
        # As text NDJSON's times keep their zones; what DuckDB guessed of them from the first lines does not.
        types = {c: "VARCHAR" if _is_time(source.types[c]) else source.types[c] for c in columns}
        types = types if source.form == "NDJSON" else {c: source.types[c] for c in columns}
        relation = source.typed(types)
        try:
            if not source.cheap:
                chosen = ", ".join(quoted(column) for column in columns)
                self.connection.execute(f"CREATE TABLE raw_{name} AS SELECT {chosen} FROM {relation}")
                relation = f"raw_{name}"
            check_zones(self.connection, source, relation, wanted)
            values = [
                f"{value(one.kind, quoted(one.column), types[one.column], one.separator)} AS {one.name}"
                for one in wanted
            ]
            numbered = f'SELECT row_number() OVER () AS "row", {", ".join(values)} FROM {relation}'
            self.connection.execute(f"CREATE VIEW {name} AS {numbered}")
        except duckdb.Error as error:
            raise unreadable_log(source.name, source.form, error) from error
        return source.name

    def ask(self, query: str) -> list[int | None]:
        """The one row of whole numbers that a query gives."""
        return [None if one is None else int(one) for one in self.connection.execute(query).fetchall()[0]]

    def join(self, query: str) -> None:
        """Nothing; what the query gives now stands in the DuckDB database under `joined`."""
        self.connection.execute(f"CREATE TABLE joined AS {query}")


def _is_time(declared: str) -> bool:
    return declared.startswith(("TIMESTAMP", "DATE", "TIME"))
