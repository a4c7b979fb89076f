"""Whether g(y|z) is the same over time and for all groups: a test with a p-value."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.metrics.families import numbered
from presage.metrics.intervals import Estimate
from presage.metrics.special import chi_square_tail, f_tail
from presage.spaces import Array


def crowding(crowd: Array, cell: Array, y: Array, outcomes: int) -> tuple[float, float]:
    """How much more the outcomes [n] of a crowd vary within a cell than chance would have them, and its freedom.

    A chi-square of cells is too large by this factor, at least 1 (Rao and Scott's first correction). The freedom is
    Satterthwaite's: few when a few crowds make up most of it.

    >>> draw = np.random.default_rng(0)
    >>> cell, alone = np.repeat([0, 1], 500), np.arange(1000)
    >>> round(crowding(alone // 10, cell, draw.integers(0, 2, 1000), 2)[0], 1)
    1.0
    >>> round(crowding(alone // 10, cell, draw.integers(0, 2, 100).repeat(10), 2)[0])
    10
    """
    cells = numbered(np.asarray(cell, np.int64))[1]
    number = int(cells.max()) + 1
    found = np.bincount(cells * outcomes + y, minlength=number * outcomes).reshape(number, outcomes)
    size = found.sum(axis=1)
    share = found / size[:, None]  # [cells, Y]
    code, place, rows = numbered(np.asarray(crowd, np.int64) * number + cells)
    counts = np.bincount(place * outcomes + y, minlength=len(code) * outcomes).reshape(-1, outcomes)
    of = code % number
    expected = rows[:, None] * share[of]
    squares = ((counts - expected) ** 2 / np.where(share[of] > 0, share[of], 1)).sum(axis=1)
    free = (np.count_nonzero(found, axis=1) - 1)[of]
    chance = (rows * (1 - rows / size[of]) * free).sum()
    if chance <= 0 or squares.sum() <= 0:
        return 1.0, 0.0
    return max(1.0, float(squares.sum() / chance)), float(squares.sum() ** 2 / (squares**2).sum())


CHUNK = 20_000
"""How many strata are worked on at a time."""


@dataclass(frozen=True)
class Statistic:
    """A chi-square statistic; without a connection it is about as large as its degrees of freedom."""

    value: float = 0.0
    freedom: int = 0
    rows: int = 0  # in strata that tell something: with rows in two columns and two outcomes

    def __add__(self, other: "Statistic") -> "Statistic":
        return Statistic(self.value + other.value, self.freedom + other.freedom, self.rows + other.rows)


def connection(stratum: Array, column: Array, y: Array, shape: tuple[int, int]) -> Statistic:
    """The statistic of `column` [n] and `y` [n] given `stratum` [n]; `shape` is how many columns and outcomes.

    >>> column, y = np.repeat([0, 1], 50), np.repeat([0, 1], 50)
    >>> [round(connection(held, column, y, (2, 2)).value) for held in (np.zeros(100, int), column)]
    [99, 0]
    """
    columns, outcomes = shape
    strata, place, _ = numbered(stratum)
    by_column = np.bincount(place * columns + column, minlength=len(strata) * columns).reshape(-1, columns)
    by_outcome = np.bincount(place * outcomes + y, minlength=len(strata) * outcomes).reshape(-1, outcomes)
    tells = (np.count_nonzero(by_column, axis=1) > 1) & (np.count_nonzero(by_outcome, axis=1) > 1)
    if not tells.any():
        return Statistic()
    inside = tells[place]
    found = np.bincount(column[inside] * outcomes + y[inside], minlength=columns * outcomes).reshape(columns, outcomes)
    by_column, by_outcome = by_column[tells].astype(np.float64), by_outcome[tells].astype(np.float64)
    size = by_column.sum(axis=1)
    expected = (by_column / size[:, None]).T @ by_outcome
    excess = (found - expected)[:-1, :-1].ravel()  # the last column and outcome follow from the others
    eigen, vectors = np.linalg.eigh(_covariance(by_column[:, :-1], by_outcome[:, :-1], size))
    free = eigen > 1e-9 * max(eigen[-1], 1e-9)
    value = ((vectors[:, free].T @ excess) ** 2 / eigen[free]).sum()
    return Statistic(float(value), int(free.sum()), int(inside.sum()))


def _covariance(by_column: Array, by_outcome: Array, size: Array) -> Array:
    """Of the excess, [(P - 1)(Y - 1)] squared."""
    total: Array = 0.0
    for first in range(0, len(size), CHUNK):
        part = slice(first, first + CHUNK)
        n = size[part]
        columns, outcomes = (_spread(margin[part], n) for margin in (by_column, by_outcome))
        total = total + np.einsum("sab,scd->acbd", columns / (n**2 * (n - 1))[:, None, None], outcomes, optimize=True)
    wide = by_column.shape[1] * by_outcome.shape[1]
    return total.reshape(wide, wide)


def _spread(margin: Array, size: Array) -> Array:
    """The matrix n diag(m) - m m' of each stratum."""
    each = size[:, None, None] * margin[:, :, None] * np.eye(margin.shape[1])
    return each - margin[:, :, None] * margin[:, None, :]


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
        return chi_square_tail(between.freedom, between.value / excess)
    return f_tail(between.freedom, freedom, between.value / between.freedom / excess)


def _nats(between: Statistic, excess: float) -> Estimate:
    """What a statistic comes to in nats a row: half of what it has above its freedom, each row alike."""
    if not between.freedom:
        return Estimate(0.0, 0.0, 0.0)
    above = between.value - excess * between.freedom
    half = 1.96 * excess * np.sqrt(2 * between.freedom + 4 * max(above / excess, 0.0))
    scale = 2 * between.rows
    return Estimate(*(float(max(part, 0.0)) / scale for part in (above, above - half, above + half)))
