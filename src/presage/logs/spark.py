"""Spark, through Ibis: reads files and runs the SQL of the join; its table comes back as Parquet.

Other backends of Ibis may run the same SQL; none of them is tested.
"""

import importlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from presage.errors import DataError
from presage.logs.cleaning import Exclusions
from presage.logs.columns import CELL, FLAG, GIVEN, LABEL, NUMBER, TEXTS, TIME, WantedColumn, check_columns
from presage.logs.file_forms import ENDINGS, ENDINGS_IN_WORDS, ending, form_of, literal, text_head

TYPES = {
    "timestamp": "TIMESTAMP WITH TIME ZONE", "timestamp_ntz": "TIMESTAMP", "string": "VARCHAR", "boolean": "BOOLEAN",
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT", "float": "FLOAT",
    "double": "DOUBLE", "date": "DATE", "array<string>": "VARCHAR[]",
}  # fmt: skip
"""Spark's names of types, and DuckDB's."""


@contextmanager
def spark_engine(connection: duckdb.DuckDBPyConnection, folder: Path, session: Any = None) -> Iterator["SparkEngine"]:
    """Spark in this session, or in one started here and stopped in the end."""
    try:
        ibis, spark = importlib.import_module("ibis"), importlib.import_module("pyspark.sql")
    except ImportError as error:
        remedy = 'pip install "ibis-framework[pyspark]", or use the engine duckdb'
        raise DataError("the engine spark needs Ibis and PySpark", error.name, remedy) from error
    if session is None and not shutil.which("java"):
        remedy = "install a Java runtime (17 or later), or use the engine duckdb"
        raise DataError("the engine spark needs Java", None, remedy)
    quiet = spark.SparkSession.builder.config("spark.ui.enabled", False).config("spark.log.level", "ERROR")
    started = session or quiet.appName("presage").getOrCreate()
    zone = started.conf.get("spark.sql.session.timeZone")
    started.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        yield SparkEngine(connection, folder, started, ibis.pyspark.connect(started))
    finally:
        if session is None:
            started.stop()
        else:
            started.conf.set("spark.sql.session.timeZone", zone)


class SparkEngine:
    """Spark, with Ibis to turn DuckDB's dialect into its own."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path, session: Any, backend: Any) -> None:
        self.connection, self.folder, self.session, self.backend = connection, folder, session, backend
        self.left_out = Exclusions({}, {})

    def read(self, name: str, log: Any, wanted: tuple[WantedColumn, ...]) -> str:
        """What errors call the log, whose wanted columns and "row" now stand, checked, under `name`."""
        path = Path(log) if isinstance(log, str | Path) else Path()
        frame = self._frame(path, log)
        types = {column: TYPES.get(declared, declared.upper()) for column, declared in frame.dtypes}
        check_columns(path.name, types, wanted)
        times = {types[one.column] for one in wanted if one.kind is TIME}
        if "VARCHAR" in times or len(times & {"TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DATE"}) > 1:
            remedy = "write all of them as timestamps of one type, or use the engine duckdb"
            raise DataError(f"Spark cannot tell the zones of the times in {path.name}", sorted(times), remedy)
        values = ", ".join(f"{_value(one, types[one.column])} AS {one.name}" for one in wanted)
        frame.createOrReplaceTempView(f"given_{name}")
        numbered = f"SELECT monotonically_increasing_id() + 1 AS `row`, {values} FROM given_{name}"
        self.session.sql(numbered).createOrReplaceTempView(name)
        return path.name

    def ask(self, query: str) -> list[int | None]:
        """The one row of whole numbers that a query gives."""
        row = self.session.sql(self._translated(query)).collect()[0]
        return [None if one is None else int(one) for one in row]

    def words(self, query: str) -> list[str]:
        """The one column of words that a query gives."""
        return [str(row[0]) for row in self.session.sql(self._translated(query)).collect()]

    def join(self, query: str) -> None:
        """Nothing; what the query gives was written as Parquet and now stands under `joined`."""
        target = self.folder / "joined"
        self.session.sql(self._translated(query)).write.parquet(str(target))
        files = ", ".join(literal(file) for file in sorted(target.glob("*.parquet")))
        self.connection.execute(f"CREATE TABLE joined AS FROM read_parquet([{files}])")

    def _translated(self, query: str) -> str:
        """The query in Spark's own SQL, by way of Ibis."""
        return str(self.backend.compile(self.backend.sql(query, dialect="duckdb")))

    def _frame(self, path: Path, log: Any) -> Any:
        if not isinstance(log, str | Path) or not path.exists():
            remedy = "give a file or folder of Parquet, CSV or NDJSON"
            raise DataError(
                "Spark reads files", str(log) if isinstance(log, str | Path) else type(log).__name__, remedy
            )
        files = [p for p in (path.rglob("*") if path.is_dir() else [path]) if ending(p) in ENDINGS]
        kinds = sorted({ending(file) for file in files})
        if len(kinds) != 1:
            raise DataError("Spark reads files of one kind", kinds, f"name them {ENDINGS_IN_WORDS}")
        form, reader = form_of(files[0]), self.session.read
        if form == "CSV":
            delimiter = text_head(self.connection, files[0]).delimiter
            return reader.csv(str(path), header=True, inferSchema=True, sep=delimiter)
        return reader.parquet(str(path)) if form == "Parquet" else reader.json(str(path))


def _value(one: WantedColumn, declared: str) -> str:
    """Spark's SQL for a value, NULL where there is none of this kind."""
    column = "`" + one.column.replace("`", "``") + "`"
    if one.kind is TIME:
        whole = declared.endswith("INT") or declared == "INTEGER"
        return f"CAST({column} AS BIGINT) * 1000000" if whole else f"unix_micros(CAST({column} AS TIMESTAMP))"
    if one.kind in (LABEL, GIVEN, CELL):
        return f"nullif(trim(CAST({column} AS STRING)), '')"
    if one.kind is FLAG:
        return f"try_cast({column} AS BOOLEAN)"
    if one.kind is TEXTS:
        parts = column if declared.endswith("[]") else f"split({column}, '\\\\Q{one.separator}\\\\E')"
        trimmed = f"filter(transform({parts}, word -> trim(word)), word -> word <> '')"
        return f"coalesce(array_distinct({trimmed}), array())"
    assert one.kind is NUMBER
    number = f"try_cast({column} AS DOUBLE)"
    return f"CASE WHEN NOT isnan({number}) AND abs({number}) < double('inf') THEN {number} END"
