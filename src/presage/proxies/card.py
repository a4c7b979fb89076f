"""The report card of a proxy, and the table of several."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from presage.dataframes import Columns, columns_of
from presage.metrics.intervals import Estimate
from presage.proxies.stability import Stability


class VerdictKind(IntEnum):
    """What a verdict comes to; the best first."""

    USE = 0
    RESIDUAL = 1
    DRIFTS = 2
    NO_GAIN = 3
    LATE = 4
    SILENT = 5
    UNKNOWN = 6

    @property
    def words(self) -> str:
        """The verdict in a few words."""
        if self.pays:
            return "use it" if self is VerdictKind.USE else "use it, with a correction"
        if self is VerdictKind.UNKNOWN:
            return "too little data"
        return "do not rely on it" if self is VerdictKind.DRIFTS else "not worth using"

    @property
    def pays(self) -> bool:
        """Whether the proxy is worth using."""
        return self in (VerdictKind.USE, VerdictKind.RESIDUAL)


@dataclass(frozen=True)
class Card:
    """What a proxy is worth: information in nats per prediction, times in days, each with its 95 % interval."""

    name: str
    rows: int  # predictions whose proxy and outcome are both known
    symbols: int  # |Z|: the cost, for h has to be learnt for so many symbols of every instance; with features, of g
    entropy: Estimate  # H(Y): the loss of somebody who knows only how often each outcome comes
    information: Estimate  # I(Y;Z): what the proxy tells of the outcome
    gap: Estimate  # I(X;Y|Z): what the instance tells once the proxy is known
    total: Estimate  # I(X;Y): what the instance tells
    share: Estimate  # of I(X;Y) that passes through the proxy
    stability: Stability
    lead: Estimate  # by how much the proxy is known before the outcome
    wait: float  # the median outcome delay
    gain: Estimate  # in log loss a prediction if its instance were just launched, beyond what pooling gives
    new: Estimate  # the same of the log's own new instances: residual against direct table in a backtest
    overall: Estimate  # and over all its predictions
    kind: VerdictKind = VerdictKind.UNKNOWN
    verdict: str = ""
    unit: str = "day"  # of lead and wait: "row" in a log without times
    known: float = 1.0  # the share of the predictions with a known outcome that ever have the proxy
    features: tuple[str, ...] = ()  # that belong to the proxy: symbols, information, gap and share are of both
    added: Estimate | None = None  # of the gain: what they add; None where there are none

    def as_json(self) -> dict[str, Any]:
        """What `presage proxies --json` tells of it; NaN becomes null."""
        told = {name: getattr(self, name)._asdict() for name in ("information", "gap", "share", "lead", "gain")}
        if self.added is not None:
            told["added"] = self.added._asdict()
        plain = {name: {part: _finite(value) for part, value in parts.items()} for name, parts in told.items()}
        return {
            "name": self.name,
            **({"with": list(self.features)} if self.features else {}),
            **plain,
            "stability_p": self.stability_p,
            "symbols": self.symbols,
            "verdict": self.verdict,
        }

    @property
    def label(self) -> str:
        """The name, and what belongs to the proxy."""
        return f"{self.name} with {' and '.join(self.features)}" if self.features else self.name

    @property
    def stability_p(self) -> float:
        """The p-value of the test that the proxy means the same over time and over cohorts."""
        return self.stability.p


def rank(cards: Iterable[Card]) -> list[Card]:
    """The cards from best to worst: first those that pay, then those that drift, then the others.

    Within each of the three the greater gain comes first, then the fewer symbols.
    """

    def place(card: Card) -> tuple[int, float, int]:
        part = 0 if card.kind.pays else 1 if card.kind is VerdictKind.DRIFTS else 2
        gain = card.gain.value if card.gain.value == card.gain.value else float("-inf")  # NaN comes last
        return part, -gain, card.symbols

    return sorted(cards, key=place)


ESTIMATES = ("entropy", "information", "gap", "total", "share", "lead", "gain", "new", "overall")
PLAIN = ("name", "kind", "rows", "symbols", "stability_p", "over_time_p", "over_cohorts_p", "wait")


def card_columns(cards: Sequence[Card]) -> Columns:
    """A row for each card, each estimate in three columns: NAME, NAME_low and NAME_high."""
    rows = []
    estimates = ESTIMATES + (("added",) if any(card.features for card in cards) else ())
    for card in cards:
        steady = card.stability
        plain = [card.name, card.kind.name.lower().replace("_", " "), card.rows, card.symbols]
        row: dict[str, Any] = dict(
            zip(PLAIN, [*plain, steady.p, steady.over_time, steady.over_cohorts, card.wait], strict=True)
        )
        for name in estimates:
            found = getattr(card, name) or Estimate(*[math.nan] * 3)
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), found, strict=True))
        rows.append(row | {"verdict": card.verdict})
    return columns_of(rows, words={"name", "kind", "verdict"})


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else value
