"""Regret: loss beyond that of a comparator, and what it is made of."""

from typing import NamedTuple

import numpy as np

from presage.spaces import Array


def regret(losses: Array, comparator: Array) -> Array:
    """Total loss minus the comparator's over the last axis (rounds): one number a trial."""
    return (np.asarray(losses, np.float64) - comparator).sum(axis=-1)


def best_static_losses(x: Array, y: Array, instances: int, outcomes: int) -> Array:
    """The losses [..., T] of the best forecaster in hindsight among those that answer each instance always alike.

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
    """What the regret of a forecaster is made of; the first two add up to it."""

    learning: Array  # the regret its twin has, for whom nothing is delayed
    delay: Array  # what the delays cost: its loss beyond the twin's
    factorisation: Array  # within learning, the part due to a proxy that does not tell all


def split_regret(losses: Array, twin: Array, truth: Array, factorisation: Array | float = 0.0) -> Split:
    """The split of a forecaster's regret, given the losses of its zero-delay twin and of the true model."""
    return Split(regret(twin, truth), regret(losses, twin), np.asarray(factorisation))


def factorisation_bias(shared: Array, corrected: Array) -> Array:
    """How much loss a shared g(y|z) leaves on the table, by trial: at most I(X;Y|Z) a round.

    Takes the now-cast losses [..., T] of the factored forecaster and of the residual one, both on rows that
    neither had learnt from.
    """
    return regret(shared, corrected)
