"""Blocks of time, in which the losses on a log are looked at one after the other."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from presage.spaces import Array

MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
"""In microseconds."""

SPANS = tuple(n * MINUTE for n in (1, 5, 15, 60, 180, 360, 720)) + tuple(n * DAY for n in (1, 2, 7, 14, 28, 91, 364))
"""How long a block can be."""

MOST = 80
"""How many blocks there may be."""

MONDAY = 4 * DAY
"""The first Monday of 1970: blocks begin at midnight, those of weeks on Mondays."""


class Blocks(NamedTuple):
    """Consecutive rows that were shown within a span of time."""

    edges: Array  # int64 [B + 1]: microseconds since 1970 UTC at which each begins, and the last ends
    rows: Array  # int64 [B + 1]: the first row of each, and the row after the last
    span: int  # how long a block is, in microseconds; longer where little is known

    def each(self) -> Iterator[slice]:
        """The rows of each block."""
        for first, after in zip(self.rows[:-1], self.rows[1:], strict=True):
            yield slice(int(first), int(after))


def time_blocks(shown_at: Array, scored: Array) -> Blocks:
    """Blocks of equal time over the rows [N] that are scored (bool); one with hardly any is joined to its neighbour.

    >>> days = np.arange(100) * DAY
    >>> time_blocks(days, np.ones(100, bool)).rows.tolist()[:4]
    [0, 2, 4, 6]
    """
    places = np.flatnonzero(scored)
    first, last = int(shown_at[places[0]]), int(shown_at[places[-1]])
    span = next((s for s in SPANS if (last - first) // s < MOST - 1), -(-(last - first) // (MOST - 1)))
    begin = (first - MONDAY) // span * span + MONDAY
    edges = np.arange(begin, last + 1, span)
    rows = np.searchsorted(shown_at, edges, side="left")
    known = np.searchsorted(places, rows, side="left")  # how many are scored before each edge
    least = max(2, len(places) // (20 * len(edges)))
    kept, before = [0], 0
    for block in range(1, len(edges)):
        if known[block] - before >= least and len(places) - known[block] >= least:
            kept.append(block)
            before = int(known[block])
    end = int(np.searchsorted(shown_at, last, side="right"))
    return Blocks(np.append(edges[kept], edges[-1] + span), np.append(rows[kept], end), span)


def block_means(values: Array, blocks: Blocks) -> Array:  # [B]
    """The mean of the values [N] of each block that are not NaN; NaN where all are."""
    return np.array([_mean(values[rows]) for rows in blocks.each()])


def _mean(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean(dtype=np.float64)) if len(known) else float("nan")
