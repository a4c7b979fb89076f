"""The claims about the GitHub experiment, judged on what was measured."""

import numpy as np

from presage.experiments.claims import Claim, about_mixture, below
from presage.experiments.github.problem import BIN, Run
from presage.experiments.github.settings import GithubSettings
from presage.experiments.networks import NAMES
from presage.experiments.streams import Stream, stream
from presage.metrics.intervals import Interval, mean_interval
from presage.metrics.recovery import rounds_to_recover
from presage.spaces import Array

SINGLES = NAMES[:3]
CLOSE = 0.03
LEAD = 1.5  # weeks
SMOOTH = 200  # rounds
RESAMPLES = 1000
LEAD_RESAMPLES = 300


def total_regret(run: Run) -> dict[str, Array]:
    """The regret of each forecaster to the trained oracles over the whole episode, [trials]."""
    return {name: (run.losses[name] - run.losses["oracle"]).sum(axis=1) * BIN for name in NAMES}


def recovery_weeks(settings: GithubSettings, losses: Array) -> float:
    """How many weeks after the switch 70 % of what it cost is made up, by the mean losses [bins] of a forecaster."""
    week = settings.rounds_a_week // BIN
    smooth = max(1, SMOOTH // BIN)
    return rounds_to_recover(losses, settings.switch // BIN, week // 2, week, smooth=smooth) / week


def recoveries(settings: GithubSettings, run: Run) -> dict[str, float]:
    """The weeks each forecaster takes to recover."""
    return {name: recovery_weeks(settings, run.losses[name].mean(axis=0)) for name in NAMES}


def leads(settings: GithubSettings, run: Run) -> dict[str, Interval]:
    """How many weeks before direct the others recover, with intervals over trials drawn again, all in pairs."""
    weeks = recoveries(settings, run)
    draw = stream(settings.seed, Stream.RESAMPLE, 1)
    trials = len(run.losses["direct"])
    weights = draw.multinomial(trials, np.full(trials, 1 / trials), LEAD_RESAMPLES) / trials  # [resamples, trials]
    again = {name: [recovery_weeks(settings, mean) for mean in weights @ run.losses[name]] for name in NAMES}
    found = {}
    for name in NAMES[1:]:
        low, high = np.percentile(np.subtract(again["direct"], again[name]), [2.5, 97.5])
        found[name] = Interval(weeks["direct"] - weeks[name], float(low), float(high))
    return found


def judge(settings: GithubSettings, run: Run) -> list[Claim]:
    """Every claim with what was measured of it."""
    return [
        ignorance(settings, run),
        recovery(settings, run),
        at_the_end(settings, run),
        in_order(run),
        modes_differ(settings, run),
        about_mixture(total_regret(run), "github"),
    ]


def ignorance(settings: GithubSettings, run: Run) -> Claim:
    """G1: judged on means; the interval of the one furthest off is given."""
    week = settings.rounds_a_week // BIN
    blind = min(settings.outcome_days / 7, settings.switch_week)
    chance = float(np.log(2))
    before = {name: mean_interval(run.losses[name][:, : int(blind * week)].mean(axis=1)) for name in SINGLES}
    furthest = max(before, key=lambda name: abs(before[name].mean - chance))
    switch = settings.switch // BIN
    after = {name: float(run.losses[name][:, switch - week // 2 : switch].mean()) for name in SINGLES}
    share = abs(before[furthest].mean / chance - 1)
    spread = max(after.values()) / min(after.values()) - 1
    fallen = max(after.values()) < (1 - CLOSE) * chance
    text = f"until week {blind:g} all have the loss of ignorance, ln 2 (within 3 %), then they fall together"
    measured = (
        f"until then {share:.1%} off at most ({furthest} {before[furthest]}); in the half week before the switch "
    )
    measured += ", ".join(f"{name} {loss:.3f}" for name, loss in after.items())
    return Claim("G1", text, share <= CLOSE and fallen and spread <= CLOSE, f"{measured} ({spread:.1%} apart)")


def recovery(settings: GithubSettings, run: Run) -> Claim:
    """G2."""
    found = {name: lead for name, lead in leads(settings, run).items() if name != "mixture"}
    text = f"factored and residual recover from the switch at least {LEAD} weeks before direct (the paper: about 2.5)"
    measured = ", ".join(f"{name} {lead} weeks earlier" for name, lead in found.items())
    takes = recoveries(settings, run)["direct"]
    return Claim("G2", text, min(lead.low for lead in found.values()) >= LEAD, f"{measured}; direct takes {takes:.2f}")


def at_the_end(settings: GithubSettings, run: Run) -> Claim:
    """G3."""
    week = settings.rounds_a_week // BIN
    gap = mean_interval((run.losses["factored"] - run.losses["residual"])[:, -week:].mean(axis=1))
    text = "in the last week factored's loss stays above residual's"
    return Claim("G3", text, gap.low > 0, f"factored minus residual: {gap} nats a round")


def in_order(run: Run) -> Claim:
    """G4."""
    regrets = total_regret(run)
    both = [below(regrets, "residual", "factored"), below(regrets, "factored", "direct")]
    measured = "; ".join(f"{name} {mean_interval(regrets[name])}" for name in SINGLES)
    gaps = "; ".join(words for _, words in both)
    return Claim(
        "G4",
        "total regret: residual below factored below direct",
        all(is_so for is_so, _ in both),
        f"{measured}; {gaps}",
    )


def modes_differ(settings: GithubSettings, run: Run) -> Claim:
    """G5: intervals by drawing repositories again, for the moments of one repository are alike.

    There is one interval for each proxy, and they cover together with 95 %.
    """
    tail = 0.025 / run.modes["A"].shape[1]
    draw = stream(settings.seed, Stream.RESAMPLE)
    repositories = len(run.modes["A"])
    weights = draw.multinomial(repositories, np.full(repositories, 1 / repositories), RESAMPLES)
    gap = _active(run.modes["B"].sum(axis=0)) - _active(run.modes["A"].sum(axis=0))  # [Z]
    shape = run.modes["A"].shape[1:]
    drawn = [(weights @ run.modes[mode].reshape(repositories, -1)).reshape(-1, *shape) for mode in "BA"]
    low, high = np.percentile(_active(drawn[0]) - _active(drawn[1]), 100 * np.array([tail, 1 - tail]), axis=0)
    text = "given a proxy, outcomes are distributed differently in the two modes"
    measured = "P(active) in B minus in A: " + ", ".join(
        f"{g:+.3f} [{a:.3f}, {b:.3f}] given proxy {z}" for z, (g, a, b) in enumerate(zip(gap, low, high, strict=True))
    )
    return Claim("G5", text, bool(((low > 0) | (high < 0)).any()), measured)


def _active(counts: Array) -> Array:
    """The share of active outcomes given each proxy."""
    return counts[..., 1] / np.maximum(counts.sum(axis=-1), 1)
