"""Ranking: whether what happens is put before what does not, over all rows or within groups of candidates.

Equal scores never gain from the order in which rows happen to lie: they count as ranked in every order alike
(AUC, NDCG), or as one step (average precision).
"""

import numpy as np

from presage.errors import ShapeError
from presage.settings import whole
from presage.spaces import EMPTY, Array


def auc(scores: Array, positive: Array) -> float:
    """The probability that a positive row scores higher than a negative one, equal scores counting half.

    NaN where all rows are positive or none is.

    >>> auc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False]))
    0.875
    """
    scores, positive = _paired(scores, positive)
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if not positives or not negatives:
        return float("nan")
    _, place, equal = np.unique(scores, return_inverse=True, return_counts=True)
    rank = equal.cumsum() - (equal - 1) / 2  # the mean rank of equal scores, from 1
    above = np.bincount(place, positive, minlength=len(rank)) @ rank - positives * (positives + 1) / 2
    return float(above / (positives * negatives))


def auc_of_each(probabilities: Array, y: Array) -> Array:
    """The AUC [Y] of each outcome against the rest, by its own probability; rows with y = -1 are left out."""
    probabilities, y = np.asarray(probabilities), np.asarray(y)
    known = y != EMPTY
    return np.array([auc(each[known], y[known] == outcome) for outcome, each in enumerate(probabilities.T)])


def average_precision(scores: Array, positive: Array) -> float:
    """The area under the precision-recall curve, as average precision; NaN without a positive row.

    Precision is weighed by the recall gained at each score, all rows of one score being taken together.

    >>> round(average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True])), 4)
    0.8333
    """
    scores, positive = _paired(scores, positive)
    return float(_precisions(scores, positive, np.zeros(len(scores), np.int64))[0]) if len(scores) else float("nan")


def mean_average_precision(scores: Array, positive: Array, group: Array) -> float:
    """The average precision within each group of candidates, averaged over the groups that hold a positive (MAP)."""
    scores, positive = _paired(scores, positive)
    each = _precisions(scores, positive, _groups(group, len(scores)))
    return _mean(each)


def ndcg(scores: Array, gains: Array, group: Array, k: int = 10) -> float:
    """The normalised discounted cumulative gain of the first `k` in each group, averaged over groups with a gain.

    `gains` are 0 for candidates that are not wanted: 0 and 1, or grades. Position i, from 1, is worth 1 / log2(i + 1).
    A row among equal scores has the mean gain of all of them, which is what shuffling them would give on average.

    >>> round(ndcg(np.array([0.9, 0.8, 0.7]), np.array([0, 1, 0]), np.array([0, 0, 0])), 4)
    0.6309
    """
    scores, gains = _paired(scores, np.asarray(gains, np.float64))
    group = _groups(group, len(scores))
    found, best = (_discounted(by, gains, group, whole("k", k)) for by in (scores, gains))
    with np.errstate(invalid="ignore"):
        return _mean(found / best)


def _discounted(by: Array, gains: Array, group: Array, k: int) -> Array:
    """The discounted gain of the first k of each group, ranked by `by`."""
    order = _order(by, group)
    by, gains, group = by[order], gains[order], group[order]
    step = _steps(by, group)
    expected = (np.bincount(step, gains) / np.bincount(step))[step]
    position = np.arange(len(group)) - np.searchsorted(group, group)
    worth = np.where(position < k, 1 / np.log2(position + 2.0), 0.0)
    return np.bincount(group, expected * worth)


def _precisions(scores: Array, positive: Array, group: Array) -> Array:
    """The average precision of each group; NaN for one without a positive."""
    order = _order(scores, group)
    scores, positive, group = scores[order], positive[order], group[order]
    step = _steps(scores, group)
    rows, hits = np.bincount(step), np.bincount(step, positive)
    of = group[np.r_[0, rows.cumsum()[:-1]]]  # the group of each step
    first = np.searchsorted(of, of)  # its first step
    all_rows, all_hits = rows.cumsum(), hits.cumsum()
    before_rows, before_hits = all_rows[first] - rows[first], all_hits[first] - hits[first]
    precision = (all_hits - before_hits) / (all_rows - before_rows)
    with np.errstate(invalid="ignore"):
        return np.bincount(of, precision * hits) / np.bincount(of, hits)


def _order(by: Array, group: Array) -> Array:
    """The rows by group and falling `by`: `np.lexsort` of both, in a third of its time."""
    falling = np.argsort(-by)
    return falling[np.argsort(group[falling] * np.int64(len(by)) + np.arange(len(by)))]


def _steps(scores: Array, group: Array) -> Array:
    """The number of each row's step, in order: rows of one group and one score make a step."""
    new = (np.diff(scores) != 0) | (np.diff(group) != 0)
    return np.r_[0, new.cumsum()]


def _groups(group: Array, rows: int) -> Array:
    """Groups as whole numbers from 0 without gaps."""
    group = np.asarray(group)
    if group.shape != (rows,) or not rows:
        raise ShapeError("every row needs a group", {"rows": rows, "group": group.shape}, "give one group per row")
    return np.unique(group, return_inverse=True)[1]


def _mean(each: Array) -> float:
    return float(np.nanmean(each)) if not np.isnan(each).all() else float("nan")


def _paired(scores: Array, other: Array) -> tuple[Array, Array]:
    scores, other = np.asarray(scores), np.asarray(other)
    if scores.ndim != 1 or scores.shape != other.shape:
        found = {"scores": scores.shape, "rows": other.shape}
        raise ShapeError("scores and the values to judge them by differ in length", found, "give one of each per row")
    if np.isnan(scores).any():
        raise ShapeError("a score is NaN", "nan", "leave out rows without a prediction")
    return scores, other
