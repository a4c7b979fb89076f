"""The columns of the dashboard's sums: by arrival of events, and by time of prediction."""

from dataclasses import dataclass
from typing import NamedTuple

from presage.forecasters.contexts.layout import MEMBERS, ContextLayout
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool, experts_of
from presage.joining.join import Horizons

BINS = 10
"""Bins of predicted probabilities, for calibration."""

DELAYS = 96
"""Bins of delays: each reaches a quarter of a doubling further, the last to the horizon of the outcome."""

DOUBLING = 4
"""Bins in which a delay doubles."""

KINDS = ("predictions", "proxies", "outcomes", "absent_proxies", "absent_outcomes", "late", "parked")
"""Counts by arrival."""

LOSSES = ("rows", "served", "direct", "marginal", "over_direct", "over_marginal")
"""Sums over outcomes when they arrive: of losses, and of squared differences."""

COHORT = ("predictions", "proxy", "outcome", "early_rows", "early", "true_rows", "true", "true_squared")
"""Sums over predictions by when they were made: how many are settled, and losses expected and true."""


@dataclass(frozen=True)
class Columns:
    """The columns of both kinds of buckets, for so many proxies, outcomes and families of experts."""

    proxies: int
    outcomes: int
    families: int

    @property
    def losses(self) -> int:
        """The first of the columns of losses, by arrival."""
        return len(KINDS)

    @property
    def reliability(self) -> int:
        """The first of the columns of calibration, by arrival: rows, predicted, happened, for each outcome and bin."""
        return self.losses + len(LOSSES)

    @property
    def weights(self) -> int:
        """The first of the columns of weights, by arrival: how often they were looked at, and each family's."""
        return self.reliability + 3 * self.outcomes * BINS

    @property
    def by_arrival(self) -> int:
        """How many there are by arrival."""
        return self.weights + 1 + self.families

    @property
    def pairs(self) -> slice:
        """The counts of proxy and outcome, by prediction."""
        return slice(len(COHORT), self.delays)

    @property
    def delays(self) -> int:
        """The first of the columns of delays, by prediction: those of proxies, then those of outcomes."""
        return len(COHORT) + self.proxies * self.outcomes

    @property
    def by_prediction(self) -> int:
        """How many there are by prediction."""
        return self.delays + 2 * DELAYS


class Subject(NamedTuple):
    """The forecaster that the dashboard shows."""

    proxies: int
    outcomes: int
    horizons: Horizons
    families: tuple[str, ...] = ()  # of the experts, in order of their appearance; none unless it is a mixture
    direct: tuple[int, ...] = ()  # places of direct experts among all
    experts: int = 0
    coded: bool = False  # whether memos hold what the experts said as the default forecaster writes it


def subject_of(forecaster: Forecaster, horizons: Horizons) -> Subject:
    """What is watched of a forecaster."""
    spaces = forecaster.spaces
    coded = isinstance(forecaster.structure, ContextLayout)
    if not coded and not isinstance(forecaster.structure, Pool):
        return Subject(spaces.proxies, spaces.outcomes, horizons)
    families = [family for _, family in MEMBERS] if coded else [each.family for each in experts_of(forecaster)]
    direct = tuple(place for place, family in enumerate(families) if family == "direct")
    distinct = tuple(dict.fromkeys(families))
    return Subject(spaces.proxies, spaces.outcomes, horizons, distinct, direct, len(families), coded)
