"""The claims about the GitHub experiment, judged on what was measured."""

import numpy as np

from presage.experiments.claims import Claim, Measure, about_mixture, below, claim, some
from presage.experiments.github.problem import BIN, GithubRun
from presage.experiments.github.settings import GithubSettings
from presage.experiments.networks import NAMES
from presage.experiments.random_streams import RandomStream, stream
from presage.metrics.intervals import Interval, mean_interval, ratio_interval
from presage.metrics.losses import rounds_to_recover
from presage.spaces import Array

SINGLES = NAMES[:3]
CLOSE = 0.03
"""G1: how far from ignorance, and from each other, losses may be."""
LEAD = 1.5
"""G2: how many weeks before direct the others recover; a week and a half of the two between the delays."""
JUDGED = 0.7
"""G2: the share of the way back that counts as recovered."""
SHARES = (JUDGED, 0.8, 0.9)
"""The shares that are reported."""
APART = 0.02
"""G5: how far apart two probabilities must be to be called different."""
SMOOTH = 200  # rounds
RESAMPLES = 1000
LEAD_RESAMPLES = 300


def total_regret(run: GithubRun) -> dict[str, Array]:
    """The regret of each forecaster to the trained oracles over the whole episode, [trials]."""
    return {name: (run.losses[name] - run.losses["oracle"]).sum(axis=1) * BIN for name in NAMES}


def recovery_weeks(settings: GithubSettings, losses: Array, share: float = JUDGED) -> float:
    """How many weeks after the switch a share of what it cost is made up, by the mean losses [bins] of a forecaster."""
    week = settings.rounds_a_week // BIN
    smooth = max(1, SMOOTH // BIN)
    return rounds_to_recover(losses, settings.switch // BIN, week // 2, week, share=share, smooth=smooth) / week


def recoveries(settings: GithubSettings, run: GithubRun, share: float = JUDGED) -> dict[str, float]:
    """The weeks each forecaster takes to recover."""
    return {name: recovery_weeks(settings, run.losses[name].mean(axis=0), share) for name in NAMES}


def leads(settings: GithubSettings, run: GithubRun, share: float = JUDGED) -> dict[str, Interval]:
    """How many weeks before direct the others recover, with intervals over trials drawn again, all in pairs."""
    weeks = recoveries(settings, run, share)
    draw = stream(settings.seed, RandomStream.RESAMPLE, 1)
    trials = len(run.losses["direct"])
    weights = draw.multinomial(trials, np.full(trials, 1 / trials), LEAD_RESAMPLES) / trials  # [resamples, trials]
    again = {name: [recovery_weeks(settings, mean, share) for mean in weights @ run.losses[name]] for name in NAMES}
    found = {}
    for name in NAMES[1:]:
        low, high = np.percentile(np.subtract(again["direct"], again[name]), [2.5, 97.5])
        found[name] = Interval(weeks["direct"] - weeks[name], float(low), float(high))
    return found


def judge(settings: GithubSettings, run: GithubRun) -> list[Claim]:
    """Every claim with what was measured of it."""
    return [
        ignorance(settings, run),
        recovery(settings, run),
        at_the_end(settings, run),
        in_order(run),
        modes_differ(settings, run),
        about_mixture(total_regret(run), "github"),
    ]


def ignorance(settings: GithubSettings, run: GithubRun) -> Claim:
    """G1."""
    week = settings.rounds_a_week // BIN
    blind = min(settings.outcome_days / 7, settings.switch_week)
    switch, chance = settings.switch // BIN, float(np.log(2))
    early = {name: run.losses[name][:, : int(blind * week)].mean(axis=1) / chance for name in SINGLES}
    late = {name: run.losses[name][:, switch - week // 2 : switch].mean(axis=1) for name in SINGLES}
    near = {"least": 1 - CLOSE, "most": 1 + CLOSE}
    measures = [Measure(f"{name} until then over ln 2", mean_interval(early[name]), **near) for name in SINGLES]
    for name in SINGLES:
        over_chance = mean_interval(late[name] / chance)
        measures.append(Measure(f"{name} in the half week before the switch over ln 2", over_chance, most=1 - CLOSE))
    for name in SINGLES[1:]:
        measures.append(Measure(f"{name} over direct there", ratio_interval(late[name], late["direct"]), **near))
    text = (
        f"until week {blind:g} all have the loss of ignorance, ln 2, within {CLOSE:.0%}; in the half week before the "
        f"switch all are at least {CLOSE:.0%} below it, and within {CLOSE:.0%} of direct"
    )
    return claim("G1", text, *measures)


def recovery(settings: GithubSettings, run: GithubRun) -> Claim:
    """G2: judged at 70 % of the way; the leads at other shares are reported beside it."""
    found = leads(settings, run)
    measures = [Measure(f"{name}, weeks before direct", found[name], least=LEAD) for name in SINGLES[1:]]
    text = f"factored and residual are {JUDGED:.0%} of the way back at least {LEAD} weeks before direct"
    others = []
    for share in SHARES[1:]:
        weeks = recoveries(settings, run, share)
        lead = leads(settings, run, share)
        told = ", ".join(f"{name} {lead[name]} before direct" for name in SINGLES[1:])
        others.append(f"at {share:.0%} direct takes {weeks['direct']:.2f} weeks, {told}")
    direct = recoveries(settings, run)["direct"]
    return claim("G2", text, *measures, note="; ".join([f"direct takes {direct:.2f} weeks", *others]))


def at_the_end(settings: GithubSettings, run: GithubRun) -> Claim:
    """G3."""
    week = settings.rounds_a_week // BIN
    gap = mean_interval((run.losses["factored"] - run.losses["residual"])[:, -week:].mean(axis=1))
    text = "in the last week factored's loss stays above residual's"
    return claim("G3", text, Measure("factored minus residual, nats per round", gap, least=0.0))


def in_order(run: GithubRun) -> Claim:
    """G4."""
    regrets = total_regret(run)
    measures = below(regrets, "residual", "factored"), below(regrets, "factored", "direct")
    return claim("G4", "total regret: residual below factored below direct", *measures)


def modes_differ(settings: GithubSettings, run: GithubRun) -> Claim:
    """G5: intervals by drawing repositories again, for the moments of one repository are alike.

    There is one interval for each proxy, and they cover together with 95 %.
    """
    tail = 0.025 / run.modes["A"].shape[1]
    draw = stream(settings.seed, RandomStream.RESAMPLE)
    repositories = len(run.modes["A"])
    weights = draw.multinomial(repositories, np.full(repositories, 1 / repositories), RESAMPLES)
    gap = _active(run.modes["B"].sum(axis=0)) - _active(run.modes["A"].sum(axis=0))  # [Z]
    shape = run.modes["A"].shape[1:]
    drawn = [(weights @ run.modes[mode].reshape(repositories, -1)).reshape(-1, *shape) for mode in "BA"]
    low, high = np.percentile(_active(drawn[0]) - _active(drawn[1]), 100 * np.array([tail, 1 - tail]), axis=0)
    intervals = [Interval(*map(float, each)) for each in zip(gap, low, high, strict=True)]
    measures = tuple(
        Measure(f"given proxy {z}, difference of P(active) in B and A", _size(each), least=APART)
        for z, each in enumerate(intervals)
    )
    text = f"given some proxy, the probability of an active outcome differs by more than {APART:g} between the modes"
    signed = ", ".join(f"{each.mean:+.3f} given proxy {z}" for z, each in enumerate(intervals))
    return Claim("G5", text, some(measure.verdict for measure in measures), measures, f"B minus A: {signed}")


def _size(difference: Interval) -> Interval:
    """The size of a difference, whatever its sign.

    >>> _size(Interval(-0.3, -0.4, -0.2)), _size(Interval(0.1, -0.1, 0.2))
    (Interval(mean=0.3, low=0.2, high=0.4), Interval(mean=0.1, low=0.0, high=0.2))
    """
    mean, low, high = difference
    least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return Interval(abs(mean), least, max(abs(low), abs(high)))


def _active(counts: Array) -> Array:
    """The share of active outcomes given each proxy."""
    return counts[..., 1] / np.maximum(counts.sum(axis=-1), 1)
