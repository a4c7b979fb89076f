"""Which rows of a log are of new instances: the case that matters, for proxies can help there and outcomes cannot."""

import numpy as np

from presage.spaces import Array
from presage.timeline.arrivals import as_rounds


def new_rows(identity: Array, proxy_seen: Array, outcome_seen: Array) -> Array:  # bool [N]
    """Rows of an instance of which a proxy had been seen by then, and no outcome yet.

    >>> new_rows(np.zeros(4, int), np.array([0, 1, 2, 3]), np.array([2, 3, 4, 5])).tolist()
    [False, True, True, False]
    """
    rounds = np.arange(len(identity))
    first_proxy, first_outcome = (_first(identity, seen)[identity] for seen in (proxy_seen, outcome_seen))
    return (first_proxy < rounds) & (rounds <= first_outcome)


def _first(identity: Array, seen: Array) -> Array:
    """The round at whose end feedback of each instance is first seen."""
    first = np.full(int(identity.max(initial=0)) + 1, np.iinfo(np.int32).max, np.int64)
    np.minimum.at(first, identity, as_rounds(seen))
    return first
