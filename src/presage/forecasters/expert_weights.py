"""How a mixture weights its experts: by outcomes alone, or by proxies before outcomes arrive.

With p_k the prediction of expert k for the row, and e_k = -sum_y q(y|x,z) ln p_k(y) its expected loss under a now-cast
q once the proxy is known, early weights are

    proxy seen:     S_k <- gamma S_k + e_k,   M <- gamma M + 1                    (e_k of what k would predict now)
    outcome seen:   B_k <- gamma B_k + (-ln p_k(y) - e_k),   n <- gamma n + 1     (of what k predicted then, q now)
    prediction:     w = softmax(-(S + M B / n))

What k would predict now, just before it learns from the proxy, tells how good k has become; what it predicted when the
row was asked about tells how good it was a proxy's delay ago, which after a shift is too long.
Recent proxies decide, and B / n takes out the lean of e_k towards g where the proxy does not tell all. Nothing is
kept for a row but the experts' predictions. A row whose outcome comes without its proxy enters S as it is.
"""

from dataclasses import dataclass
from typing import NamedTuple

from presage.arrays import log_softmax, namespace
from presage.errors import SettingError
from presage.settings import positive
from presage.spaces import Array


class Scores(NamedTuple):
    """The numbers that the weights of K experts are computed from."""

    expected: Array  # [K]: S, discounted losses, expected or true
    mass: Array  # []: M, how many of those are expected
    lean: Array  # [K]: B, by how much expected losses fell short of true ones
    matured: Array  # []: n, over how many rows


@dataclass(frozen=True)
class EarlyWeights:
    """Weights by the expected losses, and their lean, of the last `rows` rows or so; gamma = 1 - 1 / rows."""

    rows: float = 100.0

    def __post_init__(self) -> None:
        if positive("rows", self.rows) <= 1:
            raise SettingError("rows must be above 1", self.rows, "give rows=100, for example")

    @property
    def gamma(self) -> float:
        """What the weight of a row is multiplied by with each row after it."""
        return 1 - 1 / self.rows

    def proxy(self, scores: Scores, expected: Array) -> Scores:
        """The scores once a proxy is seen before its outcome."""
        total = self.gamma * scores.expected + _centred(expected)
        return scores._replace(expected=total, mass=self.gamma * scores.mass + 1)

    def outcome(self, scores: Scores, losses: Array, expected: Array) -> Scores:
        """The scores once the outcome of a row is seen whose proxy was."""
        lean = self.gamma * scores.lean + _centred(losses - expected)
        return scores._replace(lean=lean, matured=self.gamma * scores.matured + 1)

    def outcome_alone(self, scores: Scores, losses: Array) -> Scores:
        """The scores once an outcome is seen without its proxy."""
        total = self.gamma * scores.expected + _centred(losses)
        return scores._replace(expected=total, mass=self.gamma * scores.mass)


@dataclass(frozen=True)
class OutcomeWeights:
    """Bayes' rule: each outcome multiplies an expert's weight by the probability that the expert gave to it."""

    def proxy(self, scores: Scores, expected: Array) -> Scores:  # noqa: ARG002
        """The scores as they were."""
        return scores

    def outcome(self, scores: Scores, losses: Array, expected: Array) -> Scores:  # noqa: ARG002
        """The scores once an outcome is seen."""
        return self.outcome_alone(scores, losses)

    def outcome_alone(self, scores: Scores, losses: Array) -> Scores:
        """The scores once an outcome is seen."""
        return scores._replace(expected=_centred(scores.expected + losses))


def weights(scores: Scores, share: float) -> Array:  # [K]
    """The weight of each expert, at least `share`."""
    xp = namespace(scores.expected)
    corrected = scores.expected + scores.mass * scores.lean / xp.maximum(scores.matured, 1)
    best = xp.exp(log_softmax(-corrected))
    return (1 - share * len(best)) * best + share


def _centred(losses: Array) -> Array:
    """Losses relative to their mean: only differences move weights, and small numbers keep their digits."""
    return losses - losses.mean()
