"""M1 to M5 and X1 on losses made up: each holds, fails, and cannot be told, where that is what the numbers say."""

import numpy as np
import pytest

from presage.experiments.claims import Verdict
from presage.experiments.marketplace.claims import judge, regret_curves, regret_splits
from presage.experiments.marketplace.problem import ScheduleRun
from presage.experiments.marketplace.settings import PAPER
from presage.spaces import Array
from tests.experiments.verdicts import SPREAD, TRIALS

HOLDS, FAILS, CANNOT_TELL = Verdict.HOLDS, Verdict.FAILS, Verdict.CANNOT_TELL

Rates = dict[str, tuple[float, float, float]]
"""Regret per round of each forecaster: before the first outcomes, up to the last third, and in it."""

NOISE = {"direct": 0, "factored": 7, "residual": 14, "mixture": 21}

STAGGERED: Rates = {
    "direct": (0.5, 0.3, 0.3),
    "factored": (0.5, 0.2, 0.2),
    "residual": (0.5, 0.15, 0.15),
    "mixture": (0.5, 0.15, 0.15),
}
UNIFORM: Rates = {
    "direct": (0.4, 0.2, 0.1),
    "factored": (0.4, 0.25, 0.15),
    "residual": (0.4, 0.2, 0.1),
    "mixture": (0.4, 0.2, 0.1),
}


def run(rates: Rates, spread: float = 0.01) -> ScheduleRun:
    truth = np.full((TRIALS, 21 * 24), 0.9)
    losses: dict[str, Array] = {"truth": truth}
    for name, (blind, middle, last) in rates.items():
        course = np.repeat([blind, middle, last], [7 * 24, 7 * 24, 7 * 24])
        losses[name] = truth + course * (1 + spread * np.roll(SPREAD, NOISE[name]))[:, None]
    return ScheduleRun(losses, np.zeros((42, 100)), None)


def verdicts(staggered: Rates, uniform: Rates, spread: float = 0.01) -> dict[str, Verdict]:
    """By claim; X1 with its schedule."""
    runs = {"staggered": run(STAGGERED | staggered, spread), "uniform": run(UNIFORM | uniform, spread)}
    claims = judge(PAPER, runs)
    return {f"X1 {claim.text.split(':')[0]}" if claim.id == "X1" else claim.id: claim.verdict for claim in claims}


def test_all_hold_where_the_paper_is_right() -> None:
    assert verdicts({}, {}) == dict.fromkeys(["M1", "M2", "M3", "M4", "M5", "X1 staggered", "X1 uniform"], HOLDS)


@pytest.mark.parametrize(
    ("id", "staggered", "uniform", "verdict"),
    [
        ("M1", {"factored": (0.5, 0.31, 0.31)}, {}, FAILS),
        ("M1", {"residual": (0.5, 0.31, 0.31)}, {}, FAILS),
        ("M1", {"direct": (0.1, 0.1, 0.1)}, {}, FAILS),
        ("M1", {"factored": (0.5, 0.3, 0.3)}, {}, CANNOT_TELL),
        ("M1", {}, {"direct": (0.1, 0.1, 0.1)}, HOLDS),  # the other schedule says nothing of it
        ("M2", {"residual": (0.5, 0.25, 0.25)}, {}, FAILS),
        ("M2", {"residual": (0.5, 0.2, 0.2)}, {}, CANNOT_TELL),
        ("M2", {}, {"residual": (0.9, 0.9, 0.9)}, HOLDS),
        ("M3", {}, {"residual": (0.5, 0.206, 0.103)}, HOLDS),
        ("M3", {}, {"residual": (0.5, 0.214, 0.107)}, FAILS),
        ("M3", {}, {"residual": (0.5, 0.6, 0.3)}, FAILS),  # three times direct's
        ("M3", {}, {"residual": (0.5, 0.21, 0.105)}, CANNOT_TELL),
        ("M3", {}, {"residual": (0.1, 0.3, 0.3)}, FAILS),  # what was saved before the first outcomes does not count
        ("M3", {}, {"factored": (0.5, 0.2, 0.1)}, FAILS),  # a claim that factored meets too says nothing
        ("M4", {}, {"factored": (0.5, 0.15, 0.08)}, FAILS),
        ("M4", {}, {"factored": (0.5, 0.3, 0.09)}, FAILS),  # in the end direct must be ahead
        ("M4", {}, {"factored": (0.5, 0.1, 0.15)}, FAILS),  # and from the first outcomes on
        ("M4", {}, {"factored": (0.1, 0.25, 0.15)}, HOLDS),
        ("M4", {}, {"factored": (0.5, 0.2, 0.1)}, CANNOT_TELL),
        ("M5", {}, {"direct": (0.6, 0.4, 0.2)}, FAILS),
        ("M5", {}, {"factored": (0.6, 0.25, 0.15)}, FAILS),
        ("M5", {"residual": (0.35, 0.15, 0.15)}, {}, FAILS),
        ("M5", {}, {"direct": (0.5, 0.3, 0.3)}, CANNOT_TELL),
        ("X1 staggered", {"mixture": (0.6, 0.18, 0.18)}, {}, FAILS),
        ("X1 staggered", {"mixture": (0.54, 0.16, 0.16)}, {}, HOLDS),
        ("X1 uniform", {}, {"mixture": (0.6, 0.24, 0.12)}, FAILS),
        ("X1 uniform", {}, {"mixture": (0.44, 0.22, 0.11)}, CANNOT_TELL),
    ],
)
def test_regret_decides(id: str, staggered: Rates, uniform: Rates, verdict: Verdict) -> None:
    assert verdicts(staggered, uniform)[id] is verdict


def test_wild_trials_cannot_tell() -> None:
    assert set(verdicts({}, {}, spread=20.0).values()) == {CANNOT_TELL}


@pytest.mark.parametrize(
    ("bin", "since", "last_third"), [(7 * 24 - 1, 0, 0), (7 * 24, 90, 0), (14 * 24 - 1, 90, 0), (14 * 24, 90, 90)]
)
def test_a_stretch_of_days_begins_with_its_first_bin(bin: int, since: int, last_third: int) -> None:
    losses = {name: np.zeros((TRIALS, 21 * 24)) for name in ("truth", *STAGGERED)}
    losses["direct"][:, bin] = 1.0  # of 90 rounds
    curves = regret_curves(PAPER, ScheduleRun(losses, np.zeros((42, 100)), None))
    found = {split: regrets["direct"][0] for split, regrets in regret_splits(PAPER, curves).items()}
    assert found == {"total": 90, "since": since, "last_third": last_third}
