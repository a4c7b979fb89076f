"""How much rows go together: sums over a crowd of rows vary more than sums of independent rows would."""

import numpy as np

from presage.metrics.families import numbered
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
