"""The early loss: the expected loss of a prediction once its proxy is known and before its outcome is."""

from typing import NamedTuple

import numpy as np

from presage.spaces import Array

BLOCK = 64
"""Rows that mature between two updates of the estimate; the first needs as many."""

STRENGTH = 10.0
"""How many rows the coarser estimate is worth to the finer one."""

ROWS = 80 * BLOCK
"""About how many of the last rows are counted: after twice as many all counts are halved."""

SURENESS = 5
"""Bins of how sure a prediction was."""


class ForecastRows(NamedTuple):
    """Predictions in order [N]: their positions, proxies and forecasts."""

    seq: Array
    z: Array
    log_probabilities: Array  # [N, Y]


class EarlyEstimate:
    """How often each outcome came after a proxy and a like prediction, in rows that have matured.

    With b the bin of the forecast (its most likely outcome, and how likely),

        q(y|z,b) = (n_zby + s q(y|z)) / (n_zb + s),    q(y|z) = (n_zy + s q(y)) / (n_z + s)

    and the expected loss of a prediction p is -sum_y q(y|z,b) ln p(y). Where the proxy tells all, q is g; where the
    instance tells more, its forecast counts, too.

    >>> early = EarlyEstimate(proxies=2, outcomes=2)
    >>> many = ForecastRows(np.arange(1000), np.ones(1000, int), np.log([[0.2, 0.8]] * 1000))
    >>> one = ForecastRows(np.array([2000]), np.array([1]), np.log([[0.2, 0.8]]))
    >>> early.fold(one, many, np.arange(1000) % 5 // 4).round(2)  # 0.2 of them: 0.8 * 1.61 + 0.2 * 0.22
    array([1.33])
    """

    def __init__(self, proxies: int, outcomes: int) -> None:
        self.rows = 0  # matured
        self._counts = np.zeros((proxies, outcomes * SURENESS, outcomes))
        self._q: Array | None = None  # q [Z, B, Y], of the blocks that are full

    def fold(self, rows: ForecastRows, matured: ForecastRows, y: Array) -> Array:
        """The losses to be expected of rows whose proxies came; NaN before anything is known.

        Rows with the outcomes `y` mature in between, in the order of positions.
        """
        expected = np.full(len(rows.seq), np.nan)
        block = (self.rows + np.searchsorted(matured.seq, rows.seq)) // BLOCK
        place, cells = _bins(rows.log_probabilities), (matured.z, _bins(matured.log_probabilities), y)
        done = 0
        while True:
            mine = block == self.rows // BLOCK
            if self._q is not None and mine.any():
                expected[mine] = -(self._q[rows.z[mine], place[mine]] * rows.log_probabilities[mine]).sum(axis=1)
            if done == len(y):
                return expected
            upto = min(len(y), done + BLOCK - self.rows % BLOCK)
            np.add.at(self._counts, tuple(part[done:upto] for part in cells), 1.0)
            self.rows, done = self.rows + upto - done, upto
            if self.rows % BLOCK == 0:
                self._end_block()

    def _end_block(self) -> None:
        if self.rows % ROWS == 0 and self.rows > ROWS:
            self._counts /= 2
        counts = self._counts
        of_all = counts.sum(axis=(0, 1)) + 1
        coarse = _shrunk(counts.sum(axis=1), of_all / of_all.sum())  # [Z, Y]
        self._q = _shrunk(counts, coarse[:, None])


def _shrunk(counts: Array, towards: Array) -> Array:
    found: Array = (counts + STRENGTH * towards) / (counts.sum(axis=-1, keepdims=True) + STRENGTH)
    return found


def _bins(log_probabilities: Array) -> Array:
    """Which outcome was the likeliest, and how likely [N]."""
    outcomes = log_probabilities.shape[1]
    first = log_probabilities.argmax(axis=1) if len(log_probabilities) else np.zeros(0, np.int64)
    likely = np.exp(log_probabilities.max(axis=1)) if len(log_probabilities) else np.zeros(0)
    sure = (likely * outcomes - 1) / max(outcomes - 1, 1)
    found: Array = first * SURENESS + np.clip((sure * SURENESS).astype(np.int64), 0, SURENESS - 1)
    return found
