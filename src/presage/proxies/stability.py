"""Whether a proxy always means the same: tests that g(y|z) is the same over time and over cohorts.

Time is cut into periods, and outcomes are compared between them, given the proxy, in two ways:

- across: all rows of a period together. Other instances are asked about in other periods, and instances differ; so they
  are taken as drawn at random, and how much they differ within a period is divided out (Rao and Scott).
- within: each instance with itself, so that a change in who is asked about is no drift. It sees what changes within the
  life of an instance, and nothing else.

Outcomes of one time are alike for other reasons too; by how much is measured between shorter blocks of the same period
and divided out as well:

    F = (statistic between periods / freedom) / max(1, statistic within periods / freedom)

Cohorts are compared as periods are across instances.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, fdtrc

from presage.metrics.families import numbered
from presage.metrics.intervals import Estimate
from presage.proxies.crowding import crowding
from presage.proxies.independence import Statistic, connection
from presage.spaces import Array

PERIODS, BLOCKS = 6, 5
"""The most periods, and the blocks in each."""

ROWS = 200
"""The least rows in a period, where there are enough for two."""


class Stability(NamedTuple):
    """Whether g(y|z) is the same over time and over cohorts."""

    over_time: float  # p-value
    over_cohorts: float  # p-value; NaN without cohorts
    drift: Estimate  # nats a row that knowing the period adds to knowing the proxy
    difference: Estimate  # nats a row that knowing the cohort adds; NaN without cohorts

    @property
    def p(self) -> float:
        """One p-value for both (Bonferroni)."""
        return self.over_time if np.isnan(self.over_cohorts) else _either(self.over_time, self.over_cohorts)


def stability(x: Array, z: Array, y: Array, shape: tuple[int, int], cohort: Array | None = None) -> Stability:
    """Tests of whether outcomes, given the proxy, go with time or with the cohort.

    Args:
        x: instances [n]; rows are in order of time.
        z: proxies [n].
        y: outcomes [n].
        shape: how many symbols z and y have.
        cohort: of each row [n], if there are any.
    """
    periods = int(np.clip(len(y) // ROWS, 2, PERIODS))
    block = np.arange(len(y)) * (periods * BLOCKS) // len(y)
    within_p, within = _within(x, z, y, shape, block)
    across_p, across = _across(z, y, shape, block // BLOCKS, (x, block))
    drift = max(within, across)  # either misses some of it
    if cohort is None:
        return Stability(_either(within_p, across_p), np.nan, drift, Estimate(np.nan, np.nan, np.nan))
    over_cohorts, difference = _across(z, y, shape, numbered(cohort)[1], (x,))
    return Stability(_either(within_p, across_p), over_cohorts, drift, difference)


def _within(x: Array, z: Array, y: Array, shape: tuple[int, int], block: Array) -> tuple[float, Estimate]:
    period = block // BLOCKS
    periods = int(period[-1]) + 1
    between, inside = Statistic(), Statistic()
    for symbol in range(shape[0]):
        rows = np.flatnonzero(z == symbol)
        between += connection(x[rows], period[rows], y[rows], (periods, shape[1]))
        for each in range(periods):
            some = rows[period[rows] == each]
            inside += connection(x[some], block[some] % BLOCKS, y[some], (BLOCKS, shape[1]))
    excess = max(1.0, inside.value / inside.freedom) if inside.freedom else 1.0
    return _p(between, excess, inside.freedom), _nats(between, excess)


def _across(
    z: Array, y: Array, shape: tuple[int, int], group: Array, crowds: tuple[Array, ...]
) -> tuple[float, Estimate]:
    """Groups compared given the proxy; rows of one crowd (an instance, a block of time) go together."""
    between = Statistic()
    for symbol in range(shape[0]):
        rows = np.flatnonzero(z == symbol)
        between += connection(np.zeros_like(rows), group[rows], y[rows], (int(group.max()) + 1, shape[1]))
    excess, freedom = max(crowding(crowd, group * shape[0] + z, y, shape[1]) for crowd in crowds)
    return _p(between, excess, freedom), _nats(between, excess)


def _either(one: float, other: float) -> float:
    return min(1.0, 2 * min(one, other))


def _p(between: Statistic, excess: float, freedom: float) -> float:
    """The p-value; 1 where nothing can be compared."""
    if not between.freedom:
        return 1.0
    if not freedom:
        return float(chdtrc(between.freedom, between.value / excess))
    return float(fdtrc(between.freedom, freedom, between.value / between.freedom / excess))


def _nats(between: Statistic, excess: float) -> Estimate:
    """What a statistic comes to in nats a row: half of what it has above its freedom, each row alike."""
    if not between.freedom:
        return Estimate(0.0, 0.0, 0.0)
    above = between.value - excess * between.freedom
    half = 1.96 * excess * np.sqrt(2 * between.freedom + 4 * max(above / excess, 0.0))
    scale = 2 * between.rows
    return Estimate(*(float(max(part, 0.0)) / scale for part in (above, above - half, above + half)))
