"""NumPy and JAX behind one set of names, so that a formula is written once."""

from typing import Any

import numpy as np

from presage.later import jax, jnp
from presage.spaces import Array

__all__ = ["jax", "jnp", "log_softmax", "log_sum_exp", "namespace"]


def namespace(array: Array) -> Any:
    """`numpy` for NumPy arrays and numbers, `jax.numpy` for anything else."""
    return np if isinstance(array, np.ndarray | np.generic) else jnp


def log_softmax(logits: Array) -> Array:
    """Log-probabilities along the last axis."""
    xp = namespace(logits)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(axis=-1, keepdims=True))


def log_sum_exp(logs: Array, axis: int) -> Array:
    """The logarithm of the sum of exponentials along `axis`."""
    xp = namespace(logs)
    most = logs.max(axis=axis, keepdims=True)
    return (xp.log(xp.exp(logs - most).sum(axis=axis, keepdims=True)) + most).squeeze(axis)
