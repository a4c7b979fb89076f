"""The claims about the marketplace experiment, judged on what was measured."""

import numpy as np

from presage.experiments.claims import Claim, about_mixture, below
from presage.experiments.marketplace.problem import BINS_A_DAY, ScheduleRun
from presage.experiments.marketplace.settings import MarketplaceRunSettings
from presage.experiments.networks import NAMES
from presage.metrics.intervals import mean_interval, ratio_interval
from presage.spaces import Array

CLOSE = 1.03


def regret_curves(settings: MarketplaceRunSettings, run: ScheduleRun) -> dict[str, Array]:
    """The regret of each forecaster to the true model so far, [trials, bins]."""
    size = settings.rounds_a_day // BINS_A_DAY
    return {name: np.cumsum(run.losses[name] - run.losses["truth"], axis=1) * size for name in NAMES}


def judge(settings: MarketplaceRunSettings, runs: dict[str, ScheduleRun]) -> list[Claim]:
    """Every claim with what was measured of it."""
    curves = {schedule: regret_curves(settings, run) for schedule, run in runs.items()}
    totals = {schedule: {name: curve[:, -1] for name, curve in each.items()} for schedule, each in curves.items()}
    return [
        through_proxies(totals["staggered"]),
        corrected(totals["staggered"]),
        harmless(totals["uniform"]),
        late(curves["uniform"]),
        about_mixture(totals["staggered"], "staggered"),
        about_mixture(totals["uniform"], "uniform"),
    ]


def through_proxies(regrets: dict[str, Array]) -> Claim:
    """M1."""
    both = [below(regrets, name, "direct") for name in ("factored", "residual")]
    text = "Staggered: factored and residual have less regret than direct"
    means = "; ".join(f"{name} {mean_interval(regrets[name])}" for name in NAMES[:3])
    gaps = "; ".join(words for _, words in both)
    return Claim("M1", text, all(is_so for is_so, _ in both), f"{means}; {gaps}")


def corrected(regrets: dict[str, Array]) -> Claim:
    """M2."""
    gap = mean_interval(regrets["residual"] - regrets["factored"])
    text = "Staggered: residual does not have more regret than factored, beyond chance"
    return Claim("M2", text, gap.low <= 0, f"residual minus factored: {gap}")


def harmless(regrets: dict[str, Array]) -> Claim:
    """M3."""
    ratio = ratio_interval(regrets["residual"], regrets["direct"])
    text = "Uniform: residual's regret is within 3 % of direct's, or below it"
    return Claim("M3", text, ratio.high <= CLOSE, f"residual {ratio} times direct")


def late(curves: dict[str, Array]) -> Claim:
    """M4."""
    start = 2 * curves["direct"].shape[1] // 3
    last = {name: curve[:, -1] - curve[:, start - 1] for name, curve in curves.items()}
    holds, words = below(last, "direct", "factored")
    text = "Uniform: over the last third direct has less regret than factored"
    return Claim("M4", text, holds, words)
