"""The claims about the marketplace experiment, judged on what was measured."""

import numpy as np

from presage.experiments.claims import Claim, Measure, Verdict, about_mixture, below, claim
from presage.experiments.marketplace.problem import BINS_A_DAY, ScheduleRun
from presage.experiments.marketplace.settings import MarketplaceRunSettings
from presage.experiments.networks import NAMES
from presage.metrics.intervals import Interval, mean_interval, ratio_interval
from presage.spaces import Array

CLOSE = 1.05
"""M3: below this many times direct's regret a forecaster does as well as direct."""

Regrets = dict[str, Array]
"""Regret by forecaster, [trials]."""


def regret_curves(settings: MarketplaceRunSettings, run: ScheduleRun) -> dict[str, Array]:
    """The regret of each forecaster to the true model so far, [trials, bins]."""
    size = settings.rounds_a_day // BINS_A_DAY
    return {name: np.cumsum(run.losses[name] - run.losses["truth"], axis=1) * size for name in NAMES}


def regret_splits(settings: MarketplaceRunSettings, curves: dict[str, Array]) -> dict[str, Regrets]:
    """The regret over all days, since the first outcomes, and over the last third of the days."""
    bins = curves["direct"].shape[1]
    starts = {"total": 0, "since": settings.outcome_days * BINS_A_DAY, "last_third": 2 * bins // 3}
    return {
        split: {name: curve[:, -1] - (curve[:, start - 1] if start else 0) for name, curve in curves.items()}
        for split, start in starts.items()
    }


def judge(settings: MarketplaceRunSettings, runs: dict[str, ScheduleRun]) -> list[Claim]:
    """Every claim with what was measured of it."""
    splits = {schedule: regret_splits(settings, regret_curves(settings, run)) for schedule, run in runs.items()}
    staggered, uniform = splits["staggered"], splits["uniform"]
    return [
        through_proxies(staggered["total"]),
        corrected(staggered["total"]),
        as_well_as_direct(settings, uniform["since"]),
        behind_direct(settings, uniform),
        easier(staggered["total"], uniform["total"]),
        about_mixture(staggered["total"], "staggered"),
        about_mixture(uniform["total"], "uniform"),
    ]


def through_proxies(regrets: Regrets) -> Claim:
    """M1."""
    text = "Staggered: factored and residual have less regret than direct"
    return claim("M1", text, below(regrets, "factored", "direct"), below(regrets, "residual", "direct"))


def corrected(regrets: Regrets) -> Claim:
    """M2."""
    return claim("M2", "Staggered: residual has less regret than factored", below(regrets, "residual", "factored"))


def as_well_as_direct(settings: MarketplaceRunSettings, regrets: Regrets) -> Claim:
    """M3: residual's ratio to direct must lie below `CLOSE`, and factored's must not, or the claim says nothing."""
    residual = Measure("residual over direct", _ratio(regrets, "residual"), most=CLOSE)
    factored = Measure("factored over direct", _ratio(regrets, "factored"), least=CLOSE)
    text = (
        f"Uniform, from day {settings.outcome_days} on: residual's regret is below {CLOSE} times direct's, "
        "and factored's is not"
    )
    verdict = Verdict.FAILS if factored.verdict is Verdict.FAILS else residual.verdict
    return Claim("M3", text, verdict, (residual, factored))


def behind_direct(settings: MarketplaceRunSettings, splits: dict[str, Regrets]) -> Claim:
    """M4."""
    named = {"since": f"from day {settings.outcome_days} on", "last_third": "over the last third"}
    found = {words: below(splits[split], "direct", "factored") for split, words in named.items()}
    measures = [measure._replace(what=f"{words}, {measure.what}") for words, measure in found.items()]
    text = f"Uniform: direct has less regret than factored, {' and '.join(named.values())}"
    return claim("M4", text, *measures)


def easier(staggered: Regrets, uniform: Regrets) -> Claim:
    """M5."""
    found = {name: mean_interval(staggered[name] - uniform[name]) for name in ("direct", "factored", "residual")}
    measures = [Measure(f"{name}, Staggered minus Uniform", found[name], least=0.0) for name in found]
    return claim("M5", "direct, factored and residual have less regret on Uniform than on Staggered", *measures)


def _ratio(regrets: Regrets, name: str) -> Interval:
    return ratio_interval(regrets[name], regrets["direct"])
