"""The verdict on a proxy in plain words, by thresholds that are all in one place."""

from dataclasses import dataclass, replace

from presage.proxies.card import Card, Kind
from presage.proxies.lead import spoken
from presage.settings import share, whole


@dataclass(frozen=True)
class Thresholds:
    """Where the verdicts begin. Each proxy gets the first verdict that applies, in this order."""

    rows: int = 200  # fewer, and it is too little to tell
    late: float = 0.1  # the lead is below this share of the time until the outcome: late
    significant: float = 0.01  # the p-value of drift, or of differences between cohorts, is below this
    material: float = 0.1  # and what the period (cohort) adds is at least this share of what proxy and it tell
    silent: float = 0.005  # it tells less than this share of H(Y), or nothing for certain
    passes: float = 0.9  # a smaller share passes through: use it with the residual

    def __post_init__(self) -> None:
        whole("rows", self.rows)
        for name in ("late", "significant", "material", "silent", "passes"):
            share(name, getattr(self, name))


DEFAULT = Thresholds()

SENTENCES = {
    Kind.DRIFTS: "drifts: what it says of the outcome changes over time; use it with a short memory or not at all",
    Kind.SILENT: "does not pay: says nothing of the outcome",
    Kind.NO_GAIN: "does not pay: what it says is no help with new instances",
}
"""The verdicts that need no numbers."""


def with_verdict(card: Card, thresholds: Thresholds = DEFAULT) -> Card:
    """The card with its kind and verdict."""
    kind = _kind(card, thresholds)
    return replace(card, kind=kind, verdict=_words(card, kind, thresholds))


def _kind(card: Card, thresholds: Thresholds) -> Kind:
    steady = card.stability
    if card.rows < thresholds.rows or card.gain.value != card.gain.value:
        return Kind.UNKNOWN
    if card.lead.value < thresholds.late * card.wait:
        return Kind.LATE
    if _matters(card, steady.over_time, steady.drift.value, thresholds):
        return Kind.DRIFTS
    if card.information.low <= 0 or card.information.value < thresholds.silent * card.entropy.value:
        return Kind.SILENT
    if card.gain.low <= 0:
        return Kind.NO_GAIN
    differs = _matters(card, steady.over_cohorts, steady.difference.value, thresholds)
    return Kind.RESIDUAL if differs or not card.share.value >= thresholds.passes else Kind.USE


def _matters(card: Card, p: float, nats: float, thresholds: Thresholds) -> bool:
    """Whether a change of g(y|z) is both certain and large; any change is certain on a log that is long enough."""
    told = card.information.value + nats
    least = max(thresholds.material * told, thresholds.silent * card.entropy.value)
    return p < thresholds.significant and nats >= least


def _words(card: Card, kind: Kind, thresholds: Thresholds) -> str:
    if kind in SENTENCES:
        return SENTENCES[kind]
    if kind is Kind.UNKNOWN:
        return f"too little to tell: proxy and outcome are both known of {card.rows:,} predictions"
    if kind is Kind.LATE:
        when = f"only {spoken(card.lead.value)} before" if card.lead.value > 0 else "no sooner than"
        return f"does not pay: comes {when} the outcome"
    if kind is Kind.USE:
        return f"use it: comes {spoken(card.lead.value)} before the outcome and tells what the instance tells"
    if card.share.value >= thresholds.passes:
        return "use it with the residual: it means different things in different cohorts"
    missed = f"{1 - card.share.value:.0%}" if card.share.value == card.share.value else "an unknown part"
    return f"use it with the residual: {missed} of what the instance tells of the outcome does not pass through it"
