"""Where a log is read from: files, folders, tables of DuckDB, and dataframes of any library."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from presage.errors import DataError
from presage.logs.csv_errors import unreadable_log
from presage.logs.tables import READERS, literal, quoted, sql_text
from presage.spaces import Array


class FrameColumns(NamedTuple):
    """The columns of a dataframe by name, and those among them that hold times with a zone (now in UTC)."""

    columns: dict[str, Array]
    zoned: tuple[str, ...]


def frame_columns(frame: Any) -> FrameColumns:
    """The columns of a pandas, polars, pyarrow or other dataframe; missing values stay missing."""
    try:
        import narwhals  # noqa: PLC0415 only whoever has a dataframe needs it
    except ImportError as error:
        raise DataError("a dataframe needs narwhals", type(frame).__name__, "pip install narwhals") from error
    from_native: Callable[..., Any] = narwhals.from_native
    try:
        table = from_native(frame)
    except TypeError as error:
        remedy = "give a path, FILE.duckdb::TABLE or a dataframe"
        raise DataError("this is no log", type(frame).__name__, remedy) from error
    table = table.collect() if isinstance(table, narwhals.LazyFrame) else table
    zoned = tuple(name for name in table.columns if getattr(table[name].dtype, "time_zone", None))
    return FrameColumns({str(name): _column(table[name]) for name in table.columns}, zoned)


def _column(series: Any) -> Array:
    """A series as NumPy: text, lists and flags as objects, whole numbers with gaps under a mask."""
    kind = series.dtype
    if kind.is_integer() and series.null_count():
        gaps = series.is_null().to_numpy()
        return np.ma.MaskedArray(series.fill_null(0).to_numpy(), gaps)
    if kind.is_numeric() or str(kind).startswith("Datetime"):  # a zone is turned into UTC
        return series.to_numpy()
    column = np.empty(len(series), object)
    column[:] = series.to_list()
    return column


SEPARATOR = "::"
"""Between a DuckDB file and a table in it."""


class Source(NamedTuple):
    """A log that can be read: what errors call it, its form, the SQL that reads it, and its columns with types."""

    name: str
    form: str
    relation: str
    types: Mapping[str, str]
    files: tuple[Path, ...] = ()

    @property
    def cheap(self) -> bool:
        """Whether it may be read again and again: only text has to be parsed each time."""
        return self.form not in ("CSV", "NDJSON")

    def typed(self, types: Mapping[str, str]) -> str:
        """SQL that reads these columns as these types, where the form leaves them to be guessed."""
        if self.form != "NDJSON":
            return self.relation
        columns = ", ".join(f"{sql_text(column)}: {sql_text(declared)}" for column, declared in types.items())
        return f"{self.relation[:-1]}, columns={{{columns}}})"


def open_source(connection: duckdb.DuckDBPyConnection, log: Any, alias: str) -> Source:
    """The source that a path, FILE.duckdb::TABLE or a dataframe is; `alias` is a name still free in the database."""
    if not isinstance(log, str | Path):
        frame = frame_columns(log)
        connection.register(alias, frame.columns)
        zoned = ", ".join(f"{quoted(name)}::TIMESTAMPTZ AS {quoted(name)}" for name in frame.zoned)
        relation = f"(SELECT * REPLACE ({zoned}) FROM {alias})" if zoned else alias
        return _described(connection, "the dataframe", "dataframe", relation)
    database, separator, table = str(log).rpartition(SEPARATOR)
    if separator:
        return _database(connection, Path(database), table, alias)
    path = Path(log)
    if path.suffix == ".duckdb":
        raise DataError("a DuckDB file may hold many tables", str(path), f"name one: {path.name}{SEPARATOR}TABLE")
    files = _files(path)
    form, reader = READERS[files[0].suffix]
    several = f"[{', '.join(literal(file) for file in files)}], union_by_name=true"
    relation = reader.format(path=several if len(files) > 1 else literal(files[0]))
    return _described(connection, path.name or str(path), form, relation, files)


def _files(path: Path) -> tuple[Path, ...]:
    """The files of a log, in the order of their names; all of one kind, and none of them empty."""
    if not path.exists():
        raise DataError(f"{path.name} is not there", str(path), "check the folder and the name")
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix in READERS) if path.is_dir() else [path]
    suffixes = sorted({file.suffix for file in found})
    kinds = ", ".join(READERS)
    if not found:
        raise DataError(f"the folder {path.name} holds no log", str(path), f"put files of one kind there: {kinds}")
    if len(suffixes) > 1:
        raise DataError(
            f"the folder {path.name} holds files of several kinds", suffixes, "keep one kind, or name a file"
        )
    if suffixes[0] not in READERS:
        raise DataError("the kind of this file is unknown", str(path), f"name it {kinds}, or FILE.duckdb::TABLE")
    for file in found:
        if not file.stat().st_size:
            raise DataError(f"{file.name} is empty", str(file), "write or export the file again")
    return tuple(found)


def _database(connection: duckdb.DuckDBPyConnection, path: Path, table: str, alias: str) -> Source:
    if not path.is_file():
        raise DataError(f"{path.name} is not there", str(path), "check the folder and the name")
    parts = ".".join(quoted(part) for part in table.split("."))
    try:
        connection.execute(f"ATTACH {sql_text(str(path))} AS {alias} (READ_ONLY)")
    except duckdb.Error as error:
        raise unreadable_log(path.name, "DuckDB", error) from error
    return _described(connection, f"{path.name}{SEPARATOR}{table}", "DuckDB", f"{alias}.{parts}")


def _described(
    connection: duckdb.DuckDBPyConnection, name: str, form: str, relation: str, files: tuple[Path, ...] = ()
) -> Source:
    try:
        rows = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
    except duckdb.Error as error:
        raise unreadable_log(name, form, error, files) from error
    return Source(name, form, relation, {str(column): str(declared) for column, declared, *_ in rows}, files)
