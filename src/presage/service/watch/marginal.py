"""The running marginal, as it was known to each model: one estimate for all instances, and a loss to compare with."""

import numpy as np

from presage.spaces import Array

MOST = 4096
"""How many of its earlier states are remembered."""

ALPHA = 1.0
"""The pseudo-count of every outcome."""


class Marginal:
    """Counts of outcomes, now and as they were at earlier positions of the log.

    A prediction was answered by a model that had learnt all outcomes before some position; the marginal of the same
    outcomes is what it is compared with. Every `every`-th state is remembered, so few that they fit.

    >>> marginal = Marginal(outcomes=2)
    >>> marginal.add(np.array([3, 5, 8]), np.array([1, 1, 0]))
    >>> np.exp(-marginal.losses(np.array([0, 4, 6, 9]), np.array([1, 1, 1, 1]))).round(3)
    array([0.5  , 0.667, 0.75 , 0.6  ])
    """

    def __init__(self, outcomes: int) -> None:
        self.rows = 0
        self.every = 1
        self._seqs = np.zeros(1, np.int64)  # of outcomes; the first stands for the beginning
        self._states = np.zeros((1, outcomes))  # the counts up to and with them
        self._counts = np.zeros(outcomes)

    def begin(self, counts: Array) -> None:
        """Take these counts for what was known before anything was seen."""
        self._counts, self._states = np.array(counts, np.float64), np.array(counts, np.float64)[None]

    def add(self, seq: Array, y: Array) -> None:
        """Outcomes became learnable at these positions [N], in order."""
        states = self._counts + np.eye(len(self._counts))[y].cumsum(axis=0)
        kept = (self.rows + 1 + np.arange(len(y))) % self.every == 0
        self._seqs = np.concatenate([self._seqs, seq[kept]])
        self._states = np.concatenate([self._states, states[kept]])
        self._counts = states[-1] if len(states) else self._counts
        self.rows += len(y)
        while len(self._seqs) > MOST:
            # What was kept are the outcomes numbered every, 2 every, ...; every other one of those stays.
            self._seqs, self._states, self.every = self._seqs[::2], self._states[::2], 2 * self.every

    def losses(self, model: Array, y: Array) -> Array:
        """What the marginal loses on outcomes [N], knowing what models learnt at positions [N] knew."""
        counts = self._states[np.maximum(np.searchsorted(self._seqs, model, side="left") - 1, 0)]
        likely = (counts[np.arange(len(y)), y] + ALPHA) / (counts.sum(axis=1) + ALPHA * counts.shape[1])
        return -np.log(likely)
