"""Claims: sentences about results that can be false, each judged by intervals against thresholds written down first."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from presage.metrics.intervals import Interval, mean_interval, ratio_interval
from presage.spaces import Array

MIXTURE = 1.1
"""How much more regret than the best single forecaster a mixture may have (X1)."""


class Verdict(StrEnum):
    """What an interval says of a threshold: it lies on the right side, on the wrong side, or the threshold in it."""

    HOLDS = "holds"
    FAILS = "fails"
    CANNOT_TELL = "cannot tell"


class Measure(NamedTuple):
    """A number with its 95 % interval, which the claim wants above `least`, below `most`, or both."""

    what: str
    interval: Interval
    least: float | None = None
    most: float | None = None

    @property
    def verdict(self) -> Verdict:
        """What the interval says.

        >>> Measure("a gap", Interval(2.0, 1.0, 3.0), least=0.0).verdict.value
        'holds'
        >>> Measure("a gap", Interval(2.0, 1.0, 3.0), least=1.5).verdict.value
        'cannot tell'
        """
        _, low, high = self.interval
        if (self.least is not None and high < self.least) or (self.most is not None and low > self.most):
            return Verdict.FAILS
        if (self.least is None or low > self.least) and (self.most is None or high < self.most):
            return Verdict.HOLDS
        return Verdict.CANNOT_TELL

    def __str__(self) -> str:
        return f"{self.what} {self.interval}"


class Claim(NamedTuple):
    """One claim of the paper, or of ours, with what was measured and what that says."""

    id: str
    text: str  # with its thresholds
    verdict: Verdict
    measures: tuple[Measure, ...]
    note: str = ""

    @property
    def measured(self) -> str:
        """The numbers in words."""
        return "; ".join([*map(str, self.measures), *([self.note] if self.note else [])])

    def as_json(self) -> dict[str, Any]:
        """The claim as JSON values."""
        measures = [
            {"what": measure.what, **measure.interval._asdict(), "least": measure.least, "most": measure.most}
            for measure in self.measures
        ]
        about = {"id": self.id, "text": self.text, "verdict": self.verdict.value}
        holds = self.verdict is Verdict.HOLDS
        return about | {"holds": holds, "measured": self.measured, "measures": measures, "note": self.note}


def every(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on all of several: it fails if one does, and holds if all do."""
    found = set(verdicts)
    if Verdict.FAILS in found:
        return Verdict.FAILS
    return Verdict.HOLDS if found == {Verdict.HOLDS} else Verdict.CANNOT_TELL


def some(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on any of several: it holds if one does, and fails if all do."""
    found = set(verdicts)
    if Verdict.HOLDS in found:
        return Verdict.HOLDS
    return Verdict.FAILS if found == {Verdict.FAILS} else Verdict.CANNOT_TELL


def claim(id: str, text: str, *measures: Measure, note: str = "") -> Claim:
    """A claim that holds if each of its measures does."""
    return Claim(id, text, every(measure.verdict for measure in measures), measures, note)


def below(regrets: dict[str, Array], lower: str, upper: str) -> Measure:
    """By how much one forecaster's regret is below another's, wanted above 0; regrets are [trials]."""
    return Measure(f"{upper} minus {lower}", mean_interval(regrets[upper] - regrets[lower]), least=0.0)


def about_mixture(regrets: dict[str, Array], where: str) -> Claim:
    """X1: the mixture costs at most a tenth more than the best single forecaster; regrets are [trials]."""
    singles = {name: regret for name, regret in regrets.items() if name != "mixture"}
    best = min(singles, key=lambda name: float(singles[name].mean()))
    ratio = Measure(f"mixture over {best}", ratio_interval(regrets["mixture"], singles[best]), most=MIXTURE)
    text = f"{where}: the mixture's total regret is at most {MIXTURE - 1:.0%} above that of the best single forecaster"
    return claim("X1", text, ratio)
