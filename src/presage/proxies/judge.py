"""The verdict on a proxy, in words, from its measures and their intervals."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from presage.errors import InputError, ShapeError
from presage.metrics.intervals import Estimate
from presage.metrics.proxy_information import information
from presage.proxies.card import Card, VerdictKind, rank
from presage.proxies.gain import expected_addition, expected_gain
from presage.proxies.signals import PredictionRows, ProxyCandidate
from presage.proxies.stability import stability
from presage.settings import share, whole
from presage.spaces import EMPTY, Array


def lead_time(proxy_delay: Array, outcome_delay: Array) -> Estimate:
    """The median of outcome delay minus proxy delay over rows that have both, and the interval by ranks, in days.

    >>> lead_time(np.full(100, 1.0), np.full(100, 21.0))
    Estimate(value=20.0, low=20.0, high=20.0)
    """
    lead = outcome_delay - proxy_delay
    lead = np.sort(lead[~np.isnan(lead)])
    if not len(lead):
        return Estimate(math.nan, math.nan, math.nan)
    half = 0.98 * math.sqrt(len(lead))
    low, high = max(math.floor(len(lead) / 2 - half), 0), min(math.ceil(len(lead) / 2 + half), len(lead) - 1)
    return Estimate(float(np.median(lead)), float(lead[low]), float(lead[high]))


def spoken(span: float, unit: str = "day") -> str:
    """A span of time in days, or of rows in a log without times, as people say it.

    >>> spoken(2 / 24), spoken(1.0), spoken(20.4), spoken(500, "row")
    ('2 hours', '1 day', '20 days', '500 rows')
    """
    if unit == "row":
        return f"{span:,.0f} row" + ("" if span == 1 else "s")
    for name, length in (("day", 1.0), ("hour", 1 / 24), ("minute", 1 / 1440)):
        number = round(span / length)
        if number >= 1 and span >= 0.95 * length:
            return f"{number} {name}" if number == 1 else f"{number} {name}s"
    return "less than a minute"


def one_value(rows: int) -> str:
    """That all outcomes known are the same, and what to check.

    >>> one_value(1234)[:72]
    'Only one outcome value was ever known, in 1,234 rows, so nothing can be '
    """
    remedy = "check the outcome's kind, column and horizon in the task"
    return (
        f"Only one outcome value was ever known, in {rows:,} rows, so nothing can be told of any early sign: {remedy}"
    )


SELDOM = 0.5
"""If a smaller share of the predictions whose outcome is known ever has a proxy, verdicts say so."""

WORTH_HAVING = 0.005
"""A gain below this share is not worth having: of the outcome's entropy on a card, of the direct log loss in a
backtest."""


@dataclass(frozen=True)
class Thresholds:
    """Where the verdicts begin. Each proxy gets the first verdict that applies, in this order."""

    rows: int = 200  # fewer, and it is too little to tell
    late: float = 0.1  # the lead is below this share of the time until the outcome: late
    significant: float = 0.01  # the p-value of drift, or of differences between cohorts, is below this
    material: float = 0.1  # and what the period (cohort) adds is at least this share of what proxy and it tell
    worth: float = WORTH_HAVING  # information and gain are certainly below this share of H(Y): not worth using
    passes: float = 0.9  # a smaller share passes through: use it with a correction per item

    def __post_init__(self) -> None:
        whole("rows", self.rows)
        for name in ("late", "significant", "material", "worth", "passes"):
            share(name, getattr(self, name))


DEFAULT = Thresholds()


def with_verdict(card: Card, thresholds: Thresholds = DEFAULT) -> Card:
    """The card with its kind and verdict."""
    kind = _kind(card, thresholds)
    seldom = f"; only {100 * card.known:.0f} % of rows ever have it" if card.known < SELDOM else ""
    return replace(card, kind=kind, verdict=_words(card, kind, thresholds) + seldom + _of_features(card, thresholds))


def _of_features(card: Card, thresholds: Thresholds) -> str:
    """What the features that belong to a proxy are worth."""
    if card.added is None or card.added.value != card.added.value:
        return ""
    names, (value, low, high) = " and ".join(card.features), card.added
    if high < thresholds.worth * card.entropy.value:
        return f"; told with {names}, which does not pay: leave it out of `with`"
    if low > 0:
        return f"; told with {names}, which lowers log loss by {value:.4f} nats per prediction"
    return f"; told with {names}, and there is too little data to tell whether that pays"


def _kind(card: Card, thresholds: Thresholds) -> VerdictKind:
    steady, worth = card.stability, thresholds.worth * card.entropy.value
    if card.entropy.value <= 0 or card.rows < thresholds.rows or card.gain.value != card.gain.value:
        return VerdictKind.UNKNOWN
    if card.lead.value < thresholds.late * card.wait:
        return VerdictKind.LATE
    if _matters(card, steady.over_time, steady.drift.value, thresholds):
        return VerdictKind.DRIFTS
    if card.information.high < worth or card.gain.high < worth:
        return VerdictKind.SILENT if card.information.high < worth else VerdictKind.NO_GAIN
    if card.information.low <= 0 or card.gain.low <= 0:
        return VerdictKind.UNKNOWN
    differs = _matters(card, steady.over_cohorts, steady.difference.value, thresholds)
    return VerdictKind.RESIDUAL if differs or not card.share.value >= thresholds.passes else VerdictKind.USE


def _matters(card: Card, p: float, nats: float, thresholds: Thresholds) -> bool:
    """Whether a change of g(y|z) is both certain and large; any change is certain on a log that is long enough."""
    told = card.information.value + nats
    least = max(thresholds.material * told, thresholds.worth * card.entropy.value)
    return p < thresholds.significant and nats >= least


def _words(card: Card, kind: VerdictKind, thresholds: Thresholds) -> str:
    if card.entropy.value <= 0:
        return one_value(card.rows)
    if kind is VerdictKind.UNKNOWN:
        return f"Too little data to tell: {_unknown(card, thresholds)}"
    if kind is VerdictKind.DRIFTS:
        return "Do not rely on it: what it means for the outcome changes over time"
    if kind.pays:
        return _use(card, kind, thresholds)
    return f"Not worth using: {_not_worth(card, kind)}"


def _not_worth(card: Card, kind: VerdictKind) -> str:
    if kind is VerdictKind.LATE:
        when = f"only {spoken(card.lead.value, card.unit)} before" if card.lead.value > 0 else "no sooner than"
        return f"it comes {when} the outcome"
    if kind is VerdictKind.SILENT:
        return "carries no information about the outcome"
    if card.gain.high <= 0:
        return "it raises log loss on new items"
    most = 100 * card.gain.high / card.entropy.value
    return f"on new items it lowers log loss by at most {most:.2f} % of the outcome's entropy"


def _use(card: Card, kind: VerdictKind, thresholds: Thresholds) -> str:
    part = f"captures {100 * card.share.value:.0f} % of the differences between items"
    if kind is VerdictKind.USE:
        return f"Use it: it comes {spoken(card.lead.value, card.unit)} before the outcome and {part}"
    if card.share.value >= thresholds.passes:
        return "Use it, with a per-item correction: it means different things in different groups of items"
    if card.share.value != card.share.value:
        part = "may miss some of the differences between items"
    return f"Use it, with a per-item correction: it {part}"


def _unknown(card: Card, thresholds: Thresholds) -> str:
    """Why nothing can be said."""
    if card.rows < thresholds.rows:
        return f"proxy and outcome are both known for only {card.rows:,} predictions"
    if card.gain.value != card.gain.value:
        return "no outcome was known before the last predictions"
    if card.information.low <= 0:
        return f"it carries between 0 and {card.information.high:.4f} nats about the outcome"
    low, high = card.gain.low, card.gain.high
    return f"on new items it changes log loss by anything from {-high:+.4f} to {-low:+.4f} nats per prediction"


LEAST = 40
"""The least predictions with proxy and outcome for which a card can be made."""

BLOCKS = 50
"""The most blocks of time that intervals of information are based on; at least 20 rows each."""


def judge_proxy(
    log: PredictionRows,
    candidates: Iterable[ProxyCandidate],
    *,
    thresholds: Thresholds = DEFAULT,
    progress: Callable[[str], None] | None = None,
) -> list[Card]:
    """The report cards of the candidates, best first.

    Args:
        log: the predictions and their outcomes.
        candidates: the proxies to compare, variants included.
        thresholds: where verdicts begin.
        progress: told the name of each candidate once it is judged.

    >>> draw = np.random.default_rng(0)
    >>> x, shown_at = draw.integers(0, 50, 4000), np.arange(4000) / 20
    >>> opened = draw.random(50)[x] > draw.random(4000)
    >>> finished = np.where(opened, 0.8, 0.1) > draw.random(4000)
    >>> log = PredictionRows(x, shown_at, finished.astype(int), np.full(4000, 21.0), outcomes=2)
    >>> [card.verdict[:23] for card in judge_proxy(log, [ProxyCandidate("opened", opened.astype(int), 1.0, symbols=2)])]
    ['Use it: it comes 20 day']
    """
    cards = []
    for candidate in candidates:
        cards.append(with_verdict(measure(log, candidate), thresholds))
        if progress:
            progress(candidate.name)
    return rank(cards)


def measure(log: PredictionRows, candidate: ProxyCandidate) -> Card:
    """The report card of one candidate, without a verdict."""
    if candidate.z.shape != log.x.shape:
        found = {"predictions": len(log.x), candidate.name: len(candidate.z)}
        raise ShapeError("a proxy has no value for each prediction", found, "give -1 where it is not known")
    rows = np.flatnonzero(log.known & (candidate.z != EMPTY))
    if len(rows) < LEAST:
        wrong = f"proxy {candidate.name} and the outcome are hardly ever known together"
        raise InputError(wrong, f"{len(rows)} rows", f"give a log with at least {LEAST} such predictions")
    told_as, features = candidate.told, candidate.features
    x, z, y = log.x[rows], told_as.z[rows], log.y[rows]
    blocks = int(np.clip(len(rows) // 20, 2, BLOCKS))
    block = np.arange(len(rows)) * blocks // len(rows)
    told = information(x, z, y, told_as.symbols, log.outcomes, block=block)
    cohort = None if log.cohort is None else log.cohort[rows]
    gain = expected_gain(log, candidate)
    return Card(
        name=candidate.name,
        rows=len(rows),
        symbols=told_as.symbols,
        entropy=told.entropy,
        information=told.information,
        gap=told.gap,
        total=told.total,
        share=told.share,
        stability=stability(x, z, y, (told_as.symbols, log.outcomes), cohort),
        lead=lead_time(candidate.delay, log.delay),
        wait=float(np.median(log.delay[log.known])),
        gain=gain.launched,
        new=gain.new,
        overall=gain.overall,
        unit=log.unit,
        known=len(rows) / np.count_nonzero(log.known),
        features=features.names if features else (),
        added=expected_addition(log, candidate),
    )
