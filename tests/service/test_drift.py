"""Drift of g: an alarm that can be trusted."""

import math

import numpy as np
import pytest

from presage.metrics.shift import shift
from presage.service.dashboard.buckets import BucketRows
from presage.service.dashboard.drift import LEAST_COST, DriftMonitor, DriftState, drift_found
from presage.service.dashboard.feedback_panels import drift_words
from presage.service.dashboard.fold import Watch
from presage.spaces import Array
from tests.service.played import (
    DAY,
    HOUR,
    START,
    SUBJECT,
    happen,
    play,
    telling,
)


def cohorts(draw: np.random.Generator, groups: int, rows: int, spread: float = 0.0, turn: int | None = None) -> Array:
    """Counts [groups, 3, 2]; log-odds wander from group to group, and are others from group `turn` on."""
    odds = np.tile([-2.5, -0.5, 1.2], (groups, 1)) + draw.normal(0, spread, (groups, 3))
    if turn is not None:
        odds[turn:] -= [0.0, 0.5, 1.5]
    z = draw.multinomial(rows, [0.3, 0.4, 0.3], groups)
    ones = draw.binomial(z, 1 / (1 + np.exp(-odds)))
    return np.stack([z - ones, ones], axis=-1)


def looked(tables: Array) -> list[DriftState]:
    """What is said after each group, by one who forgets those before the last hundred."""
    found, monitor = [], DriftMonitor(3, 2)
    for upto in range(1, len(tables) + 1):
        start = DAY * np.arange(upto)[-100:]
        stretch = BucketRows(start, start + DAY, tables[:upto][-100:].reshape(len(start), -1).astype(float))
        found.append(monitor.update(stretch, float(tables[: upto - len(start)].sum())).state)
    return found


@pytest.mark.parametrize(("rows", "spread"), [(40, 0.0), (400, 0.0), (400, 0.3)])
def test_hardly_ever_is_there_an_alarm_or_a_word_where_g_does_not_change(rows: int, spread: float) -> None:
    draw = np.random.default_rng([rows, int(10 * spread)])
    streams = [looked(cohorts(draw, 120, rows, spread)) for _ in range(25)]
    assert not any(state is DriftState.ALARM for stream in streams for state in stream)
    # A sign in one stream of a hundred is allowed: more than 3 of 25 has a chance of 3e-5.
    assert sum(DriftState.SLIGHT in stream for stream in streams) <= 3
    assert streams[0][0] is DriftState.UNKNOWN
    assert streams[0][-1] is DriftState.STABLE


def test_an_alarm_comes_soon_after_g_has_changed_and_names_the_time() -> None:
    draw = np.random.default_rng(5)
    for _ in range(20):
        tables = cohorts(draw, 60, 100, 0.1, turn=40)
        found = looked(tables)
        assert DriftState.ALARM not in found[:40]
        assert DriftState.ALARM in found[40:50], "a thousand rows are enough"
        start = DAY * np.arange(60)
        verdict = drift_found(BucketRows(start, start + DAY, tables.reshape(60, -1).astype(float)), (3, 2), 60)
        assert verdict.state is DriftState.ALARM
        assert verdict.since is not None
        assert abs(verdict.since - 40 * DAY) <= 3 * DAY
        assert verdict.nats > LEAST_COST
        assert drift_words(verdict, (3, 2)).startswith("Changed:")


def test_a_change_too_small_to_matter_is_told_and_raises_no_alarm() -> None:
    draw = np.random.default_rng(6)
    z = draw.multinomial(200_000, [0.3, 0.4, 0.3], 30)
    odds = np.tile([-2.5, -0.5, 1.2], (30, 1)) + 0.1 * (np.arange(30) >= 15)[:, None]
    ones = draw.binomial(z, 1 / (1 + np.exp(-odds)))
    start = DAY * np.arange(30)
    tables = np.stack([z - ones, ones], axis=-1).reshape(30, -1).astype(float)
    verdict = drift_found(BucketRows(start, start + DAY, tables), (3, 2), 30)
    assert verdict.state is DriftState.SLIGHT
    assert "slight change" in drift_words(verdict, (3, 2))


def test_the_chance_of_a_split_is_about_right_where_nothing_changes() -> None:
    draw = np.random.default_rng(7)
    p = np.array([shift(cohorts(draw, 10, 300)).p for _ in range(400)])
    assert (p < 0.05).mean() < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    assert (p < 0.5).mean() > 0.1, "it can be small"


def test_the_cost_of_an_older_g_is_its_divergence() -> None:
    before, after = np.array([[700.0, 300.0]]), np.array([[300.0, 700.0]])
    found = shift(np.stack([before] * 8 + [after] * 8) * 100)
    assert found.split == 8
    assert found.nats == pytest.approx(0.7 * math.log(0.7 / 0.3) + 0.3 * math.log(0.3 / 0.7), abs=0.001)


@pytest.mark.long
def test_the_watch_raises_the_alarm_once_changed_predictions_have_matured() -> None:
    events = happen(2400, seed=8, turn=1200)
    states: dict[DriftState, int] = {}
    watch = Watch(SUBJECT)
    for entries in play(events).shown:
        watch.add_entries(entries)
        states.setdefault(watch.update_drift().state, watch.at)
    assert DriftState.STABLE in states
    turned = START + 360 * HOUR
    assert turned < states[DriftState.ALARM] < turned + 10 * DAY + 200 * HOUR, (
        "after some hundred rows that have matured"
    )
    since = watch.update_drift().since
    assert since is not None
    assert abs(since - turned) < 4 * DAY


@pytest.mark.long
def test_outcomes_that_are_known_at_different_times_raise_no_alarm() -> None:
    watch = Watch(SUBJECT)
    for entries in play(happen(1500, seed=9, delay=telling)).shown:
        watch.add_entries(entries)
        assert watch.update_drift().state in (DriftState.UNKNOWN, DriftState.STABLE)
    assert watch.update_drift().state is DriftState.STABLE
