"""S1 to S7 on trials made up: each holds, fails, and cannot be told, where that is what the numbers say."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from presage.experiments.claims import Verdict
from presage.experiments.synthetic.claims import judge
from presage.experiments.synthetic.problem import Point
from presage.experiments.synthetic.settings import PAPER
from presage.metrics.bounds import direct_bound, factored_bound
from presage.timeline.episode import Delays
from tests.experiments.verdicts import SPREAD, around, verdict_of

HOLDS, FAILS, CANNOT_TELL = Verdict.HOLDS, Verdict.FAILS, Verdict.CANNOT_TELL

MIXES = np.array([0.0, 0.2, 0.25, 0.5, 1.0])
CURVES = {
    "direct": around([1000, 700, 500, 300, 200]),
    "factored-100": around([150, 130, 120, 110, 100], turn=7),
    "factored-75": around([500, 400, 350, 310, 300], turn=7),
    "factored-0": around([900, 650, 700, 650, 600], turn=7),
}
OF_DIRECT = direct_bound(1000, 100, 10, 5)
OF_FACTORED = factored_bound(1000, Delays(0, 100), 10, 4, 5)


def grown(slopes: dict[tuple[str, str], float], spread: float = 0.02, bound: float = 1e9) -> list[Point]:
    return [
        Point("both", schedule, 25 * scale, 5 * scale, name, 50 * scale**slope * (1 + spread * SPREAD), bound, None)
        for (schedule, name), slope in slopes.items()
        for scale in (1, 2, 4, 8)
    ]


SLOPES = {
    ("adversarial", "direct"): 2.0,
    ("adversarial", "factored"): 1.0,
    ("uniform", "direct"): 1.0,
    ("uniform", "factored"): 1.0,
}


def judged(id: str, curves: dict[str, Any] | None = None, points: list[Point] | None = None) -> Verdict:
    given = {name: np.asarray(curve) for name, curve in (curves or {}).items()}
    return verdict_of(id, judge(PAPER, MIXES, CURVES | given, grown(SLOPES) if points is None else points))


def moved(name: str, at: int, to: float, spread: float = 1.0) -> dict[str, Any]:
    """The curves with the trials of one at one mix replaced."""
    curve = CURVES[name].copy()
    curve[at] = around(to, spread, turn=7)
    return {name: curve}


@pytest.mark.parametrize("id", [f"S{number}" for number in range(1, 8)])
def test_all_hold_where_the_paper_is_right(id: str) -> None:
    assert judged(id) is HOLDS


@pytest.mark.parametrize(
    ("id", "changes", "verdict"),
    [
        ("S1", moved("factored-100", 3, 301), FAILS),
        ("S1", moved("factored-100", 4, 199), HOLDS),
        ("S1", moved("factored-100", 0, 1000), CANNOT_TELL),
        ("S2", moved("factored-75", 0, 1001), FAILS),
        ("S2", moved("factored-75", 0, 1000), CANNOT_TELL),
        ("S2", moved("factored-75", 4, 900), HOLDS),  # the adversarial schedule alone counts
        ("S3", moved("factored-0", 2, 499), FAILS),  # from mix 0.25 on
        ("S3", moved("factored-0", 1, 400), HOLDS),
        ("S3", moved("factored-0", 4, 200), CANNOT_TELL),
        ("S4", {"factored-100": around([300, 140, 130, 120, 110])}, HOLDS),  # 800 to 190
        ("S4", {"factored-100": around([320, 140, 130, 120, 110])}, FAILS),  # 800 to 210
        ("S4", {"factored-100": around([300, 150, 130, 120, 100], 60, 7)}, CANNOT_TELL),
        ("S5", moved("direct", 0, OF_DIRECT + 0.5), FAILS),  # its worst trial is above
        ("S5", moved("direct", 0, OF_DIRECT - 1.5), HOLDS),
        ("S5", moved("factored-100", 2, OF_FACTORED + 1), FAILS),
        ("S5", moved("factored-100", 2, OF_FACTORED), CANNOT_TELL),
        ("S5", moved("factored-100", 2, OF_FACTORED - 0.5), HOLDS),  # though some trials are above
    ],
)
def test_a_curve_decides(id: str, changes: dict[str, Any], verdict: Verdict) -> None:
    assert judged(id, changes) is verdict


def test_the_ratio_of_ranges_is_of_the_same_trials_on_both_sides() -> None:
    """Trials range from 0.1 to 1.9 times the mean, but in each one direct ranges 4.1 times as widely."""
    each = 1 + 0.9 * SPREAD
    ranging = {
        "direct": np.outer([510, 300, 250, 150, 100], each),
        "factored-100": np.outer([150, 90, 70, 60, 50], each),
    }
    assert judged("S4", ranging) is HOLDS
    assert judged("S4", ranging | {"factored-100": ranging["factored-100"][:, ::-1]}) is CANNOT_TELL


@pytest.mark.parametrize(("id", "schedule", "forecaster"), [("S6", *who) for who in SLOPES if who[0] == "adversarial"])
@pytest.mark.parametrize(("off", "verdict"), [(0.2, HOLDS), (-0.2, HOLDS), (0.3, FAILS), (-0.3, FAILS)])
def test_adversarial_growth_has_the_right_exponent(
    id: str, schedule: str, forecaster: str, off: float, verdict: Verdict
) -> None:
    who = (schedule, forecaster)
    assert judged(id, points=grown(SLOPES | {who: SLOPES[who] + off})) is verdict
    assert judged("S7", points=grown(SLOPES | {who: SLOPES[who] + off})) is HOLDS


@pytest.mark.parametrize("forecaster", ["direct", "factored"])
@pytest.mark.parametrize(("slope", "verdict"), [(1.2, HOLDS), (1.3, FAILS), (0.7, FAILS), (2.0, FAILS)])
def test_uniform_growth_is_linear_for_both(forecaster: str, slope: float, verdict: Verdict) -> None:
    assert judged("S7", points=grown(SLOPES | {("uniform", forecaster): slope})) is verdict


def test_noisy_growth_cannot_be_told() -> None:
    wild = grown(SLOPES | {("adversarial", "direct"): 1.8, ("uniform", "direct"): 1.2}, spread=0.9)
    assert judged("S6", points=wild) is CANNOT_TELL
    assert judged("S7", points=wild) is CANNOT_TELL


def test_a_bound_is_of_its_own_point() -> None:
    assert judged("S5", points=grown(SLOPES, bound=50 * 8**2 * 1.03)) is HOLDS
    assert judged("S5", points=grown(SLOPES, bound=50 * 8**2 * 0.97)) is FAILS
    one = [
        point._replace(bound=point.regrets.mean()) if point.forecaster == "factored" else point
        for point in grown(SLOPES)
    ]
    assert judged("S5", points=one) is CANNOT_TELL


def test_trials_of_a_smaller_experiment_are_held_against_its_own_bound() -> None:
    small = replace(PAPER, delay=1, rounds=100)
    assert verdict_of("S5", judge(small, MIXES, CURVES, grown(SLOPES))) is FAILS
