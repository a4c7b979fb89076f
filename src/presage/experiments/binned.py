"""Losses in bins of rounds: what is kept of a trial."""

import numpy as np

from presage.spaces import Array


def binned(losses: Array, size: int) -> Array:  # [R, T // size]
    """The mean loss of every `size` rounds; a last short bin is left out.

    >>> binned(np.array([[1.0, 3.0, 5.0, 7.0, 9.0]]), 2).tolist()
    [[2.0, 6.0]]
    """
    bins = losses.shape[1] // size
    return losses[:, : bins * size].reshape(len(losses), bins, size).mean(axis=-1).astype(np.float32)
