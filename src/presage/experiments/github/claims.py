"""The claims about the GitHub experiment, judged on what was measured."""

import numpy as np

from presage.experiments.claims import Claim, about_mixture, below
from presage.experiments.github.problem import BIN, Run
from presage.experiments.github.settings import GithubSettings
from presage.experiments.networks import NAMES
from presage.metrics.intervals import mean_interval
from presage.metrics.recovery import rounds_to_recover
from presage.spaces import Array

SINGLES = NAMES[:3]
CLOSE = 0.03
LEAD = 1.5  # weeks
SMOOTH = 200  # rounds
RESAMPLES = 1000


def total_regret(run: Run) -> dict[str, Array]:
    """The regret of each forecaster to the trained oracles over the whole episode, [trials]."""
    return {name: (run.losses[name] - run.losses["oracle"]).sum(axis=1) * BIN for name in NAMES}


def recovery_weeks(settings: GithubSettings, run: Run) -> dict[str, float]:
    """How many weeks after the switch each forecaster has made up 70 % of what it cost."""
    week = settings.rounds_a_week // BIN
    return {
        name: rounds_to_recover(
            run.losses[name].mean(axis=0), settings.switch // BIN, week // 2, week, smooth=max(1, SMOOTH // BIN)
        )
        / week
        for name in NAMES
    }


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
    """G1."""
    week = settings.rounds_a_week // BIN
    blind = min(settings.outcome_days / 7, settings.switch_week)
    means = {name: run.losses[name].mean(axis=0) for name in SINGLES}
    before = {name: float(mean[: int(blind * week)].mean()) for name, mean in means.items()}
    switch = settings.switch // BIN
    after = {name: float(mean[switch - week // 2 : switch].mean()) for name, mean in means.items()}
    chance = float(np.log(2))
    share = max(abs(loss / chance - 1) for loss in before.values())
    spread = max(after.values()) / min(after.values()) - 1
    fallen = max(after.values()) < (1 - CLOSE) * chance
    text = f"until week {blind:g} all have the loss of ignorance, ln 2 (within 3 %), then they fall together"
    measured = f"until then at most {share:.1%} off; in the half week before the switch " + ", ".join(
        f"{name} {loss:.3f}" for name, loss in after.items()
    )
    return Claim("G1", text, share <= CLOSE and fallen and spread <= CLOSE, f"{measured} ({spread:.1%} apart)")


def recovery(settings: GithubSettings, run: Run) -> Claim:
    """G2."""
    weeks = recovery_weeks(settings, run)
    leads = {name: weeks["direct"] - weeks[name] for name in ("factored", "residual")}
    text = f"factored and residual recover from the switch at least {LEAD} weeks before direct (the paper: about 2.5)"
    measured = ", ".join(f"{name} {lead:.2f} weeks earlier" for name, lead in leads.items())
    return Claim("G2", text, min(leads.values()) >= LEAD, f"{measured}; direct takes {weeks['direct']:.2f}")


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
    """G5: intervals by drawing repositories again, for the moments of one repository are alike."""
    draw = np.random.default_rng([settings.seed, 3])
    repositories = len(run.modes["A"])
    weights = draw.multinomial(repositories, np.full(repositories, 1 / repositories), RESAMPLES)
    gap = _active(run.modes["B"].sum(axis=0)) - _active(run.modes["A"].sum(axis=0))  # [Z]
    shape = run.modes["A"].shape[1:]
    drawn = [(weights @ run.modes[mode].reshape(repositories, -1)).reshape(-1, *shape) for mode in "BA"]
    low, high = np.percentile(_active(drawn[0]) - _active(drawn[1]), [2.5, 97.5], axis=0)
    text = "given a proxy, outcomes are distributed differently in the two modes"
    measured = "P(active) in B minus in A: " + ", ".join(
        f"{g:+.3f} [{a:.3f}, {b:.3f}] given proxy {z}" for z, (g, a, b) in enumerate(zip(gap, low, high, strict=True))
    )
    return Claim("G5", text, bool(((low > 0) | (high < 0)).any()), measured)


def _active(counts: Array) -> Array:
    """The share of active outcomes given each proxy."""
    return counts[..., 1] / np.maximum(counts.sum(axis=-1), 1)
