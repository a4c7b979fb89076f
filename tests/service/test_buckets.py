"""Buckets of time and the running marginal: a memory that does not grow."""

import numpy as np
import pytest

from presage.service.dashboard.buckets import SIZE, BucketRows, Buckets, merge_neighbours
from presage.service.dashboard.fold import MOST, Marginal
from tests.service.played import (
    DAY,
    HOUR,
    START,
)


@pytest.mark.parametrize("start", [0, START])
def test_buckets_keep_every_sum_while_they_widen_and_then_let_go_of_the_oldest_only(start: int) -> None:
    buckets = Buckets(1, 30 * DAY)
    at = start + np.arange(0, 40 * DAY, HOUR)
    for part in np.array_split(at, 97):
        buckets.add(part, 0)
    assert buckets.sums.shape == (SIZE, 1)
    stretch = buckets.stretches()
    assert stretch.sums.sum() == len(at)
    widest = buckets.width
    assert 30 * DAY <= SIZE * widest < 60 * DAY
    for part in np.array_split(at + 100 * DAY, 13):
        buckets.add(part, 0)
    stretch = buckets.stretches()
    assert buckets.width == widest
    assert buckets.slid
    assert stretch.sums.sum() == np.count_nonzero(np.r_[at, at + 100 * DAY] >= stretch.start[0])
    assert stretch.start[0] <= at[-1] + 100 * DAY - 30 * DAY
    buckets.add(at[:5], 0)
    assert buckets.stretches().sums.sum() == stretch.sums.sum(), "what is older than the memory is not kept"


def test_gathered_stretches_hold_everything_in_order_and_enough_each() -> None:
    draw = np.random.default_rng(0)
    counted = draw.poisson(3, 200).astype(float)
    stretch = BucketRows(np.arange(200) * 10, np.arange(1, 201) * 10, counted[:, None])
    found = merge_neighbours(stretch, counted, most=25, least=20)
    assert found.sums.sum() == counted.sum()
    assert (found.sums >= 20).all()
    assert len(found.sums) <= 25
    assert (found.start[1:] == found.end[:-1]).all()
    assert not len(merge_neighbours(stretch, counted, most=25, least=1e6).sums)


def test_the_marginal_remembers_few_states_and_forgets_little() -> None:
    draw = np.random.default_rng(0)
    y = (draw.random(20_000) < 0.3).astype(int)
    seq = 3 * np.arange(1, 20_001)
    marginal = Marginal(2)
    for part in np.array_split(np.arange(20_000), 50):
        marginal.add(seq[part], y[part])
    assert len(marginal._seqs) <= MOST
    model = draw.integers(0, 60_000, 500)
    known = np.searchsorted(seq, model)
    ones = np.r_[0, y.cumsum()][known]
    exact = -np.log((ones + 1) / (known + 2))
    np.testing.assert_allclose(marginal.losses(model, np.ones(500, int)), exact, atol=0.1)
    assert np.abs(marginal.losses(model, np.ones(500, int)) - exact)[known > 1000].max() < 0.005
