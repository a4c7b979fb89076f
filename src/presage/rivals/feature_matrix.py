"""The features of every row as one matrix of numbers, for models that are trained on batches."""

from typing import NamedTuple

import numpy as np

from presage.rivals.known_rates import known_rates
from presage.rivals.rival import RivalLog, TimedSignal
from presage.spaces import Array

MOST_VALUES = 32
"""Categories with more values than this are described by the rates known of each value only, and so is the identity."""

MOST_OF_A_SET = 64
"""How many values of a set get a column: those that are most frequent among the rows before the first training."""


class FeatureMatrix(NamedTuple):
    """A matrix, and which of its columns hold the symbols of a category."""

    values: Array  # float32 [N, F]
    categories: tuple[int, ...]


def feature_matrix(log: RivalLog, signal: TimedSignal, *, one_hot: bool, first: int) -> FeatureMatrix:
    """The features of every row; rates are those of one signal, as known before the row was shown.

    With `one_hot` a category of few values has a column for each; otherwise one with its symbol, which is a category
    or, where values have an order, a number. `first` is the row of the first training.
    """
    features, (symbols, dense) = log.spaces.features, log.episode.x
    parts: list[Array] = []
    categories: list[int] = []
    for place, size in enumerate(features.symbols):
        column = symbols[:, place]
        if place == 0 or size > MOST_VALUES:
            parts.append(known_rates(column, size, signal))
        if size <= MOST_VALUES and one_hot:
            parts.append((column[:, None] == np.arange(size)).astype(np.float32))
        elif size <= MOST_VALUES:
            if not log.ordered[place]:
                categories.append(sum(part.shape[1] for part in parts))
            parts.append(column[:, None].astype(np.float32))
    begin = len(features.symbols)
    for size, slots in features.sets:
        parts.append(_set_columns(symbols[:, begin : begin + slots], size, first))
        begin += slots
    parts.append(np.asarray(dense, np.float32))
    return FeatureMatrix(np.concatenate(parts, axis=1), tuple(categories))


def with_proxy(matrix: FeatureMatrix, z: Array, size: int, *, one_hot: bool) -> FeatureMatrix:
    """The matrix with the proxy [N] of each row in further columns."""
    columns = z[:, None] == np.arange(size) if one_hot else z[:, None]
    categories = matrix.categories if one_hot else (*matrix.categories, matrix.values.shape[1])
    return FeatureMatrix(np.concatenate([matrix.values, columns.astype(np.float32)], axis=1), categories)


def _set_columns(slots: Array, size: int, first: int) -> Array:  # float32 [N, values]
    """Whether each of the frequent values is in the set of each row."""
    seen = slots[: max(first, 1)]
    counts = np.bincount(seen[seen >= 0], minlength=size)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MOST_OF_A_SET])
    return np.stack([(slots == value).any(axis=1) for value in frequent], axis=1).astype(np.float32)
