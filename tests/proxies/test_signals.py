"""What is judged is checked where it enters; variants keep what they should."""

from typing import Any

import numpy as np
import pytest

from presage.errors import DelayError, InputError, SettingError, ShapeError, SymbolError
from presage.proxies.candidates import cut_points, cuts_of, horizons
from presage.proxies.judge import lead_time, spoken
from presage.proxies.signals import PredictionRows, ProxyCandidate

GOOD: dict[str, Any] = {
    "x": np.array([3, 0, 3]),
    "shown_at": np.array([0.0, 1.0, 1.0]),
    "y": np.array([0, -1, 1]),
    "delay": np.array([21.0, np.nan, 20.0]),
    "outcomes": 2,
}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": np.array([], int)}, ShapeError, "one instance a row"),
        ({"x": np.array([-1, 0, 0])}, ShapeError, "count from 0"),
        ({"x": np.array([0.5, 0, 0])}, SymbolError, "whole numbers"),
        ({"y": np.array([0, 2, 1])}, SymbolError, "outcome symbol outside its space: found 2"),
        ({"y": np.array([0, 1])}, ShapeError, "outcome has no value for each row"),
        ({"delay": np.array([21.0, 1.0, -1.0])}, DelayError, "the outcome of row 2 has no delay: found -1.0"),
        ({"delay": np.array([np.nan, 1.0, 1.0])}, DelayError, "the outcome of row 0 has no delay"),
        ({"shown_at": np.array([0.0, 2.0, 1.0])}, InputError, "row 2 was shown before the row above it"),
        ({"shown_at": np.array([0.0, np.nan, 1.0])}, InputError, "shown_at of row 1 is not a moment"),
        ({"cohort": np.array([0, 1])}, ShapeError, "cohort has no value for each row"),
        ({"cohort": np.array([0, -1, 0])}, SymbolError, "cohort symbol"),
    ],
)
def test_what_cannot_be_right_is_refused(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PredictionRows(**(GOOD | change))


def test_unknown_outcomes_need_no_delay() -> None:
    log = PredictionRows(**GOOD)
    assert log.known.tolist() == [True, False, True]
    assert np.isnan(log.delay[1])


def test_a_candidate_may_have_one_delay_for_all_rows() -> None:
    sign = ProxyCandidate("sign", np.array([0, -1, 1]), 2.0, 2)
    assert sign.delay[[0, 2]].tolist() == [2.0, 2.0]
    assert np.isnan(sign.delay[1])
    with pytest.raises(DelayError, match="proxy sign of row 0"):
        ProxyCandidate("sign", np.array([0]), np.array([np.inf]), 1)
    with pytest.raises(SymbolError, match="proxy sign symbol"):
        ProxyCandidate("sign", np.array([3]), 1.0, 3)


def test_cut_points_merge_neighbours_and_keep_what_is_unknown() -> None:
    sign = ProxyCandidate("count", np.array([0, 1, 2, 3, -1]), 1.0, 4)
    variants = {variant.name: variant for variant in cut_points(sign)}
    assert len(variants) == 3 + 3
    assert variants["count cut at 2"].z.tolist() == [0, 0, 1, 1, -1]
    assert variants["count cut at 1, 3"].z.tolist() == [0, 1, 1, 2, -1]
    assert len(cuts_of(4)) == len(variants)
    assert list(cut_points(ProxyCandidate("binary", np.array([0, 1]), 1.0, 2))) == []


def test_a_horizon_is_known_when_it_is_over() -> None:
    row, delay = np.array([0, 0, 0, 2]), np.array([0.1, 0.9, 2.5, 1.0])
    day, three = horizons("click", row, delay, 3, days=(1, 3), edges=(1, 3))
    assert (day.z.tolist(), three.z.tolist()) == ([1, 0, 1], [2, 0, 1])
    assert day.symbols == 3
    assert set(three.delay) == {3.0}
    with pytest.raises(SettingError, match="edges must rise"):
        horizons("click", row, delay, 3, edges=(3, 1))


def test_the_lead_is_the_median_with_an_interval_that_covers() -> None:
    draw = np.random.default_rng(0)
    hits = []
    for _ in range(400):
        lead = lead_time(np.zeros(101), draw.exponential(10.0, 101))
        hits.append(lead.low <= 10 * np.log(2) <= lead.high)
    assert np.mean(hits) > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)
    assert np.isnan(lead_time(np.array([np.nan]), np.array([1.0]))).all()


@pytest.mark.parametrize(
    ("days", "words"),
    [(20.2, "20 days"), (1.0, "1 day"), (0.5, "12 hours"), (1 / 24, "1 hour"), (0.01, "14 minutes"), (0, "less than")],
)
def test_spans_are_spoken_as_people_do(days: float, words: str) -> None:
    assert spoken(days).startswith(words)
