"""What a backtest says of a rival: by how much the default's log loss lies below its own, or above."""

from typing import Any, NamedTuple

from presage.backtesting.scores import plain_json
from presage.metrics.intervals import Interval


class RivalScore(NamedTuple):
    """How the log loss of a forecaster compares with that of a rival, row by row."""

    forecaster: str  # the default, or the best where the default was not played
    difference: Interval  # its loss less the rival's, in nats: below 0 it is ahead
    percent: Interval  # the same in percent of the rival's loss
    seconds: float = 0.0
    moved: int = 0  # how many of the rival's scores moved when later labels were changed

    @property
    def verdict(self) -> str:
        """Where the forecaster's loss lies: below, above, or tied."""
        if self.difference.high < 0:
            return "below"
        return "above" if self.difference.low > 0 else "tied"

    def as_json(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        mean, low, high = self.difference
        found: dict[str, Any] = {"forecaster": self.forecaster, "difference": mean, "low": low, "high": high}
        found |= {
            "verdict": self.verdict,
            "percent": self.percent._asdict(),
            "seconds": round(self.seconds, 3),
            "moved": self.moved,
        }
        return {name: plain_json(value) for name, value in found.items()}

    def sentence(self, rival: str, default: str) -> str:
        """The comparison in words.

        >>> each = Interval(-0.03, -0.04, -0.02), Interval(-4.2, -5.3, -3.1)
        >>> RivalScore("mixture", *each, 9.0).sentence("lightgbm", "mixture")
        "The default's log loss is 4.2 % below lightgbm's (3.1 to 5.3)."
        """
        if self.moved:
            return f"{rival} looked ahead: {self.moved:,} of its scores moved when later labels were changed."
        whose = "The default's" if self.forecaster == default else f"{self.forecaster}'s"
        ends = sorted((self.percent.low, self.percent.high), key=abs)
        if self.verdict == "tied":
            low, high = self.percent.low, self.percent.high
            return f"{whose} log loss is tied with {rival}'s (from {low:+.1f} to {high:+.1f} %)."
        near, far = (abs(end) for end in ends)
        return f"{whose} log loss is {abs(self.percent.mean):.1f} % {self.verdict} {rival}'s ({near:.1f} to {far:.1f})."
