"""The claims about the synthetic experiment, judged on what was measured."""

from itertools import pairwise

import numpy as np

from presage.experiments.claims import Claim
from presage.experiments.synthetic.problem import Point
from presage.experiments.synthetic.settings import SyntheticSettings
from presage.metrics.bounds import direct_bound, factored_bound
from presage.metrics.intervals import Interval, mean_interval, ratio_interval
from presage.spaces import Array
from presage.timeline.delays import Delays

ABOUT_FOUR = (3.0, 5.0)
ABOUT_TWO = (1.5, 2.5)


def judge(settings: SyntheticSettings, mixes: Array, regrets: dict[str, Array], points: list[Point]) -> list[Claim]:
    """Every claim with what was measured of it."""
    direct = regrets["direct"]
    return [
        below_direct(mixes, direct, regrets["factored-100"]),
        diluted(direct[0], regrets["factored-75"][0]),
        useless(mixes, direct, regrets["factored-0"]),
        steadiness(direct, regrets["factored-100"]),
        bounded(settings, direct, regrets["factored-100"], points),
        growth(points),
    ]


def below_direct(mixes: Array, direct: Array, factored: Array) -> Claim:
    """S1."""
    gaps = [mean_interval(gap) for gap in direct - factored]
    least = min(range(len(gaps)), key=lambda at: gaps[at].low)
    measured = f"direct minus factored-100 is least at mix {mixes[least]:g}: {gaps[least]}"
    text = "factored-100 has less regret than direct at every mix"
    return Claim("S1", text, all(gap.low > 0 for gap in gaps), measured)


def diluted(direct: Array, factored: Array) -> Claim:
    """S2."""
    gap = mean_interval(direct - factored)
    text = "factored-75 has less regret than direct on the adversarial schedule"
    return Claim("S2", text, gap.low > 0, f"direct minus factored-75 at mix 0: {gap}")


def useless(mixes: Array, direct: Array, factored: Array) -> Claim:
    """S3."""
    late = mixes >= 0.25
    gaps = [mean_interval(gap) for gap in (factored - direct)[late]]
    least = min(gaps, key=lambda gap: gap.low)
    text = "factored-0 has more regret than direct at every mix from 0.25"
    return Claim("S3", text, least.low > 0, f"factored-0 minus direct is at least {least}")


def steadiness(direct: Array, factored: Array) -> Claim:
    """S4."""
    ranges = [float(np.ptp(curve.mean(axis=1))) for curve in (direct, factored)]
    text = "over the mixes, direct's mean regret ranges at least 4 times as widely as factored-100's"
    measured = f"{ranges[0]:.0f} against {ranges[1]:.0f}: {ranges[0] / ranges[1]:.1f} times"
    return Claim("S4", text, ranges[0] >= 4 * ranges[1], measured)


def bounded(settings: SyntheticSettings, direct: Array, factored: Array, points: list[Point]) -> Claim:
    """S5."""
    sizes = settings.rounds, settings.delay, settings.instances, settings.outcomes
    delays = Delays(settings.proxy_delay, settings.delay)
    expected = factored_bound(settings.rounds, delays, settings.instances, settings.proxies, settings.outcomes)
    # Direct's bound holds for every sequence, so for every trial; factored's in expectation.
    shares = [direct.max() / direct_bound(*sizes), max(factored.mean(axis=1)) / expected]
    for point in points:
        most = point.regrets.max() if point.forecaster == "direct" else point.regrets.mean()
        shares.append(most / point.bound)
    text = "measured regret lies below its bound everywhere: direct in every trial, factored on average"
    return Claim(
        "S5", text, bool(max(shares) < 1), f"at most {max(shares):.0%} of the bound, over {len(shares)} comparisons"
    )


def growth(points: list[Point]) -> Claim:
    """S6."""
    found = {name: doubling_ratios(points, name) for name in ("direct", "factored")}
    holds = all(
        low <= ratio.mean <= high
        for name, (low, high) in (("direct", ABOUT_FOUR), ("factored", ABOUT_TWO))
        for ratio in found[name]
    )
    text = "doubling delay and instances together multiplies adversarial regret by about 4 (3 to 5) for direct, "
    measured = "; ".join(f"{name} {', '.join(map(str, ratios))}" for name, ratios in found.items())
    return Claim("S6", f"{text}about 2 (1.5 to 2.5) for factored-100", holds, measured)


def doubling_ratios(points: list[Point], forecaster: str) -> list[Interval]:
    """By what adversarial regret is multiplied with each doubling."""
    chosen = [p.regrets for p in points if (p.along, p.schedule, p.forecaster) == ("both", "adversarial", forecaster)]
    return [ratio_interval(after, before) for before, after in pairwise(chosen)]
