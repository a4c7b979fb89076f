"""A log as an episode: at the end of which round each proxy and outcome is seen."""

import numpy as np

from presage.logs.rows import LogRows, SignalRows
from presage.logs.signals import NEVER_AT
from presage.spaces import Array
from presage.timeline.episode import NEVER, Episode


def to_episode(rows: LogRows, proxy: str | None = None) -> Episode:
    """The log as an episode with one of its proxies, or the first: each row is a round.

    In a log that a service exported a row sees what lay before the position of its model; otherwise what became known
    before it was shown.
    """
    revealed = rows.proxy(proxy)
    proxy_seen, outcome_seen = (rounds_seen(rows, signal) for signal in (revealed, rows.outcome))
    return Episode.varying(rows.instances, revealed.symbols, rows.outcome.symbols, proxy_seen, outcome_seen)


def rounds_seen(rows: LogRows, signal: SignalRows) -> Array:
    """The round at whose end each row of a signal is seen: int64 [N]."""
    if rows.models is None or signal.position is None:
        return seen(rows.shown_at, signal.known_at)
    return seen(rows.models, signal.position)


def seen(shown_at: Array, known_at: Array) -> Array:
    """The round at whose end feedback is seen, for each moment it becomes known: int64 [N].

    That is the last round shown no later, so rows of one instant do not see each other's feedback, nor does a row see
    what becomes known in its very instant. What becomes known after the last row is seen by none of them: it gets the
    round after the last, as in an episode with fixed delays, so that it still counts in the twin without delay. What
    never becomes known gets -1.

    >>> seen(np.array([10, 10, 20]), np.array([10, 15, 25]))
    array([1, 1, 3])
    """
    rounds: Array = np.searchsorted(shown_at, known_at, side="right") - 1
    rounds[known_at > shown_at[-1]] = len(shown_at)
    rounds[known_at == NEVER_AT] = NEVER
    return rounds
