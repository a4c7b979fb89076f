"""Whether g(y|z) is stable: the test, and when it runs.

It compares only predictions whose outcomes are all in: an outcome that is known sooner than another would look like a
change otherwise. It runs again when as many more predictions have matured as one group holds. Test j may use up a
share 1 / (j (j + 1)) of the chance of a false alarm; these add up to one however long the service runs.
"""

from enum import Enum
from typing import NamedTuple

import numpy as np

from presage.metrics.shift import shift
from presage.service.dashboard.buckets import BucketRows, merge_neighbours
from presage.spaces import Array

CHANCE = 0.01
"""The chance of ever raising an alarm while g does not change."""

LEAST_COST = 0.02
"""Nats per row below which a change is shown, but raises no alarm."""

GROUPS, LEAST_GROUPS = 24, 4
"""The most and the least groups of predictions that are compared."""

ROWS, ROWS_A_CELL = 50, 10
"""The least rows in a group, in all and for each pair of proxy and outcome."""


class DriftState(Enum):
    """The verdict on g."""

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
    """Tests g each time enough new predictions have matured; `drift` is the last result."""

    def __init__(self, proxies: int, outcomes: int) -> None:
        self.tests = 0
        self._shape = proxies, outcomes
        self._seen = 0.0  # rows that had matured at the last test
        nothing = np.zeros(0, np.int64)
        self.drift = drift_found(BucketRows(nothing, nothing, np.zeros((0, proxies * outcomes))), self._shape, 0)

    def update(self, pairs: BucketRows, gone: float) -> Drift:
        """The result for matured counts [G, Z * Y], after `gone` rows that the buckets have dropped."""
        rows = float(pairs.sums.sum())
        if gone + rows >= self._seen + least_rows(rows, self._shape):
            self.tests, self._seen = self.tests + 1, gone + rows
            self.drift = drift_found(pairs, self._shape, self.tests)
        return self.drift


def least_rows(rows: float, shape: tuple[int, int]) -> float:
    """How many rows a group must have, out of so many."""
    return max(ROWS, ROWS_A_CELL * shape[0] * shape[1], rows / GROUPS / 2)


def matured(stretch: BucketRows, predictions: Array, settled: Array, now: int, horizon: int) -> Array:
    """Which buckets [G] are over, and nothing is awaited of them or could still come in time."""
    over = stretch.end <= now
    found: Array = over & ((settled >= predictions) | (stretch.end + horizon < now))
    return found


def drift_found(pairs: BucketRows, shape: tuple[int, int], tests: int) -> Drift:
    """The verdict on matured counts [G, Z * Y], at this look."""
    counted = pairs.sums.sum(axis=1)
    rows = int(counted.sum())
    groups = merge_neighbours(pairs, counted, most=GROUPS, least=least_rows(rows, shape))
    if len(groups.sums) < LEAST_GROUPS:
        return Drift(DriftState.UNKNOWN, 1.0, 0.0, None, groups, rows)
    found = shift(groups.sums.reshape(-1, *shape))
    p = min(1.0, found.p * tests * (tests + 1))
    if p >= CHANCE:
        return Drift(DriftState.STABLE, p, found.nats, None, groups, rows)
    state = DriftState.ALARM if found.nats >= LEAST_COST else DriftState.SLIGHT
    return Drift(state, p, found.nats, int(groups.start[found.split]), groups, rows)
