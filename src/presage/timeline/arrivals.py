"""The order in which one kind of feedback becomes known: positions over that order are what windows slide on."""

from typing import NamedTuple

import numpy as np

from presage.spaces import Array
from presage.timeline.episode import NEVER

LATER = np.iinfo(np.int32).max
"""Never, where rounds are compared: feedback that does not come is seen at the end of this round."""


class Arrivals(NamedTuple):
    """Rows in the order their feedback arrives, and how many have arrived before each prediction."""

    rows: Array  # int32 [T]: the row at each position; positions past the last arrival hold row 0
    known: Array  # int32 [T + 1]: known[t] rows are seen by predictions from round t on


def arrivals(seen: Array) -> Arrivals:
    """The arrival order of feedback that is seen at the end of round `seen[i]` (-1: never).

    Rows seen at the end of the same round arrive in row order.

    >>> arrivals(np.array([2, 1, -1, 3]))
    Arrivals(rows=array([1, 0, 3, 0], dtype=int32), known=array([0, 0, 1, 2, 3], dtype=int32))
    """
    rounds = len(seen)
    arrives = np.flatnonzero((seen != NEVER) & (seen < rounds))
    order = arrives[np.argsort(seen[arrives], kind="stable")]
    rows = np.zeros(rounds, np.int32)
    rows[: len(order)] = order
    known = np.searchsorted(seen[order], np.arange(rounds + 1), side="left")
    return Arrivals(rows, known.astype(np.int32))


def as_rounds(seen: Array) -> Array:
    """The round at whose end feedback is seen, `LATER` if never, as int32."""
    return np.where(seen == NEVER, LATER, np.minimum(seen, LATER)).astype(np.int32)


def arrivals_of(seen: Array) -> Arrivals:
    """The arrival order of one episode, or of each trial."""
    if seen.ndim == 1:
        return arrivals(seen)
    each = [arrivals(trial) for trial in seen]
    return Arrivals(np.stack([a.rows for a in each]), np.stack([a.known for a in each]))
