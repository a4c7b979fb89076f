"""A statistic of whether outcomes go with a column (a period, say) once the stratum (an instance, say) is known.

The general Cochran-Mantel-Haenszel statistic: within each stratum, with its margins as they are, outcomes are dealt to
columns at random. The excess of each outcome in each column is added up over strata, so that many strata of a few rows
tell as much as few of many, and a change in which strata are frequent is no excess at all.
"""

from dataclasses import dataclass

import numpy as np

from presage.metrics.families import numbered
from presage.spaces import Array

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
