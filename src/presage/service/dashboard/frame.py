"""The frames of the dashboard: one object of numbers and words. Times are milliseconds since 1970, as in browsers."""

import msgspec
import numpy as np

from presage.spaces import Array

Numbers = list[float | None]


class Means(msgspec.Struct):
    """Mean losses over the last outcomes, and the gain over others, with half its 95 % interval."""

    rows: int
    served: float
    marginal: float
    over_marginal: tuple[float, float]
    direct: float | None = None
    over_direct: tuple[float, float] | None = None


class Loss(msgspec.Struct):
    """Losses over time, by when outcomes came."""

    at: list[int]
    served: Numbers
    marginal: Numbers
    direct: Numbers | None
    recent: Means | None
    words: str
    why: str = ""  # there is no direct forecaster


class Weights(msgspec.Struct):
    """The weight of each family of experts over time."""

    at: list[int]
    families: dict[str, Numbers]
    why: str = ""  # there are none


class EarlyLoss(msgspec.Struct):
    """Losses by when predictions were made: expected through proxies, and true where all outcomes are in."""

    at: list[int]
    early: Numbers
    true: Numbers
    until: int | None  # predictions up to here have matured
    matured: tuple[int, float, float, float] | None  # rows, early, true, half the 95 % interval of the latter
    words: str


class Pending(msgspec.Struct):
    """How many predictions wait, by age: for the proxy, for the outcome."""

    upto: list[int]  # the oldest age of each bin, in milliseconds
    proxy: list[int]
    outcome: list[int]
    older: int  # open, and from before the watch


class KnownAfterPanel(msgspec.Struct):
    """The share of proxies and outcomes that is known so long after the prediction."""

    after: list[int]
    proxy: Numbers
    outcome: Numbers


class Reliable(msgspec.Struct):
    """The predicted probability of an outcome and its observed frequency, with 95 % intervals."""

    rows: list[int]
    predicted: list[float]
    observed: list[float]
    low: list[float]
    high: list[float]
    error: float  # the mean distance between both


class StabilityPanel(msgspec.Struct):
    """Whether g is stable, and g over time."""

    state: str
    words: str
    p: float
    nats: float
    since: int | None
    rows: int
    at: list[int]
    shares: list[list[Numbers]]  # by outcome and proxy: the share of the outcome after the proxy


class Lag(msgspec.Struct):
    """How far the learner is behind."""

    lessons: int  # handed on and not learnt
    model: int  # the log position of what answers
    position: int  # of the log
    behind: int | None  # milliseconds of the log since that model learnt
    over_time: list[int]  # lessons, second by second
    learner: str = "waiting"  # what it does


class DashboardFrame(msgspec.Struct):
    """One frame of the dashboard."""

    number: int
    task: str
    forecaster: str
    family: str
    proxies: list[str]
    outcomes: list[str]
    horizons: tuple[int, int]
    at: int | None  # of the last entry
    ready: str  # why not, if it is not
    predictions: int
    bins: dict[str, int]
    refused: dict[str, dict[str, int]]  # by what it was, then by kind
    loss: Loss
    weights: Weights
    early: EarlyLoss
    pending: Pending
    known: KnownAfterPanel
    reliability: list[Reliable | None]  # by outcome
    drift: StabilityPanel
    lag: Lag


POINTS = 40
"""The most points that a line has."""

ROWS = 30
"""The least rows that a point of a loss stands for."""

RECENT = 2000
"""Recent means the last buckets that hold so many outcomes."""


def recent(sums: Array, counted: Array) -> Array:
    """The last rows of sums that hold enough of what is counted; all of them if there is not enough."""
    held = counted[::-1].cumsum()
    rows = int(np.searchsorted(held, RECENT, side="left")) + 1
    return sums[max(0, len(sums) - rows) :]


def numbers(values: Array) -> Numbers:
    """Numbers with four digits; nothing for NaN.

    >>> numbers(np.array([0.123456, np.nan]))
    [0.1235, None]
    """
    return [None if np.isnan(value) else float(f"{value:.4g}") for value in values]


def milliseconds(at: Array) -> list[int]:
    """Times for a browser."""
    return [int(each) // 1000 for each in at]
