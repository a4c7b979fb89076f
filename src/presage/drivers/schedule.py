"""An episode laid out for a compiled program: fixed shapes, and what is learnt before which round."""

from typing import NamedTuple

import numpy as np

from presage.spaces import EMPTY, Array, Instance, Spaces
from presage.timeline.arrivals import Arrivals, arrivals
from presage.timeline.episode import NEVER, Episode

LATER = np.iinfo(np.int32).max
"""Never, where rounds are compared: feedback that does not come is seen at the end of this round."""

BLOCK = 32
"""The most rows learnt at once when many arrive together."""


class Dealt(NamedTuple):
    """What a program reads of an episode; each part has a trial axis in front, or all trials share it."""

    x: Instance  # [T + 1]: a round after the last, whose prediction is thrown away
    z: Array  # [T]
    y: Array  # [T]
    outcome_of_proxy: Array  # [T]: y where the outcome came before the proxy, else -1
    proxy_of_outcome: Array  # [T]: z where the proxy came no later than the outcome, else -1
    proxy_seen: Array  # [T]
    proxies: Arrivals
    outcomes: Arrivals


class Blocks(NamedTuple):
    """Feedback cut into learning steps: the same cuts for all trials, so that the loop over them stays unbatched."""

    proxies: Array  # int32 [T + 1]: steps before each round
    outcomes: Array  # int32 [T + 1]


class Layout(NamedTuple):
    """The shape of a learning step."""

    rows: int  # in a step
    once: bool  # whether one step holds all that ever arrives at the end of a round


def deal(spaces: Spaces, episode: Episode) -> tuple[Dealt, Blocks, Layout]:
    """The episode checked against `spaces` and laid out; raises before anything is computed."""
    x, z, y = episode.encode(spaces)
    x = Instance(*(np.concatenate([part, part[..., -1:, :]], axis=-2) for part in x))
    proxy_seen, outcome_seen = (_as_rounds(seen) for seen in (episode.proxy_seen, episode.outcome_seen))
    proxies, outcomes = _arrivals(proxy_seen), _arrivals(outcome_seen)
    dealt = Dealt(
        x=x,
        z=z,
        y=y,
        outcome_of_proxy=np.where(outcome_seen < proxy_seen, y, EMPTY).astype(np.int32),
        proxy_of_outcome=np.where((proxy_seen <= outcome_seen) & (proxy_seen < LATER), z, EMPTY).astype(np.int32),
        proxy_seen=proxy_seen,
        proxies=proxies,
        outcomes=outcomes,
    )
    return dealt, *_blocks(proxies, outcomes)


def trial_axes(dealt: Dealt) -> Dealt:
    """The axis of each part to map trials over, None where all trials share it."""
    seen = 0 if dealt.proxy_seen.ndim == 2 else None
    order = [Arrivals(*([0 if part.rows.ndim == 2 else None] * 2)) for part in (dealt.proxies, dealt.outcomes)]
    return Dealt(Instance(0, 0), 0, 0, 0, 0, seen, *order)


def _as_rounds(seen: Array) -> Array:
    return np.where(seen == NEVER, LATER, np.minimum(seen, LATER)).astype(np.int32)


def _arrivals(seen: Array) -> Arrivals:
    if seen.ndim == 1:
        return arrivals(seen)
    each = [arrivals(trial) for trial in seen]
    return Arrivals(np.stack([a.rows for a in each]), np.stack([a.known for a in each]))


def _blocks(proxies: Arrivals, outcomes: Arrivals) -> tuple[Blocks, Layout]:
    fresh = [np.diff(part.known, axis=-1, prepend=0) for part in (proxies, outcomes)]
    fresh = [part.max(axis=0) if part.ndim == 2 else part for part in fresh]
    most = int(max(part.max() for part in fresh))
    rows = min(BLOCK, max(1, most))
    return Blocks(*(np.ceil(part / rows).astype(np.int32) for part in fresh)), Layout(rows, once=most <= rows)
