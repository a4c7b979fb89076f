"""Who reads a log and joins its parts: DuckDB, or Spark for logs too large for one machine.

Both run the same SQL, written in DuckDB's dialect; what it gives is encoded by DuckDB either way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import duckdb

from presage import settings
from presage.logs.broken import unreadable
from presage.logs.sources import open_source
from presage.logs.tables import quoted
from presage.logs.values import value
from presage.logs.wanted import Wanted, check_columns
from presage.logs.zones import check_zones

ENGINES = ("duckdb", "spark")


class Engine(Protocol):
    """What reading a log asks of an engine."""

    def read(self, name: str, log: Any, wanted: tuple[Wanted, ...]) -> str:
        """What errors call the log, whose wanted columns and "row" now stand, checked, under `name`."""

    def ask(self, query: str) -> list[int | None]:
        """The one row of whole numbers that a query gives."""

    def join(self, query: str) -> None:
        """Nothing; what the query gives now stands in the DuckDB database under `joined`."""


@contextmanager
def engine_called(
    name: str, connection: duckdb.DuckDBPyConnection, folder: Path, session: Any = None
) -> Iterator[Engine]:
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

    def read(self, name: str, log: Any, wanted: tuple[Wanted, ...]) -> str:
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
            raise unreadable(source.name, source.form, error) from error
        return source.name

    def ask(self, query: str) -> list[int | None]:
        """The one row of whole numbers that a query gives."""
        return [None if one is None else int(one) for one in self.connection.execute(query).fetchall()[0]]

    def join(self, query: str) -> None:
        """Nothing; what the query gives now stands in the DuckDB database under `joined`."""
        self.connection.execute(f"CREATE TABLE joined AS {query}")


def _is_time(declared: str) -> bool:
    return declared.startswith(("TIMESTAMP", "DATE", "TIME"))
