"""Random keys from a root, a purpose and a counter; never threaded through the order of calls."""

from enum import IntEnum
from typing import Any

from presage.arrays import jax, jnp
from presage.errors import SettingError
from presage.spaces import Array

Key = Array
"""A JAX random key."""


class Purpose(IntEnum):
    """What randomness is for; the numbers are part of every saved result."""

    PARAMETERS = 0
    PROXY_BATCH = 1
    OUTCOME_BATCH = 2
    TRIAL = 3
    ORACLE = 4


def root_key(seed: Any) -> Key:
    """A root key from a whole number, or the key itself."""
    if _is_seed(seed):
        return jax.random.key(seed)
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        return seed
    raise SettingError("a key must be a seed or a JAX key", seed, "give a whole number from 0 or jax.random.key(n)")


def check_key(seed: Any) -> None:
    """Raise SettingError unless this is a key, for forecasters that draw nothing; a seed is checked without JAX."""
    if not _is_seed(seed):
        root_key(seed)


def key_for(root: Key, purpose: Purpose, counter: Array | int = 0) -> Key:
    """The key for the `counter`-th use of randomness for `purpose`."""
    return jax.random.fold_in(jax.random.fold_in(root, int(purpose)), counter)


def _is_seed(seed: Any) -> bool:
    return isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63
