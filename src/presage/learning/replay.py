"""Replay: first-in-first-out windows over arrival order, and the cadence at which they are rehearsed."""

from dataclasses import dataclass

from presage.arrays import jax, jnp
from presage.learning.keys import Key
from presage.settings import whole
from presage.spaces import Array


@dataclass(frozen=True)
class Replay:
    """When a forecaster rehearses, and on how much.

    After every `every` predictions come `steps` steps, each on a batch drawn with replacement from the last
    `proxy_window` rows whose proxy is known and another from the last `outcome_window` rows whose outcome is
    known. A window takes part once it has held `start` rows; each counts on its own. The defaults are those of
    the paper's GitHub experiment (its section 3).
    """

    proxy_window: int = 1000
    outcome_window: int = 1000
    start: int = 128
    every: int = 4
    steps: int = 1
    batch: int = 128

    def __post_init__(self) -> None:
        for name in ("proxy_window", "outcome_window", "start", "every", "steps", "batch"):
            object.__setattr__(self, name, whole(name, getattr(self, name)))

    def due(self, predictions: Array) -> Array:
        """Whether steps are taken after this many predictions."""
        return (predictions > 0) & (predictions % self.every == 0)

    def first_step(self, predictions: Array) -> Array:
        """The number of the first step taken after this many predictions; steps count from 0 over a lifetime."""
        return (predictions // self.every - 1) * self.steps


def draw_positions(key: Key, known: Array, window: int, batch: int) -> Array:
    """Positions [batch] drawn with replacement from the last `window` of `known` arrivals.

    With nothing known yet every position is 0; the caller gives such rows weight 0.
    """
    first = jnp.maximum(known - window, 0)
    uniform = jax.random.uniform(key, (batch,))
    # 23 random bits: in a window of n rows no position is favoured by more than n in 2^23.
    drawn = jnp.floor(uniform * (known - first)).astype(jnp.int32)
    return jnp.clip(first + drawn, 0, jnp.maximum(known - 1, 0))
