"""Log loss, regret and its parts, and the time to recover after a shift."""

from typing import NamedTuple

import numpy as np

from presage.arrays import namespace
from presage.errors import SettingError
from presage.spaces import EMPTY, Array


def log_loss(log_probabilities: Array, y: Array) -> Array:
    """-ln p(y) from log-probabilities [..., Y]; NaN where y is not known.

    >>> log_loss(np.log([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])).round(4)
    array([0.6931, 0.2877])
    """
    xp = namespace(log_probabilities)
    chosen = xp.take_along_axis(log_probabilities, xp.maximum(y, 0)[..., None], axis=-1)[..., 0]
    return xp.where(y == EMPTY, chosen.dtype.type(np.nan), -chosen)


def regret(losses: Array, comparator: Array) -> Array:
    """Total loss minus the comparator's over the last axis (rounds): one number per trial."""
    return (np.asarray(losses, np.float64) - comparator).sum(axis=-1)


def best_static_losses(x: Array, y: Array, instances: int, outcomes: int) -> Array:
    """The losses [..., T] of the best forecaster, in hindsight, that always predicts the same for an instance.

    That is the empirical distribution of outcomes of each instance.

    >>> best_static_losses(np.array([0, 0, 1]), np.array([0, 1, 1]), 2, 2).round(4)
    array([ 0.6931,  0.6931, -0.    ])
    """
    x, y = np.asarray(x), np.asarray(y)
    counts = np.zeros((*x.shape[:-1], instances, outcomes))
    trial = np.indices(x.shape)[:-1]
    np.add.at(counts, (*trial, x, y), 1)
    shares = counts / np.maximum(counts.sum(-1, keepdims=True), 1)
    return -np.log(shares[(*trial, x, y)])


class Split(NamedTuple):
    """The parts of a forecaster's regret; the first two add up to it."""

    learning: Array  # the regret of its twin, for which nothing is delayed
    delay: Array  # what the delays cost: its loss beyond the twin's
    factorisation: Array  # within learning, the part due to a proxy that does not tell all


def split_regret(losses: Array, twin: Array, truth: Array, factorisation: Array | float = 0.0) -> Split:
    """The parts of a forecaster's regret, given the losses of its zero-delay twin and of the true model."""
    return Split(regret(twin, truth), regret(losses, twin), np.asarray(factorisation))


def factorisation_bias(shared: Array, corrected: Array) -> Array:
    """How much loss a shared g(y|z) leaves on the table, by trial: at most I(X;Y|Z) per round.

    Takes the now-cast losses [..., T] of the factored forecaster and of the residual one, both on rows that
    neither had learnt from.
    """
    return regret(shared, corrected)


def running_mean(losses: Array, rounds: int) -> Array:
    """The mean over the `rounds` neighbours around each round, fewer at the ends."""
    total = np.concatenate([[0.0], np.cumsum(losses)])
    centre = np.arange(len(losses))
    first, last = np.maximum(centre - rounds // 2, 0), np.minimum(centre + (rounds + 1) // 2, len(losses))
    return (total[last] - total[first]) / (last - first)


def rounds_to_recover(losses: Array, shift: int, start: int, end: int, *, share: float = 0.7, smooth: int = 200) -> int:
    """How many rounds after `shift` the loss is a share of the way back.

    The way leads from the mean loss of the first `start` rounds after the shift to that of the last `end` rounds;
    `losses` [T], averaged over trials, are smoothed over `smooth` rounds.

    >>> losses = np.r_[np.zeros(50), np.ones(20), np.zeros(50)]
    >>> rounds_to_recover(losses, shift=50, start=10, end=20, smooth=1)
    20
    """
    after = np.asarray(losses[shift:], np.float64)
    if not 0 < start + end <= len(after):
        found = {"rounds after the shift": len(after), "start": start, "end": end}
        raise SettingError("there are too few rounds after the shift", found, "run more rounds")
    high, low = after[:start].mean(), after[-end:].mean()
    target = high - share * (high - low)
    there = np.flatnonzero(running_mean(after, smooth) <= target)
    return int(there[0]) if len(there) else len(after)
