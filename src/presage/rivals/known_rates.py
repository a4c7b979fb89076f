"""Target encoding without a leak: how often each value of a signal came to an item, among what was known by then."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from presage.rivals.rival import TimedSignal, running_marginal
from presage.spaces import Array

STRENGTH = 10.0
"""How many observations of the item the running marginal is worth."""


class Arrived(NamedTuple):
    """A signal as the compiled loop takes it."""

    symbols: Array
    rows: Array
    known: Array


_compiled: Callable[[Callable[..., None]], Callable[..., Any]] = numba.njit(cache=True, nogil=True)


def known_rates(
    items: Array, size: int, signal: TimedSignal, strength: float = STRENGTH
) -> Array:  # float32 [N, K + 1]
    """For each row the smoothed rate of each of K values for its item, and ln(1 + n) of the n that were known of it.

    A row, of the past as well, is described with what was known strictly before it was shown: its own outcome is never
    in its description.

    >>> from presage.timeline.arrivals import arrivals
    >>> seen = TimedSignal(np.array([1, 1, 1]), arrivals(np.array([0, 1, 2])), 2)
    >>> [f"{rate:.3f}" for rate in known_rates(np.array([0, 0, 0]), 1, seen, strength=1.0)[:, 1]]
    ['0.500', '0.833', '0.917']
    """
    rates = np.empty((len(items), signal.size + 1), np.float32)
    prior = strength * running_marginal(signal)
    _walk(items, Arrived(signal.symbols, *signal.arrivals), prior, np.zeros((size, signal.size + 1)), rates)
    return rates


@_compiled
def _walk(items: Array, signal: Arrived, prior: Array, counts: Array, rates: Array) -> None:
    values = counts.shape[1] - 1
    done = 0
    for row in range(len(items)):
        while done < signal.known[row]:
            learnt = signal.rows[done]
            counts[items[learnt], signal.symbols[learnt]] += 1.0
            counts[items[learnt], values] += 1.0
            done += 1
        own = counts[items[row]]
        for value in range(values):
            rates[row, value] = (own[value] + prior[row, value]) / (own[values] + prior[row].sum())
        rates[row, values] = np.log1p(own[values])
