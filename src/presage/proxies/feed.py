"""Feedback in the order it became known, so that it can be counted up to the moment of any prediction."""

from typing import NamedTuple

import numpy as np

from presage.spaces import EMPTY, Array

DAY = 86_400_000_000
"""Microseconds: sums of days in floats are rounded to them, so that one instant is one number."""


class Feed(NamedTuple):
    """What became known, in that order."""

    row: Array  # int64 [m]: of the log
    at: Array  # int64 [m]: the instant it became known, never falling
    symbol: Array  # int64 [m]
    symbols: int

    def counts(self, key: Array, rows: Array, until: Array, since: Array | None = None) -> Array:
        """How often each symbol [R, S] became known of rows with the same key as each of `rows` [R].

        Counted is what became known before the instants `until` [R] and, where they are given, not before `since` [R].
        Keys [n] are whole numbers from 0.
        """
        size = len(self.row) + 1
        keys = key[self.row].astype(np.int64)
        few = keys.max(initial=0) < 2**16  # then NumPy sorts ten times as fast
        order = np.argsort(keys.astype(np.uint16) if few else keys, kind="stable")  # by key, then by when it was known
        place = keys[order] * size + order
        own = key[rows].astype(np.int64) * size
        last = np.searchsorted(place, own + np.searchsorted(self.at, until))
        first = np.searchsorted(place, own + (0 if since is None else np.searchsorted(self.at, since)))
        first = np.minimum(first, last)
        symbol = self.symbol[order]
        counts = np.empty((len(rows), self.symbols))
        seen = np.zeros(size, np.int32)
        for each in range(self.symbols):
            np.cumsum(symbol == each, out=seen[1:])
            counts[:, each] = seen[last] - seen[first]
        return counts


def feed(symbol: Array, at: Array, symbols: int) -> Feed:
    """The symbols [n] that are known, each at its moment [n] in days.

    >>> known = feed(np.array([0, 1, -1, 1]), np.array([5.0, 1.0, 2.0, 3.0]), 2)
    >>> known.counts(np.zeros(4, int), np.array([0, 3]), until=instants(np.array([3.0, 9.0]))).tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    there = np.flatnonzero((symbol != EMPTY) & ~np.isnan(at))
    known_at = instants(at[there])
    order = np.argsort(known_at, kind="stable")
    row = there[order]
    return Feed(row, known_at[order], symbol[row].astype(np.int64), symbols)


def instants(days: Array) -> Array:  # int64
    """Moments in days as whole microseconds."""
    rounded: Array = np.rint(days * DAY).astype(np.int64)
    return rounded
