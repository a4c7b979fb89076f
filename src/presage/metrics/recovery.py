"""How long a forecaster takes to recover from a shift."""

import numpy as np

from presage.errors import SettingError
from presage.spaces import Array


def smoothed(losses: Array, rounds: int) -> Array:
    """The mean over the `rounds` neighbours around each round, fewer at the ends."""
    total = np.concatenate([[0.0], np.cumsum(losses)])
    centre = np.arange(len(losses))
    first, last = np.maximum(centre - rounds // 2, 0), np.minimum(centre + (rounds + 1) // 2, len(losses))
    return (total[last] - total[first]) / (last - first)


def rounds_to_recover(losses: Array, shift: int, start: int, end: int, *, share: float = 0.7, smooth: int = 200) -> int:
    """How many rounds after `shift` a share of the way back is made.

    The way leads from the mean loss of the first `start` rounds after the shift to that of the last `end` rounds;
    `losses` [T], averaged over trials, are smoothed over `smooth` rounds.

    >>> losses = np.r_[np.zeros(50), np.ones(20), np.zeros(50)]
    >>> rounds_to_recover(losses, shift=50, start=10, end=20, smooth=1)
    20
    """
    after = np.asarray(losses[shift:], np.float64)
    if not 0 < start + end <= len(after):
        found = {"rounds after the shift": len(after), "start": start, "end": end}
        raise SettingError("there are too few rounds after the shift", found, "play on for longer")
    high, low = after[:start].mean(), after[-end:].mean()
    target = high - share * (high - low)
    there = np.flatnonzero(smoothed(after, smooth) <= target)
    return int(there[0]) if len(there) else len(after)
