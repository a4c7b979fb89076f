"""What the dashboard is sent: one object of numbers and words. Times are milliseconds since 1970, as browsers count."""

import msgspec

Numbers = list[float | None]


class Means(msgspec.Struct):
    """Mean losses of the last outcomes, and how much less is lost than by others, with half its 95 % interval."""

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


class KnownAfter(msgspec.Struct):
    """The share of proxies and outcomes that is known so long after the prediction."""

    after: list[int]
    proxy: Numbers
    outcome: Numbers


class Reliable(msgspec.Struct):
    """How likely an outcome was said to be, and how often it came, with 95 % intervals."""

    rows: list[int]
    predicted: list[float]
    observed: list[float]
    low: list[float]
    high: list[float]
    error: float  # the mean distance between both


class Stability(msgspec.Struct):
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


class Frame(msgspec.Struct):
    """All that the dashboard shows."""

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
    known: KnownAfter
    reliability: list[Reliable | None]  # by outcome
    drift: Stability
    lag: Lag
