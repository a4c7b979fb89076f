"""Libraries imported on first use: a command should not wait for what it does not need."""

import importlib
from typing import TYPE_CHECKING, Any

from presage.extras import extras_named

__all__ = ["Later", "alt", "jax", "jnp"]


class Later:
    """A library that is imported when one of its names is first used.

    It takes the place of an import at run time only; type checkers see the import itself.

    >>> Later("math").floor(2.5)
    2
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, part: str) -> Any:
        with extras_named():
            found = getattr(importlib.import_module(self._name), part)
        setattr(self, part, found)  # from now on it is an attribute like any other
        return found


if TYPE_CHECKING:
    import altair as alt
    import jax
    import jax.numpy as jnp
else:  # half a second, and a second; JAX may not even be installed
    alt, jax, jnp = map(Later, ("altair", "jax", "jax.numpy"))
