"""Delay curves: how much of the proxies and outcomes of a log is known a while after the prediction."""

from typing import NamedTuple

import numpy as np

from presage.backtesting.over_time import DAY, MINUTE
from presage.logs.rows import LogRows, SignalRows
from presage.logs.signals import NEVER_AT
from presage.spaces import Array
from presage.task.spans import ROW

STEPS = 240
"""How many points a curve has."""

LEAST = 0.01
"""A curve ends where fewer than this share of the rows were shown long enough before the log ends."""

OUTCOME = "outcome"
UNITS = {"days": DAY, "hours": 60 * MINUTE, "minutes": MINUTE}


class DelayCurve(NamedTuple):
    """The share of each signal that is known a time after the prediction, of rows shown that long before the end."""

    unit: str
    after: Array  # [G]: in that unit
    shares: dict[str, Array]  # by signal, [G]


def known_after(rows: LogRows, *, in_rows: bool = False) -> DelayCurve:
    """The delay curves of the proxies of a log and of its outcome, by when they became known."""
    signals = {proxy_label(proxy.name): proxy for proxy in rows.proxies} | {OUTCOME: rows.outcome}
    end, longest = int(rows.shown_at[-1]), 0
    for signal in signals.values():
        there = signal.known_at != NEVER_AT
        end = max(end, int(signal.known_at.max(where=there, initial=end)))
        longest = max(longest, int(_delay(rows, signal).max(where=there, initial=0)))
    oldest = int(rows.shown_at[int(len(rows.shown_at) * LEAST)])
    after = np.linspace(0, max(min(round(longest * 1.05), end - oldest), 1), STEPS).astype(np.int64)
    unit = "rows" if in_rows else next((name for name, size in UNITS.items() if longest >= 2 * size), "minutes")
    age = end - rows.shown_at
    shares = {name: known_share(age, _delay(rows, signal), after) for name, signal in signals.items()}
    return DelayCurve(unit, after / (ROW if in_rows else UNITS[unit]), shares)


def proxy_label(name: str) -> str:
    """What charts call a proxy: a single one has no other name than that."""
    return name if name == "proxy" else f"proxy {name}"


def _delay(rows: LogRows, signal: SignalRows) -> Array:
    return np.where(signal.known_at == NEVER_AT, NEVER_AT, signal.known_at - rows.shown_at)


def known_share(age: Array, delay: Array, after: Array) -> Array:  # [G]
    """The share of rows with a delay [N] of at most `after` [G], of those whose age [N] is at least that.

    >>> known_share(np.array([9, 9, 2]), np.array([1, 5, 5]), np.array([0, 2, 5]))
    array([0.        , 0.33333333, 1.        ])
    """
    size = len(after)
    known = np.searchsorted(after, delay, side="left")  # the first time by which it is known; `size` if by none
    old = np.searchsorted(after, age, side="right")  # how many of the times it is old enough for
    known *= size + 1
    known += old
    counts = np.bincount(known, minlength=(size + 1) ** 2).reshape(size + 1, size + 1)
    at_least = counts[:, ::-1].cumsum(axis=1)[:, ::-1]  # [known, old >= .]
    by = at_least.cumsum(axis=0)  # [known <= ., old >= .]
    times = np.arange(size)
    with np.errstate(invalid="ignore"):
        return np.asarray(by[times, times + 1] / by[size, times + 1])
