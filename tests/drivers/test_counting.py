"""Counting against the compiled driver: the same numbers on both roads."""

from typing import Any

import numpy as np
import pytest

from presage import Episode, Spaces, direct_network, direct_table, factored_table, mixture, play, residual_table
from presage.drivers.counting import episodes as counted
from presage.drivers.counting import kernels
from presage.drivers.counting import weighing as weighed
from presage.drivers.counting.episodes import can_count, count_experts, count_tables
from presage.drivers.play import play_experts
from presage.drivers.trial_losses import Losses
from presage.drivers.xla.episodes import scan_experts, scan_trials
from presage.errors import SettingError, ShapeError
from presage.forecasters.contract import Forecaster
from tests.problems import FORECASTERS, KINDS, MIXED, PLAIN, TABLES, episode

COUNTED = [*TABLES, "mixture", "mixture-outcomes"]


def backing_off(spaces: Spaces) -> Forecaster:
    groups = ((1,), (1, 2))
    tables = [
        make(spaces, shrinkage=strength, groups=groups)
        for make in (direct_table, factored_table, residual_table)
        for strength in (2.0, 8.0)
    ]
    return mixture(spaces, tables)


def gap(ours: Losses, others: Losses) -> float:
    """The largest difference between losses, of the experts too if there are any."""
    differences = [np.abs(ours.own - others.own).max()]
    if ours.experts is not None and others.experts is not None:
        differences.append(np.abs(ours.experts - others.experts).max())
    return float(max(differences))


def trials(kind: str, spaces: Spaces = PLAIN) -> Episode:
    return Episode.stack([episode(kind, spaces, seed=seed) for seed in range(3)])


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COUNTED)
def test_counting_gives_the_numbers_of_the_compiled_driver(name: str, kind: str) -> None:
    forecaster = FORECASTERS[name](PLAIN)
    assert gap(count_experts(forecaster, trials(kind)), scan_experts(forecaster, trials(kind), 0)) < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("kind", ["fixed", "varying"])
def test_tables_that_back_off_through_features_agree_too(kind: str) -> None:
    forecaster, dealt = backing_off(MIXED), trials(kind, MIXED)
    assert gap(count_experts(forecaster, dealt), scan_experts(forecaster, dealt, 0)) < 2e-6


@pytest.mark.parametrize("kind", ["fixed", "varying", "bursts"])
def test_the_loops_say_the_same_uncompiled(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dealt = Episode.stack([episode(kind, rounds=80)])
    quick = count_experts(mixture(PLAIN), dealt)
    for name in ("locate_rows", "count_symbol", "read_level", "predict_experts", "nowcast_judge"):
        monkeypatch.setattr(kernels, name, getattr(kernels, name).py_func)
    for name in ("weigh_proxy", "weigh_outcome"):
        monkeypatch.setattr(weighed, name, getattr(weighed, name).py_func)
    for module, name in (
        (counted, "counting_loop"),
        (counted, "scoring_loop"),
        (weighed, "weighing_loop"),
    ):
        loop = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *sizes, loop=loop: loop(*sizes).py_func)
    assert gap(count_experts(mixture(PLAIN), dealt), quick) < 1e-6


@pytest.mark.parametrize("name", ["residual-table", "mixture"])
def test_play_counts_tables(name: str) -> None:
    forecaster, dealt = FORECASTERS[name](PLAIN), episode("varying")
    alone = count_experts(forecaster, Episode.stack([dealt]))
    assert np.array_equal(play(forecaster, dealt, 0), alone.own[0])
    assert gap(play_experts(forecaster, Episode.stack([dealt]), 0), alone) == 0
    wrong: Any = "seven"
    with pytest.raises(SettingError, match="a seed or a JAX key"):
        play(forecaster, dealt, wrong)


def test_trials_in_several_blocks_are_the_trials_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    together = count_experts(mixture(PLAIN), trials("varying"))
    monkeypatch.setattr(counted, "CELLS", 1)
    told: list[int] = []
    apart = count_experts(mixture(PLAIN), trials("varying"), told.append)
    assert np.array_equal(together.own, apart.own)
    assert sum(told) == 3


def test_one_kind_of_feedback_may_be_shared_by_trials_and_the_other_not() -> None:
    varying = trials("varying")
    dealt = Episode.varying(varying.x, varying.z, varying.y, np.arange(200), varying.outcome_seen)
    table = direct_table(PLAIN)
    assert gap(count_experts(table, dealt), scan_experts(table, dealt, 0)) < 1e-6


def test_rounds_whose_outcome_nobody_knows_score_nan() -> None:
    dealt = Episode.stack([Episode.varying([0, 0, 0], [0, 0, 0], [1, -1, 1], [0, 1, 2], [0, -1, 2])])
    losses = count_experts(mixture(PLAIN), dealt)
    assert np.isnan(losses.own[0]).tolist() == [False, True, False]
    assert losses.experts is not None
    assert np.isnan(losses.experts[0]).all(axis=0).tolist() == [False, True, False]


def test_what_cannot_be_counted_is_refused() -> None:
    assert not can_count(direct_network(PLAIN))
    with pytest.raises(SettingError, match="only tables"):
        count_experts(direct_network(PLAIN), trials("fixed"))
    with pytest.raises(ShapeError, match="leading axis"):
        count_experts(direct_table(PLAIN), episode("fixed"))


@pytest.mark.parametrize("name", ["factored-table", "residual-table-shrunk"])
def test_nowcasts_by_counting_are_those_of_the_compiled_driver(name: str) -> None:
    forecaster, dealt = TABLES[name](PLAIN), trials("at once")
    compiled = scan_trials(forecaster, dealt, 0, nowcasts=True).nowcasts
    assert np.abs(np.log(count_tables([forecaster], dealt, judge=0).told[:, 0]) - compiled).max() < 1e-6
