"""Estimates with their 95 % intervals."""

from typing import NamedTuple


class Estimate(NamedTuple):
    """An estimate and its 95 % interval.

    >>> print(Estimate(0.25, -0.01, 0.51).within(0, 1))
    0.25 [0, 0.51]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def within(self, least: float, most: float) -> "Estimate":
        """The same estimate of what is known to lie between `least` and `most`."""
        return Estimate(*(float(min(max(part, least), most)) for part in self))
