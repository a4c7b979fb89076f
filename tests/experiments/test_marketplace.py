"""The marketplace experiment in small: its schedules, its truth, and that it runs from settings alone."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from presage.errors import DataError, SettingError
from presage.experiments.marketplace.experiment import reproduce_marketplace
from presage.experiments.marketplace.problem import acquire
from presage.experiments.marketplace.schedules import chances, draw_items
from presage.experiments.marketplace.settings import PAPER, SMOKE, TUNED
from presage.experiments.random_streams import RandomStream, stream
from presage.worlds.marketplace import Market, MarketplaceSettings

MARKET = MarketplaceSettings(items=150).deal(0)


def test_staggered_brings_new_items_each_noon_on_their_own_launch_curves() -> None:
    items = draw_items(MARKET, PAPER, "staggered", np.random.default_rng(0))
    schedule = chances(MARKET, PAPER, "staggered", items)
    assert schedule.shape == (42, 100)
    assert np.allclose(schedule.sum(axis=1), 1)
    assert len(set(items.tolist())) == 100
    assert (schedule[0] > 0).sum() == (schedule[1] > 0).sum() == 5  # the morning before the first noon too
    for half_day in range(42):
        launched = min(100, 5 * ((half_day + 1) // 2)) if half_day else 5
        weights = np.zeros(100)
        for item in range(launched):
            noon = 2 * (item // 5) + 1
            weights[item] = MARKET.launch[items[item], max(half_day - noon, 0) // 2]
        assert np.allclose(schedule[half_day], weights / weights.sum()), half_day


def test_uniform_averages_two_days_in_the_afternoon() -> None:
    items = draw_items(MARKET, PAPER, "uniform", np.random.default_rng(0))
    schedule = chances(MARKET, PAPER, "uniform", items)
    days = MARKET.calendar[items] / MARKET.calendar[items].sum(axis=0)  # [items, days]
    assert schedule.shape == (42, 100)
    assert np.allclose(schedule[0::2], days.T)
    assert np.allclose(schedule[1:41:2], (days[:, :-1] + days[:, 1:]).T / 2)
    assert np.allclose(schedule[41], days[:, -1])


@pytest.mark.parametrize("items_a_day", [5, 20, 50])
def test_from_5_to_50_items_a_day_come_from_settings_alone(items_a_day: int) -> None:
    settings = replace(SMOKE, items_a_day=items_a_day)
    acquired = acquire(MARKET, settings, "staggered", np.arange(2))
    assert acquired.episode.z.shape == (2, settings.days * settings.rounds_a_day)
    assert acquired.schedule.shape == (2 * settings.days, settings.launches)


def test_the_true_loss_is_that_of_knowing_every_item() -> None:
    acquired = acquire(MARKET, replace(SMOKE, round_seconds=10), "uniform", np.arange(1))
    x, y = acquired.episode.x[0], acquired.episode.y[0]
    assert np.allclose(acquired.truth.sum(axis=1), 1)
    assert np.allclose(acquired.true_loss[0], -np.log(acquired.truth[x, y]))
    seen = np.bincount(y[x == np.bincount(x).argmax()], minlength=4) / np.bincount(x).max()
    expected = acquired.truth[np.bincount(x).argmax()]
    error = np.sqrt(expected * (1 - expected) / np.bincount(x).max())
    assert (np.abs(seen - expected) < 4 * error + 1e-9).all()


def test_outcomes_follow_the_proxies_that_are_told() -> None:
    settings = replace(SMOKE, round_seconds=10)
    episode = acquire(MARKET, settings, "uniform", np.arange(1)).episode
    items = draw_items(MARKET, settings, "uniform", stream(settings.seed, RandomStream.TRIAL, 1, 0))[episode.x[0]]
    for z in range(4):
        rows = episode.z[0] == z
        likely = MARKET.outcomes[items[rows], z]  # [rows, Y]
        seen, error = np.bincount(episode.y[0, rows], minlength=4), np.sqrt((likely * (1 - likely)).sum(axis=0))
        assert (np.abs(seen - likely.sum(axis=0)) < 4 * error + 1e-9).all(), z


def test_every_trial_draws_items_of_its_own() -> None:
    both = acquire(MARKET, SMOKE, "staggered", np.array([0, 1]))
    second = acquire(MARKET, SMOKE, "staggered", np.array([1]))
    assert np.array_equal(both.episode.x[1], second.episode.x[0])
    assert not np.array_equal(both.schedule, second.schedule)


@pytest.mark.long
def test_a_small_run_gives_a_whole_report() -> None:
    told: list[int] = []
    _, files = reproduce_marketplace(SMOKE, lambda seed: (MARKET, "a test"), told.append)
    assert sum(told) == 2 * SMOKE.trials
    pictures = {f"figure-{number}.{kind}" for number in (6, 7) for kind in ("svg", "png")}
    assert set(files) == pictures | {"results.json", "staggered.csv", "uniform.csv"}
    kept = json.loads(files["results.json"])
    assert [claim["id"] for claim in kept["claims"]] == ["M1", "M2", "M3", "M4", "M5", "X1", "X1"]
    for schedule in ("staggered", "uniform"):
        assert set(kept["results"][schedule]["regret"]) == {"direct", "factored", "residual", "mixture"}
        assert len(kept["results"][schedule]["day"]) == 24 * SMOKE.days
        first = kept["results"][schedule]["first_trial"]
        assert abs(first["oracles"] - first["truth"]) < 0.5


def test_a_market_with_too_few_items_is_refused() -> None:
    small = Market(*(part[:60] for part in MARKET))
    for schedule in ("staggered", "uniform"):
        with pytest.raises(DataError, match="too few items"):
            draw_items(small, TUNED, schedule, np.random.default_rng(0))


@pytest.mark.parametrize("change", [{"days": 30}, {"outcome_days": 21}, {"items_a_day": 0}])
def test_settings_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        replace(PAPER, **change)
