"""Calibration: whether what is predicted with probability p happens in a share p of cases.

Rows whose outcome is not known (-1) are left out everywhere.
"""

from typing import NamedTuple

import numpy as np

from presage.errors import ShapeError
from presage.settings import one_of, whole
from presage.spaces import EMPTY, Array


class Reliability(NamedTuple):
    """A reliability table: one entry for each bin that holds rows, from low to high predictions."""

    rows: Array  # int64 [B]
    predicted: Array  # [B]: the mean prediction
    observed: Array  # [B]: the share of rows in which it happened
    low: Array  # [B]: both ends of Wilson's 95 % interval for the share, rows taken as independent
    high: Array


def calibration_error(probabilities: Array, y: Array, bins: int = 15) -> float:
    """The expected calibration error (ECE): how far confidence is from accuracy, on average over rows.

    The confidence of a row is its largest probability; rows are put into `bins` of equal width by it, and each bin
    adds |share right - mean confidence| times its share of rows.

    >>> calibration_error(np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([0, 1])).__round__(3)
    0.3
    """
    probabilities, y = _known(probabilities, y)
    best = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(best)), best]
    table = reliability(confidence, best == y, bins)
    return float((np.abs(table.observed - table.predicted) * table.rows).sum() / table.rows.sum())


def predicted_to_observed(probabilities: Array, y: Array) -> Array:
    """For each outcome [Y], the ratio of predicted to observed frequency; NaN for one that never happened.

    >>> predicted_to_observed(np.array([[0.75, 0.25], [0.75, 0.25]]), np.array([0, 1]))
    array([1.5, 0.5])
    """
    probabilities, y = _known(probabilities, y)
    observed = np.bincount(y, minlength=probabilities.shape[1])
    predicted = probabilities.sum(axis=0, dtype=np.float64)
    return np.where(observed > 0, predicted / np.maximum(observed, 1), np.nan)


def reliability(predicted: Array, happened: Array, bins: int = 10, equal: str = "width") -> Reliability:
    """The reliability table of predicted probabilities [n] of an event that happened or not [n].

    Args:
        predicted: probabilities, such as those of one outcome.
        happened: whether it did, such as `y == outcome`.
        bins: how many.
        equal: "width" gives every bin the same width, "rows" the same number of rows (better for what is rare).
    """
    predicted, happened = np.asarray(predicted), np.asarray(happened, np.bool_)
    if predicted.shape != happened.shape or predicted.ndim != 1 or not len(predicted):
        found = {"predicted": predicted.shape, "happened": happened.shape}
        raise ShapeError("predicted and observed values differ in length", found, "give two arrays of one length")
    whole("bins", bins)
    if one_of("equal", equal, ("width", "rows")) == "width":
        place = np.clip((predicted * bins).astype(np.int64), 0, bins - 1)
    else:
        edges = np.unique(np.quantile(predicted, np.arange(1, bins) / bins))
        place = np.searchsorted(edges, predicted, side="right")
    rows = np.bincount(place, minlength=bins)
    filled = rows > 0
    sums = (np.bincount(place, weights, minlength=bins)[filled] for weights in (predicted, happened))
    rows = rows[filled]
    mean, share = (total / rows for total in sums)
    return Reliability(rows, mean, share, *wilson(share, rows))


def wilson(share: Array, rows: Array) -> tuple[Array, Array]:
    """Both ends of Wilson's 95 % interval for a share observed in `rows` independent rows."""
    squared = 1.959964**2
    middle = (share + squared / (2 * rows)) / (1 + squared / rows)
    half = np.sqrt(squared * (share * (1 - share) + squared / (4 * rows)) / rows) / (1 + squared / rows)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _known(probabilities: Array, y: Array) -> tuple[Array, Array]:
    """The rows whose outcome is known."""
    probabilities, y = np.asarray(probabilities), np.asarray(y)
    if probabilities.ndim != 2 or y.shape != probabilities.shape[:1]:
        found = {"probabilities": probabilities.shape, "y": y.shape}
        raise ShapeError("probabilities and outcomes do not fit", found, "give probabilities [n, Y] and outcomes [n]")
    known = y != EMPTY
    if not known.any():
        raise ShapeError("no outcome is known", y.shape, "judge rows whose outcome has arrived")
    return (probabilities, y) if known.all() else (probabilities[known], y[known])
