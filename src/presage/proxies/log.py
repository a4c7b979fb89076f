"""The candidates of a task, judged on its log."""

from collections.abc import Callable

import numpy as np

from presage.logs.rows import LogRows, Revealed
from presage.proxies.card import Card
from presage.proxies.judge import judge
from presage.proxies.signals import Candidate, Predictions
from presage.proxies.variants import cut_points
from presage.spaces import Array
from presage.task.task import Task

DAY = 86_400_000_000
"""Microseconds."""


def judge_log(task: Task, rows: LogRows, *, cuts: bool, progress: Callable[[str], None]) -> list[Card]:
    """The report cards of a task's proxies, best first; with `cuts`, of all ways to merge their neighbouring symbols.

    Cohorts are the coarsest group that the task backs off through, if it declares any.
    """
    names = list(task.symbols)
    group = task.forecaster.back_off[0][0] if task.forecaster.back_off else None
    predictions = Predictions(
        rows.instances.symbols[:, 0],
        (rows.shown_at - rows.shown_at[0]) / DAY,
        rows.outcome.symbols,
        _delay(rows, rows.outcome),
        len(task.outcome.values),
        None if group is None else rows.instances.symbols[:, names.index(group)],
    )
    found = []
    for proxy in rows.proxies:
        whole = Candidate(proxy.name, proxy.symbols, _delay(rows, proxy), len(task.proxy(proxy.name).values))
        found += [whole, *(cut_points(whole) if cuts else [])]
    return judge(predictions, found, progress=progress)


def _delay(rows: LogRows, signal: Revealed) -> Array:
    """Days until a signal was known; NaN where it never was."""
    return np.where(signal.symbols < 0, np.nan, (signal.known_at - rows.shown_at) / DAY)
