"""Quantiles as numbers: where the first rows of a log cut the columns that a task cuts into equally full parts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np

from presage.errors import DataError, SettingError
from presage.logs.columns import LABEL, NUMBER, TIME, WantedColumn
from presage.logs.engines import reading_of
from presage.logs.rows import MEMORY, opened_engine
from presage.logs.signals import prediction_rows
from presage.spaces import Array
from presage.task.edges import NumberCuts, edge_labels, edge_words
from presage.task.signals import Labelled, Signal
from presage.task.task import Task

FIRST_SHARE, FIRST_LEAST = 10, 1000
"""Edges come from the first tenth of the rows that hold a number, but from a thousand of them if there are as many.

Later rows must not tell: what a value is called would then depend on what is not yet known.
"""

NAMES = {2: "the median", 3: "terciles", 4: "quartiles", 5: "quintiles", 10: "deciles"}


def resolve_cuts(
    task: Task,
    log: Any,
    *,
    engine: str = "duckdb",
    memory: str = MEMORY,
    session: Any = None,
    skip_bad_lines: bool = False,
) -> Task:
    """The task with every edge a number; the same one unless it cuts a column into quantiles.

    Args:
        task: Says which columns are cut.
        log: What `read_log` takes.
        engine: "duckdb" or "spark".
        memory: What DuckDB may use before it goes to the disk.
        session: A Spark session.
        skip_bad_lines: Whether lines of CSV or NDJSON that cannot be read are left out.
    """
    waiting = {n: signal for n, signal in enumerate(task.signals) if signal.cuts and signal.cuts.is_open}
    if not waiting:
        return task
    signals = list(task.signals)
    reading = reading_of(task, log, skip_bad_lines=skip_bad_lines)
    with opened_engine(task, engine, memory, session, reading) as (connection, working):
        name = working.read("predictions", log, tuple(_wanted(task, waiting)))
        values = ", ".join(f"v{n}" for n in waiting)
        working.join(f'SELECT "row", shown_at, {values} FROM {prediction_rows(task)} WHERE shown_at IS NOT NULL')
        for n, signal in waiting.items():
            signals[n] = _cut(task, signal, _first_numbers(connection, n), name)
    return replace(task, proxies=tuple(signals[:-1]), outcome=signals[-1])


def found_cuts(task: Task) -> dict[str, dict[str, Any]]:
    """The edges that a log told, as JSON values by the table of the task: what they are, for what, and whence."""
    return {
        task.path(signal): {
            "edges": [int(edge) if edge == int(edge) else edge for edge in signal.cuts.edges],
            "values": list(signal.values),
            "from": signal.cuts.told,
        }
        for signal in task.signals
        if signal.cuts and signal.cuts.told
    }


def cut_again(task: Task, found: Mapping[str, Mapping[str, Any]]) -> Task:
    """A task with the edges that `found_cuts` gave of it."""

    def cut(signal: Signal) -> Signal:
        told, source = found.get(task.path(signal)), signal.source
        if told is None or not isinstance(source, Labelled) or source.cuts is None:
            return signal
        cuts = NumberCuts(tuple(map(float, told["edges"])), source.cuts.quantiles, told["from"])
        return replace(signal, values=tuple(told["values"]), source=replace(source, cuts=cuts))

    return replace(task, proxies=tuple(map(cut, task.proxies)), outcome=cut(task.outcome))


def cut_lines(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line to print for each table with edges from a log: to be copied into the task.

    >>> cut_lines({"proxy": {"edges": [1, 4.5], "from": "terciles of the first 1,000 rows"}})
    ['proxy.edges = [1, 4.5] (terciles of the first 1,000 rows)']
    """
    return [
        f"{path}.edges = [{', '.join(map(edge_words, one['edges']))}] ({one['from']})" for path, one in found.items()
    ]


def _wanted(task: Task, waiting: Mapping[int, Signal]) -> Iterator[WantedColumn]:
    if task.log.shown_at is not None:
        yield WantedColumn("shown_at", task.log.shown_at, TIME, "log.shown_at")
    for n, signal in waiting.items():
        column, key = signal.columns["column"], f"{task.path(signal)}.column"
        yield from (WantedColumn(f"v{n}", column, NUMBER, key), WantedColumn(f"g{n}", column, LABEL, key))


def _first_numbers(connection: duckdb.DuckDBPyConnection, n: int) -> Array:
    """The numbers of a signal in the first rows that hold one, in ascending order."""
    rows = int(connection.execute(f"SELECT count(v{n}) FROM joined").fetchall()[0][0])
    first = max(-(-rows // FIRST_SHARE), min(FIRST_LEAST, rows))
    query = f'SELECT v{n} FROM joined WHERE v{n} IS NOT NULL ORDER BY shown_at, "row" LIMIT {first}'
    return np.sort(connection.execute(query).fetchnumpy()[f"v{n}"])


def _cut(task: Task, signal: Signal, numbers: Array, name: str) -> Signal:
    """The signal with its edges as numbers, and names for what lies between them."""
    source = signal.source
    assert isinstance(source, Labelled)
    assert source.cuts is not None
    parts = source.cuts.quantiles or 0
    words = NAMES.get(parts, f"{parts}-quantiles")
    if not len(numbers):
        raise DataError(f"column {source.column} of {name} holds no number to cut", 0, "name another column")
    edges = quantile_edges(numbers, parts)
    if not edges:
        wrong = f"column {source.column} of {name} cannot be cut: the numbers of its first rows are all the same"
        raise DataError(wrong, float(numbers[0]), f"give {task.path(signal)}.edges as numbers, such as [1, 5]")
    told = f"{words} of the first {len(numbers):,} rows"
    if missing := parts - 1 - len(edges):
        told += f"; {missing} of {parts - 1} edges would have been the same as another"
    if signal.values and len(signal.values) != len(edges) + 1:
        wrong = f"{task.path(signal)}.values must be {len(edges) + 1}: {told}"
        raise SettingError(wrong, list(signal.values), "leave values out, or give edges as numbers")
    return replace(
        signal,
        values=signal.values or edge_labels(edges),
        source=replace(source, cuts=NumberCuts(edges, parts, told)),
    )


def quantile_edges(numbers: Array, parts: int) -> tuple[float, ...]:
    """The edges that cut ascending numbers into so many equally full parts; fewer where numbers repeat.

    No part is empty: where a part would begin with the least number, it begins with the one after it.

    >>> quantile_edges(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), 4)
    (1.0, 2.0, 4.0)
    """
    above = numbers[numbers > numbers[0]]
    if not len(above):
        return ()
    chosen = numbers[np.arange(1, parts) * len(numbers) // parts]
    return tuple(float(edge) for edge in np.unique(np.maximum(chosen, above[0])))
