"""Scores over time, in blocks that hold equally many outcomes."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from presage.backtesting.replay import Said
from presage.charts.over_time import ALIKE
from presage.drivers.threads import over_cores
from presage.metrics.losses import log_loss
from presage.spaces import Array
from presage.task.spans import ROW, row_at

MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
"""In microseconds."""

SPANS = tuple(n * MINUTE for n in (1, 5, 15, 60, 180, 360, 720)) + tuple(n * DAY for n in (1, 2, 7, 14, 28, 91, 364))
"""How long a block can be."""

ROW_SPANS = tuple(n * 10**power * ROW for power in range(9) for n in (1, 2, 5))
"""How many rows a block can be, in a log without times."""

MOST = 80
"""How many blocks there may be."""

MONDAY = 4 * DAY
"""The first Monday of 1970: blocks begin at midnight, those of weeks on Mondays."""


class TimeBlocks(NamedTuple):
    """Consecutive rows that were shown within a span of time."""

    edges: Array  # int64 [B + 1]: microseconds since 1970 UTC at which each begins, and the last ends
    rows: Array  # int64 [B + 1]: the first row of each, and the row after the last
    span: int  # how long a block is, in microseconds; longer where little is known
    in_rows: bool = False  # whether the log has no times, so that a second stands for a row

    def told(self, at: int) -> str:
        """A moment as sentences have it: a date, with the time where blocks are short, or a row.

        >>> TimeBlocks(np.arange(2), np.arange(2), DAY).told(1_704_067_200_000_000)
        '2024-01-01'
        >>> TimeBlocks(np.arange(2), np.arange(2), DAY, in_rows=True).told(12_000 * ROW)
        'row 12,000'
        """
        if self.in_rows:
            return row_at(at)
        text = moment(at)
        return text[:10] if self.span >= DAY else f"{text[:10]} {text[11:16]} UTC"

    def each(self) -> Iterator[slice]:
        """The rows of each block."""
        for first, after in zip(self.rows[:-1], self.rows[1:], strict=True):
            yield slice(int(first), int(after))


def time_blocks(shown_at: Array, scored: Array, *, in_rows: bool = False) -> TimeBlocks:
    """Blocks of equal time over the rows [N] that are scored (bool); one with hardly any is joined to its neighbour.

    >>> days = np.arange(100) * DAY
    >>> time_blocks(days, np.ones(100, bool)).rows.tolist()[:4]
    [0, 2, 4, 6]
    """
    places = np.flatnonzero(scored)
    first, last = int(shown_at[places[0]]), int(shown_at[places[-1]])
    spans, origin = (ROW_SPANS, 0) if in_rows else (SPANS, MONDAY)
    span = next((s for s in spans if (last - first) // s < MOST - 1), -(-(last - first) // (MOST - 1)))
    begin = (first - origin) // span * span + origin
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
    return TimeBlocks(np.append(edges[kept], edges[-1] + span), np.append(rows[kept], end), span, in_rows)


def block_means(values: Array, blocks: TimeBlocks) -> Array:  # [B]
    """The mean of the values [N] of each block that are not NaN; NaN where all are."""
    return np.array([_mean(values[rows]) for rows in blocks.each()])


def _mean(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean(dtype=np.float64)) if len(known) else float("nan")


class OverTime(NamedTuple):
    """Mean losses in blocks of time."""

    blocks: TimeBlocks
    rows: Array  # int64 [B]: how many rows are scored
    new_rows: Array  # int64 [B]: how many of them are of new instances
    losses: dict[str, Array]  # by forecaster, [B]
    new: dict[str, Array]  # the same on rows of new instances
    first: int = 0  # the first row that was shown once some outcome was known

    @property
    def learnt(self) -> Array:
        """Which blocks hold only rows that were shown once some outcome was known: bool [B]."""
        return self.blocks.rows[:-1] >= self.first

    def from_first(self, values: Array) -> Array:
        """Values [B] as charts show them: NaN before any outcome is known, where nobody can know better."""
        return np.where(self.learnt, values, np.nan)

    def as_json(self) -> list[dict[str, Any]]:
        """One entry for each block: when it begins, how many rows it has, and the mean loss by forecaster."""
        return [
            {
                "start": self.blocks.told(int(start)) if self.blocks.in_rows else moment(start),
                "rows": int(self.rows[block]),
                "losses": {name: _short(values[block]) for name, values in self.losses.items()},
            }
            for block, start in enumerate(self.blocks.edges[:-1])
        ]


def moment(microseconds: int) -> str:
    """A moment in UTC as JSON has it.

    >>> moment(1_704_067_200_000_000)
    '2024-01-01T00:00:00Z'
    """
    return f"{np.datetime_as_string(np.datetime64(int(microseconds), 'us'), unit='s')}Z"


def losses_over_time(said: Said, y: Array, new: Array, blocks: TimeBlocks, first: int = 0) -> OverTime:
    """What each forecaster lost in each block of time, by what it said of outcomes y [N]; `new` [N] marks new rows.

    `first` is the first row that was shown once some outcome was known.
    """

    def means(name: str) -> tuple[Array, Array]:
        losses = log_loss(said[name], y)
        return block_means(losses, blocks), block_means(np.where(new, losses, np.nan), blocks)

    each = dict(zip(said, over_cores(means, said), strict=True))
    scored = y >= 0
    counts = [np.array([np.count_nonzero(part[rows]) for rows in blocks.each()]) for part in (scored, scored & new)]
    losses, on_new = ({name: parts[place] for name, parts in each.items()} for place in (0, 1))
    return OverTime(blocks, counts[0], counts[1], losses, on_new, first)


def ahead_since(gain: Array, first: int) -> int | None:
    """The row from which on a gain [N], summed from the row `first` on, stays above 0; None if it does not end there.

    `first` is the first row that was shown once some outcome was known: before it, what parts two sums is rounding.
    Rows that are not scored are NaN.

    >>> ahead_since(np.array([9.0, -1.0, 0.5, np.nan, 2.0, -0.5]), first=1)
    4
    """
    lead = np.nancumsum(gain[first:], dtype=np.float64)
    behind = np.flatnonzero(lead <= 0)
    since = int(behind[-1]) + 1 if len(behind) else 0
    return first + since if since < len(lead) else None


def best_in_blocks(losses: Mapping[str, Array]) -> list[tuple[str, ...]]:
    """The forecasters with the least loss in each block, best first: several where they are alike.

    Empty where nothing is known, or where all are alike.
    """
    names, values = list(losses), np.stack(list(losses.values()))
    best = []
    for block in values.T:
        order = np.argsort(block, kind="stable")
        close = [names[place] for place in order if block[place] - block[order[0]] <= ALIKE]
        best.append(() if np.isnan(block).any() or len(close) == len(names) > 1 else tuple(close))
    return best


def _short(number: float) -> float | None:
    return None if np.isnan(number) else round(float(number), 5)
