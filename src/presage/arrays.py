"""NumPy and JAX behind one set of names, so that a formula is written once."""

import importlib
from typing import Any

import numpy as np

from presage.later import Later
from presage.spaces import Array

jax: Any = Later("jax")
jnp: Any = Later("jax.numpy")
"""JAX takes a second to import; counting, reading logs and most commands do without it."""


def namespace(array: Array) -> Any:
    """`numpy` for NumPy arrays and numbers, `jax.numpy` for anything else."""
    return np if isinstance(array, np.ndarray | np.generic) else importlib.import_module("jax.numpy")


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
