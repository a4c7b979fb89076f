"""The log loss of predictions."""

import numpy as np

from presage.arrays import namespace
from presage.spaces import EMPTY, Array


def log_loss(log_probabilities: Array, y: Array) -> Array:
    """-ln p(y) from log-probabilities [..., Y]; NaN where nobody knows y.

    >>> log_loss(np.log([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])).round(4)
    array([0.6931, 0.2877])
    """
    xp = namespace(log_probabilities)
    chosen = xp.take_along_axis(log_probabilities, xp.maximum(y, 0)[..., None], axis=-1)[..., 0]
    return xp.where(y == EMPTY, chosen.dtype.type(np.nan), -chosen)
