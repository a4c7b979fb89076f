"""How much is acquired of the items of a simulated market, day by day."""

from typing import NamedTuple

import numpy as np

from presage.settings import between, positive
from presage.spaces import Array


class Volume(NamedTuple):
    """How much is acquired of each item in 21 days, and how unevenly over them.

    An item is acquired `least` times and more: the excess is log-normal with median `excess` and `spread` in logs.
    What is acquired of it day by day wavers: a log-normal of `waver` in logs, a share `memory` of it kept from one
    day to the next.
    """

    least: float
    excess: float
    spread: float
    waver: float
    memory: float

    def check(self, name: str) -> None:
        """Nothing, or the error of the first part that cannot be right."""
        between(f"{name}.least", self.least, 0.0, 1e9)
        positive(f"{name}.excess", self.excess)
        for part in ("spread", "waver"):
            between(f"{name}.{part}", getattr(self, part), 0.0, 10.0)
        between(f"{name}.memory", self.memory, 0.0, 1.0)

    def acquired(self, fame: Array, shape: Array, draw: np.random.Generator) -> Array:
        """Counts [I, 21] of items with standard normal `fame`, spread over the days as `shape` before wavering."""
        wavering = np.exp(self.waver * self._autoregression(shape.shape, draw)) * shape
        total = self.least + self.excess * np.exp(self.spread * fame)
        return draw.poisson(total[:, None] * wavering / wavering.sum(axis=1, keepdims=True)).astype(float)

    def _autoregression(self, shape: tuple[int, int], draw: np.random.Generator) -> Array:
        """Standard normals [I, days], each day correlated with the day before by `memory`."""
        fresh = draw.normal(size=shape)
        values = fresh.copy()
        for day in range(1, shape[1]):
            values[:, day] = self.memory * values[:, day - 1] + np.sqrt(1 - self.memory**2) * fresh[:, day]
        return values
