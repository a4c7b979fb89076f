"""Sums over time in a fixed number of buckets: they widen as time passes; at their widest, the oldest are dropped."""

from typing import NamedTuple

import numpy as np

from presage.spaces import Array

SIZE = 480
"""How many buckets there are."""

FINEST = 1_000_000
"""How wide they are at first, in microseconds."""


class BucketRows(NamedTuple):
    """Sums over one stretch of time after another."""

    start: Array  # [G]: microseconds
    end: Array  # [G]
    sums: Array  # [G, columns]

    @property
    def middle(self) -> Array:
        """The middle of each stretch [G]."""
        return (self.start + self.end) // 2


class Buckets:
    """Sums of several columns by time, for at least a `span` before the latest time and at most twice that.

    >>> buckets = Buckets(columns=1, span=3600 * 10**6)
    >>> buckets.add(np.array([10, 20, 10**9]), 0, np.ones(3))
    >>> buckets.stretches().sums.ravel()[[0, -1]].tolist(), buckets.width
    ([2.0, 1.0], 4000000)
    """

    def __init__(self, columns: int, span: int) -> None:
        self.width = FINEST
        self.sums = np.zeros((SIZE, columns))
        self.first = -1  # the number of the first bucket since 1970; -1: nothing has come
        self.last = -1  # of the latest
        self.slid = False  # whether any bucket was dropped
        self.gone = np.zeros(columns)  # the sums of those
        widest = FINEST
        while widest * SIZE < span:
            widest *= 2
        self._widest = widest

    def reach(self, at: int) -> None:
        """Make room for a time, and forget what is too old."""
        number = at // self.width
        if self.first < 0:
            self.first = self.last = number
        while number - self.first >= SIZE and self.width < self._widest:
            self._widen()
            number = at // self.width
        if number - self.first >= SIZE:
            self._slide(number - self.first - SIZE + 1)
        self.last = max(self.last, number)

    def add(self, at: Array, column: int | Array, amount: Array | float = 1.0) -> None:
        """Add amounts [N] at times [N] to a column, or to one each; those from before the first bucket are lost."""
        if not len(at):
            return
        if self.first < 0:
            self.reach(int(at.min()))
        self.reach(int(at.max()))
        row = at // self.width - self.first
        kept = row >= 0
        if not kept.all():
            row, column, amount = row[kept], _part(column, kept), _part(amount, kept)
        np.add.at(self.sums, (row, column), amount)

    def stretches(self) -> BucketRows:
        """The sums of each bucket up to the latest."""
        used = self.last - self.first + 1 if self.first >= 0 else 0
        start = (self.first + np.arange(used)) * self.width
        return BucketRows(start, start + self.width, self.sums[:used])

    def _widen(self) -> None:
        numbers = (self.first + np.arange(SIZE)) // 2
        wider = np.zeros_like(self.sums)
        np.add.at(wider, numbers - numbers[0], self.sums)
        self.sums, self.width = wider, 2 * self.width
        self.first, self.last = self.first // 2, self.last // 2

    def _slide(self, by: int) -> None:
        self.slid = True
        by_rows = min(by, SIZE)
        self.gone += self.sums[:by_rows].sum(axis=0)
        self.sums[: SIZE - by_rows] = self.sums[by_rows:]
        self.sums[SIZE - by_rows :] = 0.0
        self.first += by


def merge_neighbours(stretch: BucketRows, counted: Array, *, most: int, least: float) -> BucketRows:
    """Neighbours put together: at most so many stretches, each with at least so much counted [G]; the rest is left out.

    What is left over at the end, and is too little for a stretch of its own, goes to the last one.
    """
    if not len(counted) or counted.sum() < least:
        return BucketRows(stretch.start[:0], stretch.end[:0], stretch.sums[:0])
    used = np.flatnonzero(counted)
    lowest, highest = used[0], used[-1]
    together = -(-(highest - lowest + 1) // most)
    firsts, have = [int(lowest)], 0.0
    for row in range(lowest, highest + 1):
        if have >= least and row - firsts[-1] >= together:
            firsts.append(row)
            have = 0.0
        have += counted[row]
    if have < least and len(firsts) > 1:
        firsts.pop()
    ends = [*(each - 1 for each in firsts[1:]), int(highest)]
    sums = np.add.reduceat(stretch.sums[: highest + 1], firsts, axis=0)
    return BucketRows(stretch.start[firsts], stretch.end[ends], sums)


def _part(values: int | float | Array, kept: Array) -> int | float | Array:
    return values[kept] if isinstance(values, np.ndarray) else values
