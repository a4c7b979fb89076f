"""The candidates of a task, judged on its log."""

from collections.abc import Callable, Iterator

import numpy as np

from presage.errors import SettingError
from presage.logs.rows import LogRows, SignalRows
from presage.metrics.families import numbered
from presage.proxies.candidates import cut_points, cuts_of
from presage.proxies.card import Card
from presage.proxies.gain import DAY
from presage.proxies.judge import judge_proxy
from presage.proxies.signals import PredictionRows, ProxyCandidate
from presage.spaces import Array
from presage.task.task import Task


def judge_log(task: Task, rows: LogRows, *, cuts: bool, progress: Callable[[str], None]) -> list[Card]:
    """The report cards of a task's proxies, best first; with `cuts`, of all ways to merge their neighbouring symbols.

    The gain pools through the groups that the task backs off through; cohorts are the coarsest of them.
    """
    return judge_proxy(log_predictions(task, rows), _candidates(task, rows, cuts), progress=progress)


def candidate_count(task: Task, *, cuts: bool) -> int:
    """How many candidates `judge_log` judges."""
    return sum(1 + (len(cuts_of(len(proxy.values))) if cuts else 0) for proxy in task.proxies)


def log_predictions(task: Task, rows: LogRows) -> PredictionRows:
    """The rows of a log as predictions to judge proxies by, with the groups of the task."""
    if not task.symbols:
        found = ", ".join(feature.name for feature in task.instance)
        remedy = "declare what identifies an instance in [instance] with kind = category"
        raise SettingError("proxies are judged by instances, and the task has no symbols for them", found, remedy)
    groups = [_group(task, rows, names) for names in task.forecaster.back_off]
    return PredictionRows(
        rows.instances.symbols[:, 0],
        (rows.shown_at - rows.shown_at[0]) / DAY,
        rows.outcome.symbols,
        _delay(rows, rows.outcome),
        len(task.outcome.values),
        groups[0] if groups else None,
        tuple(groups[1:]),
    )


def _candidates(task: Task, rows: LogRows, cuts: bool) -> Iterator[ProxyCandidate]:
    """One after the other: those of a long log would not fit into memory together."""
    for proxy in rows.proxies:
        whole = ProxyCandidate(proxy.name, proxy.symbols, _delay(rows, proxy), len(task.proxy(proxy.name).values))
        yield whole
        if cuts:
            yield from cut_points(whole)


def _group(task: Task, rows: LogRows, names: tuple[str, ...]) -> Array:
    """Which group each row is in, by the features of these names."""
    group = np.zeros(len(rows.shown_at), np.int64)
    for name in names:
        column = rows.instances.symbols[:, task.symbols.index(name)]
        group = numbered(group * (int(column.max()) + 1) + column)[1]
    return group


def _delay(rows: LogRows, signal: SignalRows) -> Array:
    """Days until a signal was known; NaN where it never was."""
    return np.where(signal.symbols < 0, np.nan, (signal.known_at - rows.shown_at) / DAY)
