"""Spark, through Ibis, gives the table that DuckDB gives; without it the message says what to install."""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from presage.errors import DataError
from presage.logs.cuts import resolve_cuts
from presage.logs.rows import read_log
from presage.proxies.candidates import with_horizons
from presage.task.task import read_task
from tests.logs.given import csv, parquet, same, task_of

ROWS = 100_000
INSTANCE = """
item = { kind = "category" }
tags = { kind = "set" }
price = { kind = "number" }
clicks = { kind = "count", edges = [1, 5] }
member = { kind = "boolean" }
at = { kind = "timestamp", column = "shown_at", parts = ["hour"] }
"""
LOG = f"""
SELECT range AS id, 'item-' || (range * 7919 % 997) AS item, ['a', 'b', 'c'][1:(range % 4)] AS tags,
    CASE WHEN range % 100 > 0 THEN (range % 71)::DOUBLE END AS price, range % 13 AS clicks, range % 3 = 0 AS member,
    '2020-01-01'::TIMESTAMP + to_seconds(range * 31 % 2600000) AS shown_at,
    CASE range % 5 WHEN 0 THEN NULL WHEN 1 THEN 'none' ELSE 'some' END AS proxy,
    CASE WHEN range % 5 > 0 AND range % 17 > 0 THEN shown_at + to_hours(range % 60) END AS proxy_at,
    CASE WHEN range % 11 > 0 THEN ['no', 'yes'][1 + range % 2] END AS outcome,
    CASE WHEN range % 11 > 0 THEN shown_at + to_hours(range % 200) END AS outcome_at
FROM range({ROWS})
"""
EVENTS = f"""
SELECT range AS n, 'item-' || (hash(range) % 97) AS item, (hash(range + 0.25) % 50)::INTEGER AS "user",
    ['acquire', 'engage', 'engage', 'delete', 'view'][1 + (hash(range + 0.5) % 5)::INTEGER] AS kind,
    '2020-01-01'::TIMESTAMP + to_minutes((hash(range + 0.75) % 43200)::INTEGER) AS "at"
FROM range({ROWS})
"""
TASK = """
version = 1
name = "events"
[instance]
item = { kind = "category" }
[proxy]
values = ["deleted", "zero", "one", "many"]
count = "engage"
within = "12 hours"
edges = [1, 2]
unless = "delete"
[outcome]
values = ["delete", "engage", "nothing"]
first = ["delete", "engage"]
within = "2 days"
absent = "nothing"
[log]
id = "n"
instance = "item"
subject = "user"
moment = ["acquire"]
"""


def lacking() -> str | None:
    missing = [name for name in ("ibis", "pyspark") if importlib.util.find_spec(name) is None]
    if not shutil.which("java"):
        missing.append("java")
    return f"Spark is not on this machine: {', '.join(missing)} missing" if missing else None


needs_spark = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sql: Any = importlib.import_module("pyspark.sql")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 4)
    builder = builder.config("spark.ui.enabled", False).config("spark.log.level", "ERROR")
    started = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("spark"))).getOrCreate()
    yield started
    started.stop()


@needs_spark
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_spark_gives_the_same_rows_as_duckdb(tmp_path: Path, session: Any) -> None:
    log = parquet(tmp_path / "log.parquet", LOG)
    outcome = 'values = ["no", "yes"]\nhorizon = "7 days"\nabsent = "no"'
    task = task_of(INSTANCE, outcome=outcome, log='id = "id"')
    given = read_log(task, log)
    assert len(given[0].id) == ROWS - ROWS // 100
    same(read_log(task, log, engine="spark", session=session), given)


@needs_spark
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_spark_joins_events_as_duckdb_does(tmp_path: Path, session: Any) -> None:
    (tmp_path / "log").mkdir()
    for half in range(2):
        parquet(tmp_path / "log" / f"{half}.parquet", f"SELECT * FROM ({EVENTS}) WHERE n % 2 = {half}")
    task = with_horizons(read_task(TASK))  # the same proxy at several horizons
    given = read_log(task, tmp_path / "log")
    assert len(given[0].proxies) == 3
    assert set(given[0].outcome.symbols.tolist()) == {-1, 0, 1, 2}
    same(read_log(task, tmp_path / "log", engine="spark", session=session), given)


@needs_spark
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_spark_reads_text_and_refuses_what_it_cannot_tell(tmp_path: Path, session: Any) -> None:
    typed = f"SELECT * REPLACE (array_to_string(tags, ',') AS tags) FROM ({LOG}) LIMIT 1000"
    duckdb.execute(f"COPY ({typed}) TO '{tmp_path}/log.csv' (FORMAT csv, HEADER)")
    task = task_of(INSTANCE, log='id = "id"')
    given = read_log(task, tmp_path / "log.csv")
    same(read_log(task, tmp_path / "log.csv", engine="spark", session=session), given)
    bad = csv(tmp_path / "bad.csv", "item,shown_at,proxy,proxy_at,outcome,outcome_at", "a,b,c,d,e,f")
    with pytest.raises(DataError, match=r"Spark cannot tell the zones of the times in bad\.csv"):
        read_log(task_of(), bad, engine="spark", session=session)
    with pytest.raises(DataError, match="Spark reads files: found 'dict'"):
        read_log(task_of(), {}, engine="spark", session=session)


@needs_spark
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("known", ["at horizon", "as it happens"])
def test_spark_cuts_numbers_and_dates_successes_as_duckdb_does(tmp_path: Path, session: Any, known: str) -> None:
    log = parquet(tmp_path / "log.parquet", LOG)
    proxy = 'column = "clicks"\nedges = "quantiles:4"\nhorizon = "1 day"\nknown = "at horizon"'
    outcome = f'values = ["no", "yes"]\nhappened_at = "outcome_at"\nhorizon = "5 days"\nknown = "{known}"'
    task = task_of('item = { kind = "category" }', proxy=proxy, outcome=outcome, log='id = "id"')
    resolved = resolve_cuts(task, log)
    assert resolve_cuts(task, log, engine="spark", session=session) == resolved
    same(read_log(resolved, log, engine="spark", session=session), read_log(resolved, log))


def test_without_spark_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name=name)

    monkeypatch.setattr("presage.logs.spark.importlib.import_module", absent)
    with pytest.raises(DataError, match="the engine spark needs Ibis and PySpark: found 'ibis'; pip install"):
        read_log(task_of(), tmp_path, engine="spark")


def test_without_java_the_message_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presage.logs.spark.shutil.which", lambda name: None)
    monkeypatch.setattr("presage.logs.spark.importlib.import_module", lambda name: None)
    with pytest.raises(DataError, match="the engine spark needs Java"):
        read_log(task_of(), tmp_path, engine="spark")
