"""Dataframes of any library give the rows that a file of the same columns gives."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from presage.errors import DataError
from presage.logs.rows import read_log
from tests.logs.given import parquet, same, task_of

INSTANCE = """
item = { kind = "category" }
tags = { kind = "set" }
price = { kind = "number", missing = 0 }
clicks = { kind = "count", edges = [1, 5], missing = 0 }
member = { kind = "boolean", missing = false }
"""
LOG = """
SELECT range AS number, range * 7919 % 97 AS item, ['a', 'b', 'c'][1:(range % 4)] AS tags,
    CASE WHEN range % 10 > 0 THEN (range % 71)::DOUBLE END AS price,
    CASE WHEN range % 7 > 0 THEN range % 13 END AS clicks, CASE WHEN range % 9 > 0 THEN range % 3 = 0 END AS member,
    '2020-01-01'::TIMESTAMP + to_seconds(range * 31 % 2600000) AS shown_at,
    CASE range % 5 WHEN 0 THEN NULL WHEN 1 THEN 'none' ELSE 'some' END AS proxy,
    CASE WHEN range % 5 > 0 THEN shown_at + to_hours(range % 60) END AS proxy_at,
    CASE WHEN range % 11 > 0 THEN ['no', 'yes'][1 + range % 2] END AS outcome,
    CASE WHEN range % 11 > 0 THEN shown_at + to_hours(range % 200) END AS outcome_at
FROM range(2000)
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("library", ["pandas", "polars", "polars lazily", "pyarrow"])
def test_a_dataframe_gives_the_rows_of_a_file(tmp_path: Path, library: str) -> None:
    log = parquet(tmp_path / "log.parquet", LOG)
    name, lazy = library.partition(" ")[0], library.endswith("lazily")
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not on this machine")
    module: Any = importlib.import_module(name)
    if name == "pyarrow":
        frame = importlib.import_module("pyarrow.parquet").read_table(log)
    elif lazy:
        frame = module.scan_parquet(log)
    else:
        frame = module.read_parquet(log)
    task = task_of(INSTANCE, log='id = "number"')
    same(read_log(task, frame), read_log(task, log))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_zones_of_a_dataframe_are_noticed(tmp_path: Path, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not on this machine")
    module: Any = importlib.import_module(library)
    zoned = ", ".join(f"{name}::TIMESTAMPTZ AS {name}" for name in ("shown_at", "proxy_at", "outcome_at"))
    log = parquet(tmp_path / "log.parquet", f"SELECT * REPLACE ({zoned}) FROM ({LOG})")
    mixed = parquet(tmp_path / "mixed.parquet", f"SELECT * REPLACE (shown_at::TIMESTAMPTZ AS shown_at) FROM ({LOG})")
    same(read_log(task_of(), module.read_parquet(log)), read_log(task_of(), log))
    with pytest.raises(DataError, match="the dataframe mixes times with and without a zone"):
        read_log(task_of(), module.read_parquet(mixed))


def test_what_is_no_dataframe_is_refused() -> None:
    with pytest.raises(DataError, match="this is no log: found 'dict'; give a path"):
        read_log(task_of(), {"item": [1]})
