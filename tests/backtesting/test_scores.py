"""Scores of a log: fast roads and plain ones give one number, and rows without an outcome do not count."""

import numpy as np
import pytest

from presage import Episode, Forecaster
from presage.backtesting.backtest import delay_costs
from presage.backtesting.families import direct_counterpart, family_of, proxy_pair, stand_ins
from presage.backtesting.replay import Said, replay
from presage.backtesting.score_columns import score_table, side_by_side
from presage.backtesting.scores import aucs, gain_over, score_log
from presage.metrics.bootstrap import bootstrap_differences, bootstrap_mean
from presage.metrics.losses import log_loss
from presage.metrics.ranking import auc_of_each
from presage.spaces import Array
from tests.problems import PLAIN, TABLES, episode, play_live

NAMES = ("marginal", "direct-table", "residual-table", "mixture")


def drawn(rows: int = 4000, outcomes: int = 3, seed: int = 0) -> tuple[Said, Array, Array]:
    """What made-up forecasters say, coarsely enough for ties; outcomes, of which some are unknown; new rows."""
    draw = np.random.default_rng(seed)
    said = {}
    for name in NAMES:
        weights = draw.integers(1, 6, (rows, outcomes))
        said[name] = np.log(weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    y = np.where(draw.random(rows) < 0.2, -1, draw.integers(0, outcomes, rows)).astype(np.int32)
    return said, y, draw.random(rows) < 0.3


@pytest.mark.parametrize("seed", range(5))
def test_the_fast_auc_is_the_plain_one_ties_included(seed: int) -> None:
    said, y, _ = drawn(700, 4, seed)
    known = y >= 0
    probabilities = np.exp(said["direct-table"][known])
    assert aucs(probabilities, y[known]) == pytest.approx(auc_of_each(probabilities, y[known]), abs=1e-12)


def test_an_outcome_that_never_comes_has_no_auc() -> None:
    found = aucs(np.full((5, 3), 1 / 3, np.float32), np.array([0, 1, 0, 1, 0]))
    assert np.isnan(found[2])
    assert found[:2].tolist() == [0.5, 0.5]


def test_means_are_those_of_the_rows_that_are_known() -> None:
    said, y, new = drawn()
    scores = score_log(said, y, new, None, log_loss(said["marginal"], y))
    known = y >= 0
    for name in NAMES:
        own, direct = (-said[n][known, y[known]].astype(np.float64) for n in (name, "direct-table"))
        marginal = -said["marginal"][known, y[known]]
        losses = scores[name].losses
        assert losses.overall.mean == pytest.approx(own.mean(), abs=1e-6)
        assert losses.new_instances.mean == pytest.approx(own[new[known]].mean(), abs=1e-6)
        assert losses.gain.mean == pytest.approx((marginal - own).mean(), abs=1e-6)
        if name in ("residual-table", "mixture"):
            assert losses.over_direct is not None
            assert losses.over_direct.against == "direct-table"
            assert losses.over_direct.overall.mean == pytest.approx((direct - own).mean(), abs=1e-6)
            assert losses.over_direct.new_instances.mean == pytest.approx((direct - own)[new[known]].mean(), abs=1e-6)
        else:
            assert losses.over_direct is None


def noisy(rows: int = 4000) -> tuple[Said, Array, Array]:
    """What `drawn` gives, where one forecaster is right and wrong in long turns: its runs of time must be long."""
    said, y, new = drawn(rows)
    turn = np.where(np.arange(rows) // 700 % 2, 0.9, 0.05)
    restless = np.log(np.stack([turn, *[(1 - turn) / 2] * 2], axis=1)).astype(np.float32)
    return {**said, "residual-table": restless}, y, new


def test_the_interval_of_each_series_is_that_of_its_own_bootstrap() -> None:
    said, y, new = noisy()
    scores = score_log(said, y, new, None, log_loss(said["marginal"], y))
    marginal = log_loss(said["marginal"], y)
    for name in NAMES:
        own = log_loss(said[name], y)
        assert scores[name].losses.overall == bootstrap_mean(own)
        assert scores[name].losses.new_instances == pytest.approx(bootstrap_mean(np.where(new, own, np.nan)), abs=1e-6)
        assert scores[name].losses.gain == pytest.approx(bootstrap_mean(marginal - own), abs=1e-6, nan_ok=True)


def test_intervals_do_not_depend_on_who_else_is_played() -> None:
    said, y, new = noisy()
    against = log_loss(said["marginal"], y)
    everyone = score_log(said, y, new, None, against)
    for names in (("marginal",), ("marginal", "direct-table", "mixture")):
        for name, score in score_log({n: said[n] for n in names}, y, new, None, against).items():
            assert score.losses == everyone[name].losses


def test_one_comparison_has_one_interval_everywhere() -> None:
    said, y, new = noisy()
    scores = score_log(said, y, new, None, log_loss(said["marginal"], y))
    for name in ("residual-table", "mixture"):
        assert scores[name].losses.over_direct == gain_over(said, y, new, name, "direct-table")


def test_rows_without_an_outcome_change_no_score() -> None:
    said, y, new = drawn()
    known = y >= 0
    whole = score_log(said, y, new, None, log_loss(said["marginal"], y))["mixture"]
    cut = {name: each[known] for name, each in said.items()}
    part = score_log(cut, y[known], new[known], None, log_loss(cut["marginal"], y[known]))["mixture"]
    assert whole.auc == part.auc
    assert whole.calibration_error == pytest.approx(part.calibration_error, abs=1e-9)
    assert whole.losses.overall.mean == pytest.approx(part.losses.overall.mean, abs=1e-7)


def test_the_gain_over_another_is_the_paired_difference() -> None:
    said, y, new = drawn()
    found = gain_over(said, y, new, "mixture", "direct-table")
    mixture, direct = (log_loss(said[name], y) for name in ("mixture", "direct-table"))
    assert found.overall.mean == pytest.approx(bootstrap_differences(direct[None], mixture)[0].mean, abs=1e-6)
    assert found.overall.low < found.overall.mean < found.overall.high


def test_delay_costs_are_what_a_learner_loses_beyond_one_told_at_once() -> None:
    dealt = episode("varying", PLAIN)
    forecasters: dict[str, Forecaster] = {name: TABLES[name](PLAIN) for name in ("direct-table", "residual-table")}
    said = replay(forecasters, dealt, 0, lambda name: None)
    told: list[str] = []
    costs = delay_costs(forecasters, said, dealt, 0, told.append)
    rounds = np.arange(dealt.rounds)
    at_once = Episode(
        dealt.x, dealt.z, dealt.y, *(np.where(s < 0, -1, rounds) for s in (dealt.proxy_seen, dealt.outcome_seen))
    )
    for name, forecaster in forecasters.items():
        late, early = (log_loss(play_live(forecaster, each, 0)[0], each.y) for each in (dealt, at_once))
        assert costs[name].mean == pytest.approx(np.nanmean(late - early), abs=1e-5)
    assert sorted(told) == sorted(forecasters)


def test_forecasters_are_compared_with_the_direct_one_that_is_built_alike() -> None:
    played = ["direct-table", "direct-table-shrunk", "direct-network"]
    assert direct_counterpart("factored-table", played) == "direct-table"
    assert direct_counterpart("residual-network", played) == "direct-network"
    assert direct_counterpart("residual-table-backing-off", played) is None
    assert direct_counterpart("mixture", played) == "direct-table-shrunk"
    assert direct_counterpart("mixture", ["marginal"]) is None
    assert direct_counterpart("direct-table", played) is None
    assert family_of("marginal") == "marginal"


def test_the_best_of_each_family_stands_for_it() -> None:
    losses = {"marginal": 1.0, "direct-table": 0.9, "direct-table-shrunk": 0.8, "residual-table": 0.7, "mixture": 0.6}
    assert stand_ins(losses) == {
        "marginal": "marginal",
        "direct": "direct-table-shrunk",
        "residual": "residual-table",
        "mixture": "mixture",
    }
    assert proxy_pair(losses) == ("residual-table", "direct-table-shrunk")
    assert proxy_pair({"marginal": 1.0, "residual-table": 0.7}) is None


def test_the_table_leaves_out_columns_that_hold_nothing_and_fits_the_screen() -> None:
    said, y, new = drawn()
    scores = score_log(said, y, new, None, log_loss(said["marginal"], y))
    head, rows = score_table(scores)
    assert {"delay cost", "NDCG", "MAP"}.isdisjoint(head)
    grouped = score_log(said, y, new, np.arange(len(y)) // 10, log_loss(said["marginal"], y))
    costs = {name: score.with_delay_cost(score.losses.gain) for name, score in grouped.items()}
    assert {"delay cost", "NDCG", "MAP"} <= set(score_table(costs)[0])
    pieces = side_by_side((head, rows), 70)
    assert [column for piece, _ in pieces for column in piece[1:]] == head[1:]
    for own_head, own_rows in pieces:
        widths = [max(map(len, column)) for column in zip(own_head, *own_rows, strict=True)]
        assert sum(widths) + 2 * (len(widths) - 1) <= 70
