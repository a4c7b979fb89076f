"""What every driver gives that scores trials."""

from typing import NamedTuple

from presage.spaces import Array


class Losses(NamedTuple):
    """The losses of a forecaster, and of the experts it mixes."""

    own: Array  # [R, T]
    experts: Array | None  # [R, K, T]; None unless it is a mixture
