"""Ranking measures against the obvious way to compute them, with many equal scores."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from presage.errors import ShapeError
from presage.metrics.ranking import auc, auc_of_each, average_precision, mean_average_precision, ndcg
from presage.spaces import Array

SEEDS = range(6)


def rows(seed: int, number: int = 120, levels: int = 15) -> tuple[Array, Array, Array]:
    """Scores with ties, what is wanted, and groups."""
    draw = np.random.default_rng(seed)
    scores = draw.integers(0, levels, number) / levels
    return scores, draw.random(number) < scores * 0.6, draw.integers(10, 25, number) * 3


def slow_precision(scores: Array, positive: Array) -> float:
    total, found = 0.0, 0
    for score in sorted(set(scores.tolist()), reverse=True):
        gained = int(positive[scores == score].sum())
        found += gained
        total += gained * found / int((scores >= score).sum())
    return total / positive.sum() if positive.any() else float("nan")


def slow_gain(scores: Array, gains: Array, k: int) -> float:
    """The mean over all orders in which equal scores can lie, of lists short enough to try them all."""
    worth = [1 / np.log2(position + 2) if position < k else 0.0 for position in range(len(gains))]
    best = sum(w * g for w, g in zip(worth, sorted(gains, reverse=True), strict=True))
    totals = [
        sum(w * gains[row] for w, row in zip(worth, order, strict=True))
        for order in permutations(range(len(gains)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    return float(np.mean(totals) / best) if best else float("nan")


@pytest.mark.parametrize("seed", SEEDS)
def test_auc_is_the_share_of_pairs_in_order(seed: int) -> None:
    scores, positive, _ = rows(seed)
    pairs = [
        1.0 if p > n else 0.5 if p == n else 0.0 for p in scores[positive].tolist() for n in scores[~positive].tolist()
    ]
    assert auc(scores, positive) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("seed", SEEDS)
def test_average_precision_is_that_of_the_obvious_loop(seed: int) -> None:
    scores, positive, group = rows(seed)
    assert average_precision(scores, positive) == pytest.approx(slow_precision(scores, positive))
    each = [slow_precision(scores[group == g], positive[group == g]) for g in np.unique(group)]
    assert mean_average_precision(scores, positive, group) == pytest.approx(np.nanmean(each))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 3, 10])
def test_ndcg_is_the_mean_over_all_orders_of_equal_scores(seed: int, k: int) -> None:
    draw = np.random.default_rng(seed)
    scores, gains = draw.integers(0, 3, 18) / 3, draw.integers(0, 4, 18)
    group = np.repeat([5, 2, 9], 6)[draw.permutation(18)]
    each = [slow_gain(scores[group == g], gains[group == g], k) for g in np.unique(group)]
    assert ndcg(scores, gains, group, k) == pytest.approx(np.nanmean(each))


def test_each_outcome_has_its_own_auc_and_unknown_rows_are_left_out() -> None:
    draw = np.random.default_rng(0)
    probabilities, y = draw.dirichlet(np.ones(3), 200), draw.integers(-1, 3, 200)
    known = y >= 0
    slow = [auc(probabilities[known, outcome], y[known] == outcome) for outcome in range(3)]
    assert auc_of_each(probabilities, y) == pytest.approx(slow)


def test_a_perfect_order_scores_1_and_nothing_to_find_is_nan() -> None:
    scores = np.arange(10.0)
    wanted = scores > 6
    group = np.zeros(10, int)
    for measure in (auc(scores, wanted), average_precision(scores, wanted), ndcg(scores, wanted, group, 3)):
        assert measure == pytest.approx(1.0)
    nobody = np.zeros(10, bool)
    assert np.isnan([auc(scores, nobody), average_precision(scores, nobody), ndcg(scores, nobody, group)]).all()
    assert np.isnan(mean_average_precision(scores, nobody, group))
    assert np.isnan(auc(scores, ~nobody))


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(ShapeError, match="differ in length"):
        auc(np.zeros(3), np.zeros(2, bool))
    with pytest.raises(ShapeError, match="is NaN"):
        auc(np.array([np.nan, 1.0]), np.array([True, False]))
    with pytest.raises(ShapeError, match="needs a group"):
        ndcg(np.zeros(3), np.zeros(3), np.zeros(2, int))
