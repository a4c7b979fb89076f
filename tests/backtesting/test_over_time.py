"""Losses in blocks of time, delay curves and weights: nothing is lost, and plain counts agree."""

import numpy as np
import pytest

from presage import direct_table, factored_table, mixture, residual_table
from presage.backtesting.backtest import family_weights
from presage.backtesting.delays import known_share
from presage.backtesting.over_time import (
    DAY,
    MINUTE,
    MOST,
    OverTime,
    TimeBlocks,
    ahead_since,
    best_in_blocks,
    block_means,
    losses_over_time,
    time_blocks,
)
from presage.backtesting.replay import replay
from presage.metrics.losses import log_loss
from presage.spaces import Array
from presage.task.spans import ROW
from tests.problems import PLAIN, episode

START = 1_704_067_200_000_000


def times(rows: int, span: int, seed: int = 0) -> Array:
    draw = np.random.default_rng(seed)
    return START + np.sort(draw.integers(0, span, rows))


@pytest.mark.parametrize("span", [30 * MINUTE, 2 * DAY, 200 * DAY, 900 * DAY, 40_000 * DAY])
def test_every_scored_row_lies_in_one_block_and_within_its_time(span: int) -> None:
    shown_at = times(3000, span)
    scored = np.random.default_rng(1).random(3000) < 0.7
    scored[-200:] = False  # the log ends before their outcomes
    blocks = time_blocks(shown_at, scored)
    assert 1 < len(blocks.edges) - 1 <= MOST
    assert sum(int(scored[rows].sum()) for rows in blocks.each()) == scored.sum()
    for rows, start, end in zip(blocks.each(), blocks.edges[:-1], blocks.edges[1:], strict=True):
        assert start <= shown_at[rows].min()
        assert shown_at[rows].max() < end
        assert scored[rows].sum() >= 2


def test_blocks_begin_at_midnight_and_those_of_weeks_on_mondays() -> None:
    shown_at = times(3000, 300 * DAY)
    blocks = time_blocks(shown_at, np.ones(3000, bool))
    assert blocks.span == 7 * DAY
    assert all((edge // DAY - 4) % 7 == 0 for edge in blocks.edges.tolist())  # 1970 began on a Thursday
    assert (blocks.edges % DAY == 0).all()


def test_a_stretch_in_which_hardly_anything_is_known_has_no_block_of_its_own() -> None:
    busy = np.concatenate([np.arange(0, 10, 0.01), [15.5], np.arange(20, 30, 0.01)])
    shown_at = START + (busy * DAY).astype(np.int64)
    blocks = time_blocks(shown_at, np.ones(len(busy), bool))
    assert min(rows.stop - rows.start for rows in blocks.each()) > 1


def test_a_log_of_one_instant_is_one_block() -> None:
    blocks = time_blocks(np.full(50, START), np.ones(50, bool))
    assert blocks.rows.tolist() == [0, 50]


def test_block_means_weighed_by_their_rows_are_the_mean() -> None:
    dealt = episode("varying", PLAIN)
    y = np.where(np.arange(200) % 9 == 0, -1, dealt.y)
    new = np.arange(200) % 3 == 0
    said = replay({"direct-table": direct_table(PLAIN)}, dealt, 0, lambda name: None)
    found = losses_over_time(said, y, new, time_blocks(times(200, 40 * DAY), y >= 0))
    losses = log_loss(said["direct-table"], y)
    weighed = np.nansum(found.losses["direct-table"] * found.rows) / found.rows.sum()
    assert weighed == pytest.approx(np.nanmean(losses), abs=1e-6)
    weighed = np.nansum(found.new["direct-table"] * found.new_rows) / found.new_rows.sum()
    assert weighed == pytest.approx(np.nanmean(losses[new]), abs=1e-6)
    entries = found.as_json()
    assert sum(entry["rows"] for entry in entries) == int((y >= 0).sum())
    assert entries[0]["start"] == "2024-01-01T00:00:00Z"


def small(ours: list[float], other: list[float]) -> OverTime:
    blocks = TimeBlocks(np.arange(len(ours) + 1) * DAY, np.arange(len(ours) + 1), DAY)
    losses = {"ours": np.array(ours), "other": np.array(other)}
    return OverTime(blocks, np.array([1, 1, 10, 1][: len(ours)]), np.zeros(len(ours), int), losses, losses)


@pytest.mark.parametrize(
    ("gain", "first", "since"),
    [
        ([0, -1, 0.5, 0.7, 0.1], 0, 3),
        ([1, 0, 0, 0], 0, 0),
        ([1, 1, -3, 1], 0, None),  # behind at the end
        ([1e-7, 1e-7, 0.5, 0.5], 2, 2),  # rounding before the first outcome is no lead
        ([9, 9, -1, 0.5], 2, None),  # nor is a lead there of any use
        ([-9, -9, 1, 0.5], 2, 2),
        ([-1, np.nan, np.nan, 2], 0, 3),
        ([1, 1], 2, None),  # no row was shown once an outcome was known
    ],
)
def test_ahead_is_within_the_log_and_never_before_the_first_outcome(
    gain: list[float], first: int, since: int | None
) -> None:
    found = ahead_since(np.array(gain), first)
    assert found == since
    assert found is None or first <= found < len(gain)


def test_the_best_of_a_block_are_all_that_tie_and_none_where_nothing_is_known() -> None:
    losses = {"a": [1, 3, np.nan, 2, 1.00005], "b": [2, 2, np.nan, 2, 1], "c": [3, 3, 1, 2, 3]}
    found = best_in_blocks({name: np.array(values, float) for name, values in losses.items()})
    assert found == [("a",), ("b",), (), (), ("b", "a")]


def test_charts_begin_with_the_first_block_that_was_shown_after_an_outcome_was_known() -> None:
    found = small([1, 2, 3, 4], [1, 2, 3, 4])._replace(first=2)
    assert found.learnt.tolist() == [False, False, True, True]
    assert np.isnan(found.from_first(found.losses["ours"])).tolist() == [True, True, False, False]
    assert not found._replace(first=9).learnt.any()


def test_blocks_of_a_log_without_times_are_round_numbers_of_rows() -> None:
    shown_at = np.arange(1, 25_001) * ROW
    blocks = time_blocks(shown_at, np.ones(25_000, bool), in_rows=True)
    assert blocks.span == 500 * ROW
    assert (blocks.edges % (500 * ROW) == 0).all()
    assert blocks.told(12_000 * ROW) == "row 12,000"


def test_delay_curves_are_plain_counts_among_rows_old_enough() -> None:
    draw = np.random.default_rng(0)
    age, delay = draw.integers(0, 100, 500), draw.integers(0, 60, 500)
    delay[::7] = np.iinfo(np.int64).max
    after = np.array([0, 1, 7, 30, 50, 99])
    found = known_share(age, delay, after)
    for share, time in zip(found, after, strict=True):
        old = age >= time
        assert share == pytest.approx((delay[old] <= time).mean())


def test_weights_of_families_mix_what_their_experts_say_into_what_the_mixture_says() -> None:
    dealt = episode("varying", PLAIN)
    experts = {"direct": direct_table(PLAIN), "factored": factored_table(PLAIN), "residual": residual_table(PLAIN)}
    mixed = mixture(PLAIN, list(experts.values()))
    every = TimeBlocks(np.arange(201), np.arange(201), 1)  # a block for each row
    weights = family_weights(mixed, dealt, every)
    assert weights is not None
    said = replay(experts | {"mixture": mixed}, dealt, 0, lambda name: None)
    sums = sum(weights[name][:, None] * np.exp(said[name]) for name in experts)
    assert np.abs(sums - np.exp(said["mixture"])).max() < 1e-5
    assert family_weights(direct_table(PLAIN), dealt, every) is None


def test_means_of_blocks_leave_out_what_is_not_known() -> None:
    blocks = TimeBlocks(np.arange(3), np.array([0, 2, 4]), 1)
    found = block_means(np.array([1.0, np.nan, np.nan, np.nan]), blocks)
    assert found[0] == 1.0
    assert np.isnan(found[1])
