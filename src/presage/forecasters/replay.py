"""Replay: first-in-first-out windows over arrival order, and the cadence at which they are rehearsed."""

from dataclasses import dataclass

import numpy as np

from presage.arrays import jax, jnp
from presage.forecasters.random_keys import Key
from presage.settings import whole
from presage.spaces import Array, Instance, Spaces


@dataclass(frozen=True)
class Replay:
    """When a forecaster rehearses, and on which rows.

    After every `every` predictions come `steps` steps, each on a batch drawn with replacement from the last
    `proxy_window` rows whose proxy is known and another from the last `outcome_window` rows whose outcome is
    known. A window is used once it has received `start` rows; each counts its own. The defaults are those of
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
        """Whether training steps are due after this many predictions."""
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


class Window:
    """The last `size` rows that arrived; positions count every row that ever did.

    >>> window = Window(2, Spaces(instances=9, proxies=2, outcomes=2))
    >>> for item in (4, 5, 6):
    ...     position = window.append(window.spaces.encode(item), z=1, y=0)
    >>> window.known, window.rows(np.array([1, 2]))[0].symbols[:, 0].tolist()
    (3, [5, 6])
    """

    def __init__(self, size: int, spaces: Spaces) -> None:
        self.spaces = spaces
        self.size = whole("size", size)
        self.known = 0
        features = spaces.features
        self._x = Instance(np.zeros((size, features.slots), np.int32), np.zeros((size, features.dense), np.float32))
        self._z = np.zeros(size, np.int32)
        self._y = np.zeros(size, np.int32)

    def append(self, x: Instance, z: int, y: int) -> int:
        """The position of a row that arrives now."""
        position = self.known
        place = position % self.size
        self._x.symbols[place], self._x.dense[place] = x.symbols, x.dense
        self._z[place], self._y[place] = z, y
        self.known += 1
        return position

    def complete(self, position: int, z: int) -> None:
        """Fill in a proxy that came after the outcome, if the row is still in the window."""
        if position >= self.known - self.size:
            self._z[position % self.size] = z

    def rows(self, positions: Array) -> tuple[Instance, Array, Array]:
        """x, z and y of the rows at `positions`."""
        places = positions % self.size
        return Instance(self._x.symbols[places], self._x.dense[places]), self._z[places], self._y[places]

    def arrays(self) -> dict[str, Array]:
        """All that the window holds, by name."""
        known = np.array(self.known, np.int64)
        return {"symbols": self._x.symbols, "dense": self._x.dense, "z": self._z, "y": self._y, "known": known}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Hold what another window of the same size held."""
        self._x = Instance(arrays["symbols"].copy(), arrays["dense"].copy())
        self._z, self._y, self.known = arrays["z"].copy(), arrays["y"].copy(), int(arrays["known"])
