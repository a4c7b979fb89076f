"""The claims about the synthetic experiment, judged on what was measured."""

import numpy as np

from presage.experiments.claims import Claim, Measure, claim
from presage.experiments.random_streams import RandomStream, stream
from presage.experiments.synthetic.problem import Point
from presage.experiments.synthetic.settings import SyntheticSettings
from presage.metrics.bounds import direct_bound, factored_bound
from presage.metrics.intervals import Interval, log_slope_interval, mean_interval
from presage.spaces import Array
from presage.timeline.episode import Delays

STEADY = 4.0
"""S4: how many times as widely direct's regret ranges over the mixes."""
NEAR = 0.25
"""S6 and S7: how far from 2, or from 1, an exponent of growth may be."""
RESAMPLES = 400


def judge(settings: SyntheticSettings, mixes: Array, regrets: dict[str, Array], points: list[Point]) -> list[Claim]:
    """Every claim with what was measured of it."""
    direct = regrets["direct"]
    return [
        below_direct(mixes, direct, regrets["factored-100"]),
        diluted(direct[0], regrets["factored-75"][0]),
        useless(mixes, direct, regrets["factored-0"]),
        steadiness(settings, direct, regrets["factored-100"]),
        bounded(settings, direct, regrets["factored-100"], points),
        adversarial_growth(points),
        uniform_growth(points),
    ]


def below_direct(mixes: Array, direct: Array, factored: Array) -> Claim:
    """S1."""
    gaps = [mean_interval(gap) for gap in direct - factored]
    least = min(range(len(gaps)), key=lambda at: gaps[at].low)
    measure = Measure(f"direct minus factored-100 is least at mix {mixes[least]:g},", gaps[least], least=0.0)
    return claim("S1", "factored-100 has less regret than direct at every mix", measure)


def diluted(direct: Array, factored: Array) -> Claim:
    """S2."""
    gap = Measure("direct minus factored-75 at mix 0", mean_interval(direct - factored), least=0.0)
    return claim("S2", "factored-75 has less regret than direct on the adversarial schedule", gap)


def useless(mixes: Array, direct: Array, factored: Array) -> Claim:
    """S3."""
    gaps = [mean_interval(gap) for gap in (factored - direct)[mixes >= 0.25]]
    least = Measure("factored-0 minus direct is at least", min(gaps, key=lambda gap: gap.low), least=0.0)
    return claim("S3", "factored-0 has more regret than direct at every mix from 0.25", least)


def steadiness(settings: SyntheticSettings, direct: Array, factored: Array) -> Claim:
    """S4: the interval is of trials drawn again, at each mix and for each forecaster together."""
    trials = direct.shape[1]
    draw = stream(settings.seed, RandomStream.RESAMPLE)
    weights = draw.multinomial(trials, np.full(trials, 1 / trials), RESAMPLES).T / trials  # [trials, resamples]
    again = np.ptp(direct @ weights, axis=0) / np.ptp(factored @ weights, axis=0)
    ranges = [float(np.ptp(curve.mean(axis=1))) for curve in (direct, factored)]
    low, high = np.percentile(again, [2.5, 97.5])
    ratio = Interval(ranges[0] / ranges[1], float(low), float(high))
    text = f"over the mixes, direct's mean regret ranges at least {STEADY:g} times as widely as factored-100's"
    measure = Measure(f"{ranges[0]:.0f} against {ranges[1]:.0f}, a ratio of", ratio, least=STEADY)
    return claim("S4", text, measure)


def bounded(settings: SyntheticSettings, direct: Array, factored: Array, points: list[Point]) -> Claim:
    """S5: direct's bound holds for every sequence, so for every trial; factored's in expectation."""
    delays = Delays(settings.proxy_delay, settings.delay)
    of_direct = direct_bound(settings.rounds, settings.delay, settings.instances, settings.outcomes)
    of_factored = factored_bound(settings.rounds, delays, settings.instances, settings.proxies, settings.outcomes)
    each = [(direct.ravel(), of_direct)]
    each += [(point.regrets, point.bound) for point in points if point.forecaster == "direct"]
    worst = max(float(regrets.max()) / bound for regrets, bound in each)
    means = [mean_interval(regrets / of_factored) for regrets in factored]
    means += [mean_interval(point.regrets / point.bound) for point in points if point.forecaster == "factored"]
    measures = (
        Measure("direct in its worst trial, as a share of the bound,", Interval(worst, worst, worst), most=1.0),
        Measure("factored-100 on average, at most", max(means, key=lambda share: share.high), most=1.0),
    )
    text = "measured regret lies below its bound everywhere: direct in every trial, factored-100 on average"
    return claim("S5", text, *measures, note=f"over {len(each) + len(means)} comparisons")


def adversarial_growth(points: list[Point]) -> Claim:
    """S6."""
    measures = _near(points, "adversarial", "direct", 2), _near(points, "adversarial", "factored", 1)
    text = (
        "adversarial schedule, delay and instances scaled together: regret grows with the square of the scale for "
        f"direct and with the scale for factored-100 (slope of log regret within {NEAR} of 2, and of 1)"
    )
    return claim("S6", text, *measures)


def uniform_growth(points: list[Point]) -> Claim:
    """S7."""
    measures = [_near(points, "uniform", name, 1) for name in ("direct", "factored")]
    text = f"uniform schedule, the same: regret grows with the scale for both (slope within {NEAR} of 1)"
    return claim("S7", text, *measures)


def growth_slope(points: list[Point], schedule: str, forecaster: str) -> Interval:
    """The slope of the logarithm of mean regret over that of the scale of delay and instances together."""
    chosen = [p for p in points if (p.along, p.schedule, p.forecaster) == ("both", schedule, forecaster)]
    scales = np.array([point.delay / chosen[0].delay for point in chosen])
    return log_slope_interval(scales, [point.regrets for point in chosen])


def bound_slope(points: list[Point], schedule: str, forecaster: str) -> float:
    """The same slope of the bound."""
    chosen = [p for p in points if (p.along, p.schedule, p.forecaster) == ("both", schedule, forecaster)]
    scales = np.log([point.delay / chosen[0].delay for point in chosen])
    return float(np.polyfit(scales, np.log([point.bound for point in chosen]), 1)[0])


def _near(points: list[Point], schedule: str, forecaster: str, exponent: float) -> Measure:
    slope = growth_slope(points, schedule, forecaster)
    what = f"slope of {forecaster} (its bound's: {bound_slope(points, schedule, forecaster):.2f})"
    return Measure(what, slope, least=exponent - NEAR, most=exponent + NEAR)
