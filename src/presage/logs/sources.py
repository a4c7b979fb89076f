"""Where a log is read from: files, folders, tables of DuckDB, and dataframes of any library."""

import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import duckdb
import numpy as np

from presage.errors import DataError
from presage.logs.csv_errors import about_lines, reading_errors, unreadable_log
from presage.logs.file_forms import (
    DELIMITERS,
    ENDINGS,
    ENDINGS_IN_WORDS,
    TextHead,
    check_file,
    ending,
    form_of,
    reader_sql,
    text_head,
)
from presage.logs.tables import quoted, sql_text
from presage.logs.text_lines import BadLines, clean_lines
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
    header: tuple[str, ...] = ()  # the column names of a CSV as they are written
    delimiter: str = ","
    bad: BadLines = BadLines()

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


def open_source(
    connection: duckdb.DuckDBPyConnection, log: Any, alias: str, wanted: Collection[str] = (), *, skip: bool = False
) -> Source:
    """The source that a path, FILE.duckdb::TABLE or a dataframe is; `alias` is a name still free in the database.

    The `wanted` columns tell how a header is split that could be split in several ways. With `skip`, lines of text
    that cannot be read are left out.
    """
    if not isinstance(log, str | Path):
        frame = frame_columns(log)
        connection.register(alias, frame.columns)
        zoned = ", ".join(f"{quoted(name)}::TIMESTAMPTZ AS {quoted(name)}" for name in frame.zoned)
        relation = f"(SELECT * REPLACE ({zoned}) FROM {alias})" if zoned else alias
        return _described(connection, Source("the dataframe", "dataframe", relation, {}))
    path = Path(log)
    with reading_errors(path.name or str(path)):
        database, separator, table = str(log).rpartition(SEPARATOR)
        if separator and not path.exists():
            return _database(connection, Path(database), table, alias)
        if path.suffix == ".duckdb":
            raise DataError("a DuckDB file may hold many tables", str(path), f"name one: {path.name}{SEPARATOR}TABLE")
        return _file_source(connection, path, wanted, skip)


def _file_source(connection: duckdb.DuckDBPyConnection, path: Path, wanted: Collection[str], skip: bool) -> Source:
    files = _files(path)
    form, name, head = form_of(files[0]), path.name or str(path), TextHead()
    if form == "CSV":
        heads = [text_head(connection, file, wanted) for file in files]
        head = heads[0]._replace(clean=all(one.clean for one in heads))
        for file, other in zip(files, heads, strict=True):
            if other.delimiter != head.delimiter:
                found = f"{DELIMITERS[head.delimiter]} in {files[0].name}, {DELIMITERS[other.delimiter]} in {file.name}"
                raise DataError(f"the files of {name} have different delimiters", found, "export them with one")
    source = Source(name, form, reader_sql(form, files, head.delimiter), {}, files, head.header, head.delimiter)
    if not head.clean:
        return cleaned(connection, source, skip)
    try:
        return _described(connection, source)
    except DataError as error:
        if source.cheap or not (isinstance(error.__cause__, duckdb.Error) and about_lines(error.__cause__)):
            raise
        return cleaned(connection, source, skip)


def cleaned(connection: duckdb.DuckDBPyConnection, source: Source, skip: bool) -> Source:
    """The same log out of copies of its files with plain line ends and, with `skip`, without lines that are wrong.

    Without `skip` the first line that cannot be read is refused.
    """
    scratch = Path(str(connection.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]))
    scratch.mkdir(parents=True, exist_ok=True)
    bad, copies = BadLines(), []
    for file in source.files:
        with tempfile.NamedTemporaryFile(dir=scratch, suffix=".text", delete=False) as target:
            found = clean_lines(file, source.form, source.delimiter, cast("BinaryIO", target), skip)
            bad = bad.plus(found, file.name if len(source.files) > 1 else "")
            copies.append(Path(target.name))
    relation = reader_sql(source.form, copies, source.delimiter)
    return _described(connection, source._replace(relation=relation, bad=bad))


def _files(path: Path) -> tuple[Path, ...]:
    """The files of a log, in the order of their names; all of one kind, and each what its ending says."""
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.is_file() and ending(p) in ENDINGS)
    else:
        form_of(path) if path.exists() else check_file(path)
        found = [path]
    suffixes = sorted({ending(file) for file in found})
    if not found:
        remedy = f"put files of one kind there: {ENDINGS_IN_WORDS}"
        raise DataError(f"the folder {path.name} holds no log", str(path), remedy)
    if len(suffixes) > 1:
        raise DataError(
            f"the folder {path.name} holds files of several kinds", suffixes, "keep one kind, or name a file"
        )
    for file in found:
        check_file(file)
    return tuple(found)


def _database(connection: duckdb.DuckDBPyConnection, path: Path, table: str, alias: str) -> Source:
    if not path.is_file():
        raise DataError(f"{path.name} is not there", str(path), "check the folder and the name")
    parts = ".".join(quoted(part) for part in table.split("."))
    try:
        connection.execute(f"ATTACH {sql_text(str(path))} AS {alias} (TYPE duckdb, READ_ONLY)")
    except duckdb.Error as error:
        raise unreadable_log(path.name, "DuckDB", error) from error
    return _described(connection, Source(f"{path.name}{SEPARATOR}{table}", "DuckDB", f"{alias}.{parts}", {}))


def _described(connection: duckdb.DuckDBPyConnection, source: Source) -> Source:
    """The source with its columns and their types."""
    try:
        rows = connection.execute(f"DESCRIBE FROM {source.relation}").fetchall()
    except duckdb.Error as error:
        raise unreadable_log(source.name, source.form, error) from error
    return source._replace(types={str(column): str(declared) for column, declared, *_ in rows})
