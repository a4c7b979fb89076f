"""Small logs and tasks for tests."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from presage.task.task import Task, read_task

DAY = 86_400_000_000


def task_of(instance: str = 'item = { kind = "category" }', **changes: str) -> Task:
    """A task with the outcomes no and yes after 7 days; `changes` are lines of the other tables."""
    parts = {
        "proxy": 'values = ["none", "some"]\nhorizon = "2 days"',
        "outcome": 'values = ["no", "yes"]\nhorizon = "7 days"',
        "log": "",
    } | changes
    tables = "".join(f"[{name}]\n{lines}\n" for name, lines in parts.items())
    return read_task(f'version = 1\nname = "test"\n[instance]\n{instance}\n{tables}')


def csv(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def parquet(path: Path, query: str) -> Path:
    duckdb.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def table(path: Path, head: str, rows: list[tuple[Any, ...]]) -> Path:
    """A CSV out of rows; None is nothing."""
    return csv(path, head, *(",".join("" if one is None else str(one) for one in row) for row in rows))


def same(left: Any, right: Any) -> None:
    """Nothing, if two results of reading a log are equal to the last value."""
    for one, two in zip(left, right, strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, two)
            assert one.dtype == two.dtype
        elif isinstance(one, tuple):
            same(one, two)
        else:
            assert one == two
