"""How much a column gives away of a label, judged on rows that were not used to fit it."""

from typing import NamedTuple

import numpy as np

from presage.spaces import Array

BLOCKS = 10
"""A log is cut into so many blocks of time; every second one is fitted, the others are judged."""

LEAST_ROWS = 40
"""Rows that must be judged; with fewer nothing is said."""

LEAST_RARE = 8
"""Judged rows that must hold another label than the commonest."""

PURE = 0.95
"""A value belongs to a label if this share of its fitted rows has it."""


def percent(share: float) -> str:
    """A share as people read it; never all or nothing where it is not.

    >>> percent(0.001), percent(2 / 3), percent(0.9999), percent(1)
    ('0.1 %', '67 %', '99.9 %', '100 %')
    """
    hundredths = 100 * share
    if 0.99 < share < 1:
        return f"{min(hundredths, 99.9):.1f} %"
    return f"{hundredths:.2g} %" if 0 < share < 0.01 else f"{hundredths:.0f} %"


class Determined(NamedTuple):
    """The values of a column that go with one label: how reliably, and how much of that label they cover."""

    label: int
    base: float  # the share of all judged rows with that label
    rows: int  # judged rows with such a value
    precision: float  # of those rows, the share with the label
    recall: float  # of the judged rows with the label, the share with such a value


class Told(NamedTuple):
    """What a column tells of a label, on the judged rows."""

    explained: float  # the share of the label's entropy; below 0 where the fit misleads
    rows: int
    by_label: tuple[Determined, ...]


def told(codes: Array, labels: Array, size: int) -> Told | None:
    """What the codes [N] of a column tell of labels [N] below `size`; None where there is too little to judge.

    The rows are in the order of time. A value is fitted in every second block and judged in the others, so that a
    column with many values explains nothing by chance, and one that began half-way through the log is still seen.

    >>> outcome = np.tile([0, 1, 1], 100)
    >>> told(outcome * 7, outcome, 2).by_label[0]
    Determined(label=0, base=0.3333333333333333, rows=50, precision=1.0, recall=1.0)
    """
    judged = np.arange(len(labels)) * BLOCKS // max(len(labels), 1) % 2 == 1
    values, symbols = np.unique(codes, return_inverse=True)
    cells = symbols.astype(np.int64) * size + labels
    counts = [np.bincount(cells[part], minlength=len(values) * size).reshape(-1, size) for part in (~judged, judged)]
    fitted, held_out = counts  # [V, K]
    overall = held_out.sum(axis=0)
    rows = int(overall.sum())
    if rows < LEAST_ROWS or rows - overall.max() < LEAST_RARE or not fitted.sum():
        return None
    prior = (fitted.sum(axis=0) + 0.5) / (fitted.sum() + 0.5 * size)
    per_value = fitted.sum(axis=1, keepdims=True)
    share = overall[overall > 0] / rows
    entropy = -(share * np.log(share)).sum()
    loss = -(held_out * np.log((fitted + prior) / (per_value + 1))).sum() / rows
    pure = (fitted >= PURE * per_value) & (per_value > 0)
    covered = (held_out.sum(axis=1, keepdims=True) * pure).sum(axis=0)
    hits = (held_out * pure).sum(axis=0)
    return Told(
        float(1 - loss / entropy),
        rows,
        tuple(
            Determined(
                k,
                float(overall[k] / rows),
                int(covered[k]),
                float(hits[k] / covered[k]) if covered[k] else 0.0,
                float(hits[k] / overall[k]) if overall[k] else 0.0,
            )
            for k in range(size)
        ),
    )


def binned(numbers: Array, bins: int = 64) -> Array:  # [N]
    """The quantile bin of each number, by the numbers of all rows; -1 where there is none."""
    there = np.isfinite(numbers)
    if not there.any():
        return np.full(len(numbers), -1)
    edges = np.unique(np.quantile(numbers[there], np.linspace(0, 1, bins + 1)[1:-1]))
    return np.where(there, np.searchsorted(edges, numbers, side="right"), -1)


def order_within(numbers: Array, days: Array) -> Array:  # int [N]
    """In which tenth of its day's rows, ordered by the number, each row is."""
    order = np.lexsort((numbers, days))
    _, first, size = np.unique(days[order], return_index=True, return_counts=True)
    rank = np.empty(len(numbers), np.int64)
    rank[order] = (np.arange(len(numbers)) - np.repeat(first, size)) * 10 // np.repeat(size, size)
    return rank


SHIFTS = (1, 2, 3, 5, 7)
"""Rows of a group are compared with those so many places further on."""


class Ordered(NamedTuple):
    """How well a column orders the delays of rows that are alike otherwise."""

    concordance: float  # of the pairs of rows that differ in both, the share in which both differ the same way
    pairs: int
    differing: float  # of the pairs whose delays differ, the share that the column tells apart


def ordered(scores: Array, delay: Array, groups: Array) -> Ordered:
    """How well scores [N] (NaN: none) order the delays of rows of the same group.

    >>> ordered(np.arange(40.0), np.arange(40) ** 2, np.zeros(40, int))
    Ordered(concordance=1.0, pairs=182, differing=1.0)
    """
    order = np.argsort(groups, kind="stable")
    scores, delay, groups = scores[order], delay[order], groups[order]
    pairs = same = different = 0
    for shift in SHIFTS:
        steps = np.sign(delay[shift:] - delay[:-shift])
        alike = (groups[shift:] == groups[:-shift]) & (steps != 0)
        rises = np.nan_to_num(np.sign(scores[shift:] - scores[:-shift]))
        pairs += int((alike & (rises != 0)).sum())
        same += int((alike & (rises == steps)).sum())
        different += int(alike.sum())
    return Ordered(same / max(pairs, 1), pairs, pairs / max(different, 1))


def delay_scores(codes: Array, delay: Array, groups: Array) -> Array:  # float [N]
    """The mean rank that the delays of rows with the same code have in their groups; NaN where it was not fitted.

    Every second block of time is fitted and has no score itself.
    """
    judged = np.arange(len(codes)) * BLOCKS // max(len(codes), 1) % 2 == 1
    order = np.lexsort((delay, groups))
    _, first, size = np.unique(groups[order], return_index=True, return_counts=True)
    rank = np.empty(len(codes))
    rank[order] = (np.arange(len(codes)) - np.repeat(first, size)) / np.repeat(size, size)
    values, symbols = np.unique(codes, return_inverse=True)
    counts = np.bincount(symbols[~judged], minlength=len(values))
    sums = np.bincount(symbols[~judged], rank[~judged], minlength=len(values))
    means = np.divide(sums, counts, out=np.full(len(values), np.nan), where=counts > 0)
    return np.where(judged, means[symbols], np.nan)
