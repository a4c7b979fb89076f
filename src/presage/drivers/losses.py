"""What every driver gives back."""

from collections.abc import Callable
from typing import NamedTuple

from presage.spaces import Array

Progress = Callable[[int], None]
"""Is told how many more trials are done."""


class Losses(NamedTuple):
    """The losses of a forecaster, and of the experts it mixes."""

    own: Array  # [R, T]
    experts: Array | None  # [R, K, T]; None unless it is a mixture
