"""Claims: sentences about results that can be false, with what was measured."""

from typing import NamedTuple

from presage.metrics.intervals import mean_interval, ratio_interval
from presage.spaces import Array


class Claim(NamedTuple):
    """One claim of the paper, or of ours, and whether it holds."""

    id: str
    text: str
    holds: bool
    measured: str


def about_mixture(regrets: dict[str, Array], where: str) -> Claim:
    """X1: the mixture costs at most a tenth more than the best single forecaster; regrets are [trials]."""
    singles = {name: regret for name, regret in regrets.items() if name != "mixture"}
    best = min(singles, key=lambda name: float(singles[name].mean()))
    ratio = ratio_interval(regrets["mixture"], singles[best])
    text = f"{where}: the mixture's total regret is at most 10 % above that of the best single forecaster"
    holds = singles[best].mean() > 0 and ratio.high <= 1.1
    return Claim("X1", text, bool(holds), f"{ratio} times that of {best}")


def below(regrets: dict[str, Array], lower: str, upper: str) -> tuple[bool, str]:
    """Whether one forecaster's regret is below another's beyond doubt, and by how much."""
    gap = mean_interval(regrets[upper] - regrets[lower])
    return gap.low > 0, f"{upper} minus {lower}: {gap}"
