"""Whether g(y|z) changed at some time: counts of outcomes by proxy, group after group, compared on both sides of it.

For a split the statistic is twice the log-likelihood ratio of one g on each side against one g for all,

    G = 2 sum_z [L(before_z) + L(after_z) - L(all_z)],   L(n) = sum_y n_y ln(n_y / n)

Groups of one side differ for other reasons too (other instances, weekdays); by how much is measured in the same way
between the groups of each side, and divided out:

    F = (G / freedom) / max(1, G within the sides / its freedom)

Every split is tried, and the p-value of the best one multiplied by their number (Bonferroni).
"""

from typing import NamedTuple

import numpy as np

from presage.metrics.special import chi_square_tail, f_tail, x_log_y
from presage.spaces import Array


class Shift(NamedTuple):
    """The split at which g differs most."""

    p: float  # that it would differ so much if it did not change; of all splits together
    split: int  # how many groups lie before it
    nats: float  # a row after the split: what is lost by using the g from before it


NONE = Shift(1.0, 0, 0.0)


def shift(tables: Array) -> Shift:
    """The most striking change of g(y|z) in counts [groups, Z, Y], groups in order of time.

    >>> before, after = [[40, 10], [10, 40]], [[10, 40], [40, 10]]
    >>> found = shift(np.array([before] * 12 + [after] * 4))
    >>> found.split, found.p < 1e-9, shift(np.array([before] * 8)).p
    (12, True, 1.0)
    """
    tables = np.asarray(tables, np.float64)
    if len(tables) < 2:
        return NONE
    upto = tables.cumsum(axis=0)
    before, after = upto[:-1], upto[-1] - upto[:-1]  # [S, Z, Y]
    sides = _likelihood(before) + _likelihood(after)  # [S]
    between = 2 * (sides - _likelihood(upto[-1:])[0])
    within = 2 * (_likelihood(tables).sum() - sides)
    free = _freedom(before, after)
    free_within = _freedom_within(tables)
    p = np.array([_p(*each) for each in zip(between, free, within, free_within - free, strict=True)])
    split = int(p.argmin())
    nats = _cost(before[split], after[split], free[split])
    return Shift(min(1.0, float(p[split]) * len(p)), split + 1, nats)


def _likelihood(counts: Array) -> Array:
    """The log-likelihood of counts [..., Z, Y] under their own shares, summed over z."""
    rows = counts.sum(axis=-1)
    found: Array = x_log_y(counts, counts).sum(axis=(-1, -2)) - x_log_y(rows, rows).sum(axis=-1)
    return found


def _freedom(before: Array, after: Array) -> Array:
    """How many shares may differ between two sides [S]."""
    seen = np.count_nonzero(before[0] + after[0], axis=-1) - 1  # [Z]: outcomes that ever followed, but one
    both = (before.sum(axis=-1) > 0) & (after.sum(axis=-1) > 0)
    found: Array = (both * np.maximum(seen, 0)).sum(axis=-1)
    return found


def _freedom_within(tables: Array) -> float:
    """How many shares may differ between all groups."""
    seen = np.maximum(np.count_nonzero(tables.sum(axis=0), axis=-1) - 1, 0)
    groups = np.maximum(np.count_nonzero(tables.sum(axis=-1), axis=0) - 1, 0)
    return float((seen * groups).sum())


def _p(between: float, free: float, within: float, free_within: float) -> float:
    if not free:
        return 1.0
    if free_within <= 0:
        return chi_square_tail(free, between)
    excess = max(1.0, within / free_within)
    return f_tail(free, free_within, between / free / excess)


def _cost(before: Array, after: Array, free: float) -> float:
    """The mean over rows after a split of ln g_after / g_before, less what chance adds; counts [Z, Y]."""
    rows = before.sum(), after.sum()
    outcomes = before.shape[-1]
    old = (before + 1 / outcomes) / (before.sum(axis=-1, keepdims=True) + 1)
    new = after / np.maximum(after.sum(axis=-1, keepdims=True), 1)
    told = x_log_y(after, np.where(after > 0, new, 1)) - x_log_y(after, old)
    chance = free / 2 * (1 / max(rows[0], 1.0) + 1 / max(rows[1], 1.0))
    return max(0.0, float(told.sum() / max(rows[1], 1.0) - chance))
