"""Numbers with their 95 % intervals: over paired trials, and of estimates."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from presage.errors import ShapeError
from presage.metrics.special import NORMAL_975, student_975
from presage.spaces import Array


class Interval(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        mean, low, high = (f"{part:,.0f}" if abs(self.mean) >= 1000 else f"{part:.4g}" for part in self)
        return f"{mean} [{low}, {high}]"


def mean_interval(values: Array) -> Interval:
    """The mean of independent trials, with Student's interval.

    >>> print(mean_interval(np.array([1.0, 2.0, 3.0])))
    2 [-0.4841, 4.484]
    """
    if np.ndim(values) != 1:
        raise ShapeError("an interval needs one number per trial", np.shape(values), "use mean_intervals")
    return Interval(*(float(part) for part in mean_intervals(values)))


def mean_intervals(values: Array) -> tuple[Array, Array, Array]:
    """The means over trials [R, ...] and both ends of their 95 % intervals."""
    values = np.asarray(values, np.float64)
    if len(values) < 2:
        raise ShapeError("an interval needs at least two trials", values.shape, "run more trials")
    half = student_975(len(values) - 1) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    mean = values.mean(axis=0)
    return mean, mean - half, mean + half


def log_slope_interval(at: Array, values: Sequence[Array]) -> Interval:
    """The slope of a line through the logarithms of means at `at` > 0, fitted by least squares over ln(at).

    The trials of each point are independent; the interval is that of the delta method.

    >>> three = np.array([0.9, 1.0, 1.1])
    >>> print(log_slope_interval(np.array([1.0, 2.0, 4.0]), [three, 4 * three, 16 * three]))
    2 [1.885, 2.115]
    """
    spread = np.log(at) - np.log(at).mean()
    pull = spread / (spread**2).sum()
    means = np.array([np.mean(each) for each in values])
    variances = [np.var(each, ddof=1) / len(each) for each in values]
    half = NORMAL_975 * np.sqrt((pull**2 * variances / means**2).sum())
    slope = float(pull @ np.log(means))
    return Interval(slope, float(slope - half), float(slope + half))


def ratio_interval(above: Array, below: Array) -> Interval:
    """The ratio of two means over the same trials, with the interval of the delta method.

    The trials of `above` and `below` may be paired or independent runs of equal length.
    """
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    ratio = above.mean() / below.mean()
    spread = mean_interval((above - ratio * below) / below.mean())
    return Interval(float(ratio), float(ratio + spread.low - spread.mean), float(ratio + spread.high - spread.mean))


class Estimate(NamedTuple):
    """An estimate and its 95 % interval.

    >>> print(Estimate(0.25, -0.01, 0.51).within(0, 1))
    0.25 [0, 0.51]
    >>> print(Estimate(-0.25, -0.5, 0.0).within(0, 1))
    0 [0, 0.25]
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def within(self, least: float, most: float) -> "Estimate":
        """The same estimate of what is known to lie between `least` and `most`.

        One outside moves to the nearer end and takes its interval along: cut off there, the interval would be a point,
        as if the end were certain.
        """
        value, low, high = self
        moved = min(max(value, least), most)
        parts = moved, max(moved - (value - low), least), min(moved + (high - value), most)
        return Estimate(*map(float, parts))
