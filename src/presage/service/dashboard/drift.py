"""Whether g(y|z) is stable: the test, and when it is made.

Only predictions are compared whose outcomes are all in, for an outcome that is known sooner than another would look
like a change otherwise. It is tested again when so many more have matured as one group holds; look j may use up a share
1 / (j (j + 1)) of the chance of a false alarm, and these add up to one however long one looks.
"""

from enum import Enum
from typing import NamedTuple

import numpy as np

from presage.metrics.shift import shift
from presage.service.dashboard.buckets import BucketRows, gather
from presage.spaces import Array

CHANCE = 0.01
"""That there is ever an alarm where g does not change."""

LEAST_COST = 0.02
"""Nats a row below which a change is told, but raises no alarm."""

GROUPS, LEAST_GROUPS = 24, 4
"""The most and the least groups of predictions that are compared."""

ROWS, ROWS_A_CELL = 50, 10
"""The least rows in a group, in all and for each pair of proxy and outcome."""


class DriftState(Enum):
    """What is to be said of g."""

    UNKNOWN = "unknown"  # too little has matured
    STABLE = "stable"
    SLIGHT = "slight"  # it changed, but not so that it matters
    ALARM = "alarm"


class Drift(NamedTuple):
    """Whether g is stable, and what it was over time."""

    state: DriftState
    p: float  # the chance that there would ever have been so strong a sign if g never changed
    nats: float  # a row: what the older g costs now
    since: int | None  # when it changed, if it did; microseconds
    groups: BucketRows  # the counts [G, Z * Y] that were compared
    rows: int  # matured in all


class DriftMonitor:
    """Who looks at g now and then; `drift` is what was found last."""

    def __init__(self, proxies: int, outcomes: int) -> None:
        self.looks = 0
        self._shape = proxies, outcomes
        self._seen = 0.0  # rows that had matured at the last look
        nothing = np.zeros(0, np.int64)
        self.drift = judge_drift(BucketRows(nothing, nothing, np.zeros((0, proxies * outcomes))), self._shape, 0)

    def look(self, pairs: BucketRows, gone: float) -> Drift:
        """What is to be said of matured counts [G, Z * Y], after `gone` rows that are no longer remembered."""
        rows = float(pairs.sums.sum())
        if gone + rows >= self._seen + least_rows(rows, self._shape):
            self.looks, self._seen = self.looks + 1, gone + rows
            self.drift = judge_drift(pairs, self._shape, self.looks)
        return self.drift


def least_rows(rows: float, shape: tuple[int, int]) -> float:
    """How many rows a group must have, out of so many."""
    return max(ROWS, ROWS_A_CELL * shape[0] * shape[1], rows / GROUPS / 2)


def matured(stretch: BucketRows, predictions: Array, settled: Array, now: int, horizon: int) -> Array:
    """Which buckets [G] are over, and nothing is awaited of them or could still come in time."""
    over = stretch.end <= now
    found: Array = over & ((settled >= predictions) | (stretch.end + horizon < now))
    return found


def judge_drift(pairs: BucketRows, shape: tuple[int, int], looks: int) -> Drift:
    """The verdict on matured counts [G, Z * Y], at this look."""
    counted = pairs.sums.sum(axis=1)
    rows = int(counted.sum())
    groups = gather(pairs, counted, most=GROUPS, least=least_rows(rows, shape))
    if len(groups.sums) < LEAST_GROUPS:
        return Drift(DriftState.UNKNOWN, 1.0, 0.0, None, groups, rows)
    found = shift(groups.sums.reshape(-1, *shape))
    p = min(1.0, found.p * looks * (looks + 1))
    if p >= CHANCE:
        return Drift(DriftState.STABLE, p, found.nats, None, groups, rows)
    state = DriftState.ALARM if found.nats >= LEAST_COST else DriftState.SLIGHT
    return Drift(state, p, found.nats, int(groups.start[found.split]), groups, rows)
