"""Losses over time: the mean of each forecaster in each block of time, on all rows and on those of new instances."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from presage.backtest.blocks import Blocks, block_means
from presage.backtest.replay import Said
from presage.drivers.threads import over_cores
from presage.metrics.regret import log_loss
from presage.spaces import Array


class OverTime(NamedTuple):
    """Mean losses in blocks of time."""

    blocks: Blocks
    rows: Array  # int64 [B]: how many rows are scored
    new_rows: Array  # int64 [B]: how many of them are of new instances
    losses: dict[str, Array]  # by forecaster, [B]
    new: dict[str, Array]  # the same on rows of new instances

    def as_json(self) -> list[dict[str, Any]]:
        """One entry for each block: when it begins, how many rows it has, and the mean loss by forecaster."""
        return [
            {
                "start": moment(start),
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


def losses_over_time(said: Said, y: Array, new: Array, blocks: Blocks) -> OverTime:
    """What each forecaster lost in each block of time, by what it said of outcomes y [N]; `new` [N] marks new rows."""

    def means(name: str) -> tuple[Array, Array]:
        losses = log_loss(said[name], y)
        return block_means(losses, blocks), block_means(np.where(new, losses, np.nan), blocks)

    each = dict(zip(said, over_cores(means, said), strict=True))
    scored = y >= 0
    counts = [np.array([np.count_nonzero(part[rows]) for rows in blocks.each()]) for part in (scored, scored & new)]
    losses, on_new = ({name: parts[place] for name, parts in each.items()} for place in (0, 1))
    return OverTime(blocks, counts[0], counts[1], losses, on_new)


def ahead_since(over_time: OverTime, ours: str, other: str) -> int | None:
    """The block from whose beginning on the sum of losses of `ours`, from the start of the log, is below the other's.

    None if it is not below at the end.
    """
    lead = np.nancumsum((over_time.losses[other] - over_time.losses[ours]) * over_time.rows)
    behind = np.flatnonzero(lead <= 0)
    if not len(behind):
        return 0
    return None if behind[-1] == len(lead) - 1 else int(behind[-1]) + 1


def best_in_blocks(losses: Mapping[str, Array]) -> list[str | None]:
    """The forecaster with the least loss in each block; None where nothing is known."""
    names, values = list(losses), np.stack(list(losses.values()))
    known = ~np.isnan(values).any(axis=0)
    least = np.where(known, np.where(known, values, 0).argmin(axis=0), -1)
    return [names[place] if place >= 0 else None for place in least]


def _short(number: float) -> float | None:
    return None if np.isnan(number) else round(float(number), 5)
