"""Numbers as the dashboard is sent them: few digits, milliseconds, and the last of what was counted."""

import numpy as np

from presage.service.watch.frame import Numbers
from presage.spaces import Array

POINTS = 40
"""The most points that a line has."""

ROWS = 30
"""The least rows that a point of a loss stands for."""

RECENT = 2000
"""What is called recent: the last buckets that hold so many outcomes."""


def recent(sums: Array, counted: Array) -> Array:
    """The last rows of sums that hold enough of what is counted; all of them if there is not enough."""
    held = counted[::-1].cumsum()
    rows = int(np.searchsorted(held, RECENT, side="left")) + 1
    return sums[max(0, len(sums) - rows) :]


def numbers(values: Array) -> Numbers:
    """Numbers with four digits; nothing for NaN.

    >>> numbers(np.array([0.123456, np.nan]))
    [0.1235, None]
    """
    return [None if np.isnan(value) else float(f"{value:.4g}") for value in values]


def milliseconds(at: Array) -> list[int]:
    """Times for a browser."""
    return [int(each) // 1000 for each in at]
