"""Counts of symbols by member and family, where most of the table is empty.

For p(y|x,z) each proxy z is a family, its members are the instances seen with it, and the symbols are outcomes.
"""

from typing import NamedTuple

import numpy as np

from presage.spaces import Array


class Families(NamedTuple):
    """The counts that are not 0, members ordered by instance and family."""

    counts: Array  # int64 [C]
    symbol: Array  # [C]: what is counted
    member: Array  # [C]: whose count it is
    family: Array  # [M]: the family of each member
    instance: Array  # [M]: the instance of each member, from 0 without gaps
    total: Array  # int64 [M]: how many rows a member has
    pooled: Array  # int64 [F, S]: the counts of each family
    place: Array  # [n]: the count that each row went into

    @property
    def shares(self) -> Array:
        """The distribution of symbols over all rows of each family [F, S]; 0 for an empty family."""
        return self.pooled / np.maximum(self.pooled.sum(axis=1, keepdims=True), 1)

    @property
    def weights(self) -> Array:
        """The share of rows of each family [F]."""
        return self.pooled.sum(axis=1) / self.pooled.sum()

    def by_family(self, of_member: Array) -> Array:
        """The sum [F] over the members of each family."""
        return np.bincount(self.family, of_member, minlength=len(self.pooled))

    def by_member(self, of_count: Array) -> Array:
        """The sum [M] over the counts of each member."""
        return np.bincount(self.member, of_count, minlength=len(self.family))


def families(instance: Array, family: Array, symbol: Array, shape: tuple[int, int]) -> Families:
    """The counts of `symbol` [n] by `family` [n] and `instance` [n]; `shape` is how many families and symbols.

    >>> families(np.array([7, 7, 3]), np.array([0, 0, 0]), np.array([1, 1, 0]), (1, 2)).counts
    array([1, 2])
    """
    kinds, symbols = shape
    symbol, family = np.asarray(symbol, np.int64), np.asarray(family, np.int64)
    cells, place, counts = numbered((np.asarray(instance, np.int64) * kinds + family) * symbols + symbol)
    pair = cells // symbols
    first = np.r_[True, np.diff(pair) > 0]
    member = first.cumsum() - 1
    pair = pair[first]
    pooled = np.bincount(family * symbols + symbol, minlength=kinds * symbols).reshape(kinds, symbols)
    return Families(
        counts,
        cells % symbols,
        member,
        pair % kinds,
        np.r_[False, np.diff(pair // kinds) > 0].cumsum(),
        np.bincount(member, counts).astype(np.int64),
        pooled,
        place,
    )


def numbered(codes: Array) -> tuple[Array, Array, Array]:
    """The distinct codes in order, the place of each code among them, and how often each occurs: `np.unique`.

    Codes that are not much larger than their number are counted rather than sorted: ten times as fast on a long log.

    >>> numbered(np.array([5, 2, 5]))
    (array([2, 5]), array([1, 0, 1]), array([1, 2]))
    """
    if len(codes) and codes.max() < 4 * len(codes) + 1000:
        counts = np.bincount(codes)
        distinct = np.flatnonzero(counts)
        place = np.empty(len(counts), np.int64)
        place[distinct] = np.arange(len(distinct))
        return distinct, place[codes], counts[distinct]
    return np.unique(codes, return_inverse=True, return_counts=True)
