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


def add_at(table: Array, index: tuple[Array, ...], amount: Array) -> Array:
    """`table` with `amount` [B] added at `index`, repeated indices adding up; in place for NumPy."""
    if isinstance(table, np.ndarray):
        np.add.at(table, index, amount)
        return table
    return table.at[index].add(amount)


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


def after(value: Array, read: Array) -> Array:
    """`value`, not to be used before `read` is computed.

    XLA copies a whole table that is read and then written in one step, unless the write depends on what was read.
    """
    if isinstance(read, np.ndarray | np.generic):
        return value
    return value + (0 * read.sum()).astype(value.dtype)
