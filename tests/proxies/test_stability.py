"""The tests of stability: right as often as they say, and awake to what changes."""

import numpy as np
import pytest

from presage.proxies.stability import Statistic, connection, crowding, stability
from presage.spaces import Array
from tests.proxies.logs import launches


def test_one_stratum_gives_pearsons_statistic() -> None:
    draw = np.random.default_rng(0)
    column, y = draw.integers(0, 4, 300), draw.integers(0, 3, 300)
    table = np.zeros((4, 3))
    np.add.at(table, (column, y), 1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / 300
    pearson = ((table - expected) ** 2 / expected).sum() * 299 / 300
    found = connection(np.zeros(300, int), column, y, (4, 3))
    assert found.value == pytest.approx(pearson)
    assert (found.freedom, found.rows) == (6, 300)


def test_many_small_strata_give_a_chi_square_under_shuffling() -> None:
    """300 shuffles of outcomes within 80 strata of 4 rows: mean and variance of the statistic are right."""
    draw = np.random.default_rng(1)
    stratum, column = np.repeat(np.arange(80), 4), draw.integers(0, 3, 320)
    own = draw.random(80)[stratum]  # strata differ, which must not matter
    values = []
    for _ in range(300):
        found = connection(stratum, column, (draw.random(320) < own).astype(int), (3, 2))
        assert found.freedom == 2
        values.append(found.value)
    assert np.mean(values) == pytest.approx(2.0, abs=3 * 2 / np.sqrt(300))
    assert np.var(values) == pytest.approx(4.0, rel=0.5)


def test_chunks_of_strata_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(2)
    parts = draw.integers(0, 50, 400), draw.integers(0, 3, 400), draw.integers(0, 3, 400)
    whole = connection(*parts, (3, 3))
    monkeypatch.setattr("presage.proxies.stability.CHUNK", 7)
    assert connection(*parts, (3, 3)).value == pytest.approx(whole.value)


def test_strata_that_tell_nothing_are_not_counted() -> None:
    assert connection(np.arange(5), np.zeros(5, int), np.zeros(5, int), (2, 2)) == Statistic()


def p_values(tilt: float, seeds: int) -> Array:
    found = []
    for seed in range(seeds):
        log, z = launches(seed, tilt=tilt, rows=2000)
        steady = stability(log.x, z, log.y, (3, 2), log.cohort)
        found.append((steady.over_time, steady.over_cohorts, steady.p))
    return np.array(found)


@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_a_steady_proxy_is_seldom_said_to_drift(tilt: float) -> None:
    """60 logs: no more false alarms at 5 % than chance allows, though instances come, go and differ."""
    p = p_values(tilt, 60)
    assert ((p < 0.05).mean(axis=0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)).all()
    assert (p < 0.01).mean() < 0.05


def test_outcomes_of_one_day_that_go_together_are_no_drift() -> None:
    alarms = 0
    for seed in range(30):
        draw = np.random.default_rng(seed)
        x, z = draw.integers(0, 50, 3000), draw.integers(0, 3, 3000)
        mood = draw.normal(0, 1.0, 300).repeat(10)
        y = (draw.random(3000) < 1 / (1 + np.exp(1 - z - mood))).astype(int)
        alarms += stability(x, z, y, (3, 2)).over_time < 0.01
    assert alarms <= 2


def test_drift_is_noticed_within_instances_and_across_them() -> None:
    draw = np.random.default_rng(3)
    rows = 3000
    z = draw.integers(0, 2, rows)
    turn = np.arange(rows) * 2 // rows  # z means the opposite in the second half
    y = np.where(draw.random(rows) < 0.8, z ^ turn, draw.integers(0, 2, rows))
    few, new = draw.integers(0, 20, rows), np.arange(rows) // 10
    for x in (few, new):
        steady = stability(x, z, y, (2, 2))
        assert steady.over_time < 1e-6
        assert steady.drift.value > 0.1
        assert steady.drift.low > 0
        assert np.isnan(steady.over_cohorts)


def test_cohorts_that_differ_are_noticed_and_their_instances_are_allowed_to() -> None:
    draw = np.random.default_rng(4)
    x = draw.integers(0, 60, 4000)
    cohort, z = x % 2, draw.integers(0, 2, 4000)
    for effect, low, high in ((0.0, 0.01, 1.0), (1.5, 0.0, 0.001)):
        odds = 2.0 * z - 1 + effect * cohort + draw.normal(0, 0.5, 60)[x]
        y = (draw.random(4000) < 1 / (1 + np.exp(-odds))).astype(int)
        steady = stability(x, z, y, (2, 2), cohort)
        assert low <= steady.over_cohorts <= high
        assert steady.p == min(1.0, 2 * min(steady.over_time, steady.over_cohorts))


def test_crowding_is_1_for_rows_alone_and_grows_with_what_they_share() -> None:
    draw = np.random.default_rng(5)
    crowd, cell = np.repeat(np.arange(400), 5), np.tile([0, 1, 2, 3, 4], 400)
    assert crowding(crowd, cell, draw.integers(0, 3, 2000), 3)[0] == pytest.approx(1.0, abs=0.1)
    excess, freedom = crowding(crowd, cell * 0, draw.integers(0, 3, 400).repeat(5), 3)
    assert excess == pytest.approx(5.0, rel=0.05)
    assert 200 < freedom <= 400
    assert crowding(crowd, cell, np.zeros(2000, int), 3) == (1.0, 0.0)
