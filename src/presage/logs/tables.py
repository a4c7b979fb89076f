"""Tables of DuckDB: read from files, checked, and named in SQL."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from presage.dataframes import Columns
from presage.errors import DataError
from presage.logs.columns import ColumnKind
from presage.logs.csv_errors import about_lines, reading_errors, unreadable_log
from presage.logs.file_forms import check_file, form_of, reader_sql, text_head
from presage.logs.text_lines import clean_lines


def sql_text(value: str) -> str:
    """Words as SQL takes them.

    >>> sql_text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


@contextmanager
def connected(**config: Any) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that lives in UTC, never reaches for the network, and has a folder of its own for files."""
    offline = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with (
        tempfile.TemporaryDirectory(prefix="presage-") as scratch,
        duckdb.connect(config=offline | {"temp_directory": f"{scratch}/spill"} | config) as connection,
    ):
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")  # it would be printed among a command's results
        try:
            yield connection
        except RuntimeError as error:
            if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
                raise KeyboardInterrupt from error
            raise


def read_table(path: Path, columns: Mapping[str, ColumnKind]) -> Columns:
    """The named columns of a file, in the order of its rows; refused unless every row holds a value in each."""
    return read_tables({path: columns})[0]


def read_tables(files: Mapping[Path, Mapping[str, ColumnKind]]) -> list[Columns]:
    """The named columns of each file."""
    tables = []
    with connected() as connection:
        for place, (path, columns) in enumerate(files.items()):
            load_table(connection, f"table{place}", path, columns)
            tables.append(dict(connection.execute(f"FROM table{place}").fetchnumpy()))
    return tables


def load_table(connection: duckdb.DuckDBPyConnection, name: str, path: Path, columns: Mapping[str, ColumnKind]) -> int:
    """The number of rows of a file that now stand, checked, in a new table of the database."""
    with reading_errors(path.name):
        form = form_of(path)
        check_file(path)
        delimiter = text_head(connection, path, columns).delimiter if form == "CSV" else ","
        source = reader_sql(form, [path], delimiter)
        try:
            _read(connection, name, path, source, columns)
        except duckdb.Error as error:
            if form != "Parquet" and about_lines(error):
                clean_lines(path, form, delimiter, None, skip=False)  # says which line it is, if it is one
            raise unreadable_log(path.name, form, error) from error
    rows = int(connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0])
    if not rows:
        raise DataError(f"{path.name} holds no rows", str(path), "write or export the file again")
    for column, kind in columns.items():
        wrong = f"SELECT rowid FROM {name} WHERE {quoted(column)} IS NULL ORDER BY rowid LIMIT 1"
        for (row,) in connection.execute(wrong).fetchall():
            found = f"SELECT {quoted(column)}::VARCHAR FROM {source} LIMIT 1 OFFSET {row}"
            value = connection.execute(found).fetchall()[0][0]
            where = f"row {row + 1:,} of {path.name} has no valid {column}"
            raise DataError(where, value, f"give it {kind.words}, or leave the row out")
    return rows


def parquet_files(tables: Mapping[str, Columns]) -> dict[str, bytes]:
    """NAME.parquet and its bytes for each named table: the same for the same columns, however many cores there are.

    >>> parquet_files({"sizes": {"repo": np.array(["a", "b"]), "files": np.array([1, 2])}})["sizes.parquet"][:4]
    b'PAR1'
    """
    with tempfile.TemporaryDirectory() as folder, connected(threads=1) as connection:
        return {f"{name}.parquet": _write(connection, Path(folder), columns) for name, columns in tables.items()}


def _write(connection: duckdb.DuckDBPyConnection, folder: Path, columns: Columns) -> bytes:
    casts = {"U": "::VARCHAR", "O": "::VARCHAR", "M": "::TIMESTAMP::TIMESTAMPTZ"}
    values = {name: np.asarray(column) for name, column in columns.items()}
    chosen = ", ".join(f"{quoted(name)}{casts.get(v.dtype.kind, '')} AS {quoted(name)}" for name, v in values.items())
    connection.register("given", {n: v.astype(object) if v.dtype.kind == "U" else v for n, v in values.items()})
    path = folder / "written.parquet"
    connection.execute(f"COPY (SELECT {chosen} FROM given) TO ? (FORMAT parquet, COMPRESSION zstd)", [str(path)])
    connection.unregister("given")
    return path.read_bytes()


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever words are reserved."""
    return '"' + name.replace('"', '""') + '"'


def _read(
    connection: duckdb.DuckDBPyConnection, name: str, path: Path, source: str, columns: Mapping[str, ColumnKind]
) -> None:
    """Nothing; the columns stand in the new table, NULL where there is no value of their kind."""
    described = connection.execute(f"DESCRIBE FROM {source}").fetchall()
    types = {str(column): str(declared) for column, declared, *_ in described}
    _check_types(path, types, columns)
    values = ", ".join(f"{kind.value(quoted(c), types[c])} AS {quoted(c)}" for c, kind in columns.items())
    connection.execute(f"CREATE TABLE {name} AS SELECT {values} FROM {source}")


def _check_types(path: Path, types: Mapping[str, str], columns: Mapping[str, ColumnKind]) -> None:
    missing = [column for column in columns if column not in types]
    if missing:
        raise DataError(f"{path.name} lacks the columns {', '.join(missing)}", list(types), "rename or add them")
    for column, kind in columns.items():
        if not kind.takes(types[column]):
            wrong = f"column {column} of {path.name} has the wrong type"
            raise DataError(wrong, types[column], f"make it {kind.words}")
