"""Calibration against the obvious way to compute it."""

import numpy as np
import pytest

from presage.errors import SettingError, ShapeError
from presage.metrics.calibration import calibration_error, predicted_to_observed, reliability, wilson
from presage.spaces import Array


def predictions(rows: int, outcomes: int, seed: int) -> tuple[Array, Array]:
    """Probabilities, and outcomes drawn from them."""
    draw = np.random.default_rng(seed)
    probabilities = draw.dirichlet(np.ones(outcomes), rows)
    return probabilities, (probabilities.cumsum(axis=1) > draw.random((rows, 1))).argmax(axis=1)


def slow_calibration_error(probabilities: Array, y: Array, bins: int) -> float:
    inside: dict[int, list[tuple[float, bool]]] = {}
    for row, outcome in zip(probabilities, y, strict=True):
        if outcome >= 0:
            best = int(np.argmax(row))
            inside.setdefault(min(int(row[best] * bins), bins - 1), []).append((row[best], best == outcome))
    rows = sum(len(held) for held in inside.values())
    total = 0.0
    for held in inside.values():
        confidence, right = np.mean([c for c, _ in held]), np.mean([r for _, r in held])
        total += float(len(held) / rows * abs(confidence - right))
    return total


@pytest.mark.parametrize("outcomes", [2, 3, 5])
def test_the_calibration_error_is_that_of_the_obvious_loop(outcomes: int) -> None:
    probabilities, y = predictions(500, outcomes, seed=outcomes)
    y[::7] = -1
    probabilities[0] = np.eye(outcomes)[0]  # a confidence of 1 has a bin too
    for bins in (1, 10, 15):
        slow = slow_calibration_error(probabilities, y, bins)
        assert calibration_error(probabilities, y, bins) == pytest.approx(slow, rel=1e-9)


def test_true_probabilities_are_calibrated_and_sharpened_ones_are_not() -> None:
    probabilities, y = predictions(100_000, 3, seed=1)
    sharpened = probabilities**3 / (probabilities**3).sum(axis=1, keepdims=True)
    assert calibration_error(probabilities, y) < 0.01
    assert calibration_error(sharpened, y) > 0.1
    assert predicted_to_observed(probabilities, y) == pytest.approx(np.ones(3), abs=0.02)


def test_the_ratio_is_nan_for_an_outcome_that_never_came() -> None:
    assert np.isnan(predicted_to_observed(np.array([[0.5, 0.4, 0.1]]), np.array([0]))).tolist() == [False, True, True]


@pytest.mark.parametrize("equal", ["width", "rows"])
def test_a_reliability_table_holds_every_row_once(equal: str) -> None:
    probabilities, y = predictions(3000, 2, seed=2)
    table = reliability(probabilities[:, 1] ** 2, y == 1, 8, equal)
    assert table.rows.sum() == 3000
    assert table.rows @ table.predicted == pytest.approx((probabilities[:, 1] ** 2).sum())
    assert table.rows @ table.observed == pytest.approx((y == 1).sum())
    assert (np.diff(table.predicted) > 0).all()
    assert ((table.low <= table.observed) & (table.observed <= table.high)).all()
    if equal == "rows":
        assert table.rows.tolist() == [375] * 8


def test_equal_predictions_share_a_bin() -> None:
    table = reliability(np.repeat([0.1, 0.9], [600, 400]), np.zeros(1000, bool), 10, "rows")
    assert table.rows.tolist() == [600, 400]


def test_wilson_intervals_cover_and_stay_within_bounds() -> None:
    draw = np.random.default_rng(3)
    share = draw.binomial(40, 0.05, 5000) / 40
    low, high = wilson(share, np.full(5000, 40))
    assert np.mean((low <= 0.05) & (high >= 0.05)) > 0.93
    assert low.min() >= 0
    assert wilson(np.array([1.0]), np.array([5]))[1][0] == pytest.approx(1.0)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ShapeError, match="do not fit"):
        calibration_error(np.ones((3, 2)), np.zeros(2, int))
    with pytest.raises(ShapeError, match="no outcome is known"):
        calibration_error(np.full((2, 2), 0.5), np.array([-1, -1]))
    with pytest.raises(ShapeError, match="differ in length"):
        reliability(np.zeros(3), np.zeros(2, bool))
    with pytest.raises(SettingError, match="equal"):
        reliability(np.zeros(3), np.zeros(3, bool), equal="depth")
