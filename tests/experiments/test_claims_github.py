"""G1 to G5 and X1 on losses made up: each holds, fails, and cannot be told, where that is what the numbers say."""

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from presage.experiments.claims import Verdict
from presage.experiments.github import claims
from presage.experiments.github.problem import GithubRun
from presage.experiments.github.settings import PAPER
from presage.spaces import Array
from tests.experiments.verdicts import SPREAD, TRIALS, around, verdict_of

HOLDS, FAILS, CANNOT_TELL = Verdict.HOLDS, Verdict.FAILS, Verdict.CANNOT_TELL

BINS = 2016
WEEK = 1008 / 5  # bins
SWITCH = 4.5
LN_2 = float(np.log(2))


def stretch(first: float, last: float) -> slice:
    """The bins between two weeks."""
    return slice(round(first * WEEK), round(last * WEEK))


def course(back: float, end: float, turn: int) -> Array:
    """Losses of ignorance for three weeks, then low; high from the switch until `back` weeks after it, then `end`."""
    losses = np.full((TRIALS, BINS), LN_2)
    losses[:, stretch(3, SWITCH)] = 0.5
    losses[:, stretch(SWITCH, SWITCH + back)] = 1.0
    losses[:, stretch(SWITCH + back, 10)] = end
    return losses + 0.002 * np.roll(SPREAD, turn)[:, None]


LOSSES = {
    "direct": course(3.2, 0.52, 0),
    "factored": course(1.4, 0.56, 7),
    "residual": course(1.4, 0.53, 14),
    "mixture": course(1.4, 0.54, 21),
    "oracle": np.full((TRIALS, BINS), 0.45),
}


def counts(active: tuple[float, ...], spread: float = 0.0) -> Array:
    """Outcomes of 40 repositories given each proxy, of which a share is active, more in some of them."""
    shares = np.clip(around(list(active), spread), 0, 1).T  # [repositories, Z]
    return np.round(1000 * np.stack([1 - shares, shares], axis=-1)).astype(np.int64)


MODES = {"A": counts((0.15, 0.4, 0.8), 0.05), "B": counts((0.36, 0.41, 0.8), 0.05)}


def judged(id: str, losses: dict[str, Array] | None = None, modes: dict[str, Array] | None = None) -> Verdict:
    return verdict_of(id, claims.judge(PAPER, GithubRun(LOSSES | (losses or {}), MODES | (modes or {}), 0.0)))


def moved(name: str, first: float, last: float, value: float, spread: float = 0.002) -> dict[str, Array]:
    """The losses with those of one forecaster between two weeks replaced."""
    losses = LOSSES[name].copy()
    losses[:, stretch(first, last)] = (value + spread * np.roll(SPREAD, 3))[:, None]
    return {name: losses}


@pytest.fixture(autouse=True)
def _fewer_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LEAD_RESAMPLES", 60)


@pytest.mark.parametrize("id", ["G1", "G2", "G3", "G4", "G5", "X1"])
def test_all_hold_where_the_paper_is_right(id: str) -> None:
    assert judged(id) is HOLDS


@pytest.mark.parametrize(
    ("id", "changes", "verdict"),
    [
        ("G1", moved("direct", 0, 3, 1.04 * LN_2), FAILS),
        ("G1", moved("direct", 0, 3, 1.02 * LN_2), HOLDS),
        ("G1", moved("factored", 0, 3, 0.96 * LN_2), FAILS),
        ("G1", moved("residual", 0, 3, 1.03 * LN_2), CANNOT_TELL),
        ("G1", moved("residual", 4, SWITCH, 0.5 * 1.04), FAILS),  # not as low as direct before the switch
        ("G1", moved("residual", 4, SWITCH, 0.5 * 1.02), HOLDS),
        ("G1", {name: moved(name, 4, SWITCH, 0.99 * LN_2)[name] for name in LOSSES}, FAILS),  # nothing was learnt
        ("G1", {name: moved(name, 3, 4, 0.9)[name] for name in LOSSES}, HOLDS),  # the half week before alone counts
        ("G2", {"factored": course(1.6, 0.56, 7)}, HOLDS),
        ("G2", {"factored": course(1.8, 0.56, 7)}, FAILS),
        ("G2", {"residual": course(1.8, 0.53, 7)}, FAILS),
        ("G2", {"factored": course(3.1, 0.56, 7), "residual": course(3.1, 0.53, 7)}, FAILS),  # a lead of 0.1
        ("G2", {"direct": course(1.4, 0.52, 7)}, FAILS),
        ("G3", moved("factored", 9, 10, 0.52), FAILS),
        ("G3", moved("factored", 9, 10, 0.53), CANNOT_TELL),
        ("G3", moved("factored", 7, 8.9, 0.1), HOLDS),  # the last week alone counts
        ("G4", {"factored": LOSSES["residual"], "residual": LOSSES["factored"]}, FAILS),
        ("G4", {"direct": LOSSES["factored"], "factored": LOSSES["direct"]}, FAILS),
        ("G4", {"factored": LOSSES["direct"]}, CANNOT_TELL),
        ("X1", {"mixture": LOSSES["direct"]}, FAILS),
        ("X1", {"mixture": LOSSES["residual"]}, HOLDS),
    ],
)
def test_losses_decide(id: str, changes: dict[str, Any], verdict: Verdict) -> None:
    assert judged(id, changes) is verdict


def test_a_lead_that_some_trials_have_cannot_be_told() -> None:
    early = course(1.4, 0.56, 7)
    late = course(2.4, 0.56, 7)
    some = np.where((np.arange(TRIALS) < 0.7 * TRIALS)[:, None], early, late)  # 70 % of the way is made by 70 % of them
    assert judged("G2", {"factored": some}) is CANNOT_TELL


def test_the_interval_of_a_lead_is_of_differences_within_trials() -> None:
    """Trials recover after 0.5 to 2.5 weeks, and direct 1.8 weeks later in each; or in another one."""
    own = 1.5 + SPREAD
    early, late = (np.concatenate([course(back, 0.5, 0)[:1] for back in turns]) for turns in (own, own + 1.8))
    widths = []
    for direct in (late, np.roll(late, TRIALS // 2, axis=0)):
        found = claims.leads(PAPER, GithubRun(LOSSES | {"factored": early, "direct": direct}, MODES, 0.0))["factored"]
        assert found.mean == pytest.approx(1.8, abs=0.02)
        widths.append(found.high - found.low)
    assert widths[0] < 0.05
    assert widths[1] > 0.3


def test_the_way_back_leads_from_the_first_half_week_to_the_last_week() -> None:
    losses = np.zeros(BINS)
    after = stretch(SWITCH, 10)
    losses[after] = np.linspace(1, 0, after.stop - after.start)  # for five and a half weeks
    high, low = 1 - 0.25 / 5.5, 0.5 / 5.5
    expected = 5.5 * (1 - high + 0.7 * (high - low))
    assert claims.recovery_weeks(PAPER, losses) == pytest.approx(expected, abs=0.02)


def test_total_regret_is_over_all_rounds() -> None:
    losses = {name: np.full((TRIALS, BINS), 0.5) for name in LOSSES} | {"oracle": np.full((TRIALS, BINS), 0.2)}
    found = claims.total_regret(GithubRun(losses, MODES, 0.0))["direct"]
    assert PAPER.rounds == 10080
    assert found == pytest.approx(np.full(TRIALS, 0.3 * PAPER.rounds))


@pytest.mark.parametrize(
    ("over", "spread", "verdict"), [(1.08, 0.01, HOLDS), (1.12, 0.01, FAILS), (1.1, 0.1, CANNOT_TELL)]
)
def test_the_mixture_may_cost_a_tenth_more_than_the_best(over: float, spread: float, verdict: Verdict) -> None:
    best = LOSSES["residual"] - LOSSES["oracle"]
    mixed = LOSSES["oracle"] + best * (over + spread * np.roll(SPREAD, 11))[:, None]
    assert judged("X1", {"mixture": mixed}) is verdict


@pytest.mark.parametrize(
    ("shares", "spread", "verdict"),
    [
        ((0.15, 0.4, 0.8), 0.05, FAILS),
        ((0.16, 0.41, 0.81), 0.05, FAILS),  # a difference, but a small one
        ((0.15, 0.4, 0.75), 0.05, HOLDS),  # one proxy is enough, and either sign
        ((0.17, 0.4, 0.8), 0.15, CANNOT_TELL),
    ],
)
def test_modes_decide(shares: tuple[float, ...], spread: float, verdict: Verdict) -> None:
    assert judged("G5", modes={"A": counts((0.15, 0.4, 0.8), 0.05), "B": counts(shares, spread)}) is verdict


def test_modes_that_differ_in_a_few_repositories_cannot_be_told() -> None:
    one = MODES["A"].copy()
    one[0, 0] = one[0, 0, ::-1] * 2
    assert judged("G5", modes={"B": one}) is CANNOT_TELL


@pytest.mark.parametrize("proxies", [1, 3])
def test_the_intervals_of_all_proxies_cover_together(proxies: int) -> None:
    """Each leaves out its part of 5 %: Bonferroni. Repositories vary in mode A alone, and evenly."""
    modes = {"A": counts((0.2,) * proxies, 0.1), "B": counts((0.6,) * proxies)}
    found = claims.modes_differ(PAPER, GithubRun(LOSSES, modes, 0.0))
    expected = ndtri(1 - 0.025 / proxies) * np.std(0.1 * SPREAD) / np.sqrt(TRIALS)
    halves = [(each.interval.high - each.interval.low) / 2 for each in found.measures]
    assert len(halves) == proxies
    assert np.mean(halves) == pytest.approx(expected, rel=0.08)
