"""An episode laid out for a compiled program: fixed shapes, and what is learnt before which round."""

from typing import NamedTuple

import jax
import numpy as np

from presage.forecasters.replay import Replay
from presage.spaces import EMPTY, Array, Instance, Spaces
from presage.timeline.arrivals import LATER, Arrivals, arrivals_of, as_rounds
from presage.timeline.episode import Episode

BLOCK = 32
"""The most rows learnt at once when many arrive together."""


class EpisodeArrays(NamedTuple):
    """What a program reads of an episode; each part has a trial axis in front, or all trials share it."""

    x: Instance  # [T + 1]: a round after the last, whose prediction is thrown away
    z: Array  # [T]
    y: Array  # [T]
    outcome_of_proxy: Array  # [T]: y where the outcome came before the proxy, else -1
    proxy_of_outcome: Array  # [T]: z where the proxy came no later than the outcome, else -1
    proxy_seen: Array  # [T]
    proxies: Arrivals
    outcomes: Arrivals


class Timetable(NamedTuple):
    """What is done before each round; the same for all trials, so that loops and branches over it stay unbatched.

    Under vmap a branch with a batched predicate computes both its sides, at every round.
    """

    proxies: Array  # int32 [T + 1]: how many blocks of proxies are learnt
    outcomes: Array  # int32 [T + 1]
    rehearse: Array  # bool [T + 1]: whether training steps are taken


class ProgramShape(NamedTuple):
    """The fixed shapes of a program."""

    rows: int  # learnt in one step
    once: bool  # whether one step holds all that ever arrives at the end of a round
    open: int  # the most rounds a row stays open: memos are kept for so many rows


def lay_out_episode(
    spaces: Spaces, replay: Replay | None, episode: Episode
) -> tuple[EpisodeArrays, Timetable, ProgramShape]:
    """The episode checked against `spaces` and laid out; raises before anything is computed."""
    x, z, y = episode.encode(spaces)
    x = Instance(*(np.concatenate([part, part[..., -1:, :]], axis=-2) for part in x))
    proxy_seen, outcome_seen = (as_rounds(seen) for seen in (episode.proxy_seen, episode.outcome_seen))
    proxies, outcomes = arrivals_of(proxy_seen), arrivals_of(outcome_seen)
    dealt = EpisodeArrays(
        x=x,
        z=z,
        y=y,
        outcome_of_proxy=np.where(outcome_seen < proxy_seen, y, EMPTY).astype(np.int32),
        proxy_of_outcome=np.where((proxy_seen <= outcome_seen) & (proxy_seen < LATER), z, EMPTY).astype(np.int32),
        proxy_seen=proxy_seen,
        proxies=proxies,
        outcomes=outcomes,
    )
    timetable, rows, once = _timetable(replay, proxies, outcomes)
    return dealt, timetable, ProgramShape(rows, once, _longest_open(proxy_seen, outcome_seen))


def trial_axes(dealt: EpisodeArrays) -> EpisodeArrays:
    """The axis of each part to map trials over, None where all trials share it."""
    seen = 0 if dealt.proxy_seen.ndim == 2 else None
    order = [Arrivals(*([0 if part.rows.ndim == 2 else None] * 2)) for part in (dealt.proxies, dealt.outcomes)]
    return EpisodeArrays(Instance(0, 0), 0, 0, 0, 0, seen, *order)


def take_trials(dealt: EpisodeArrays, trials: Array) -> EpisodeArrays:
    """Some of the trials; what all trials share stays shared."""

    def take(axis: int | None, part: Array) -> Array:
        return part if axis is None else part[trials]

    return EpisodeArrays(*jax.tree.map(take, trial_axes(dealt), dealt, is_leaf=lambda axis: axis is None))


def _timetable(replay: Replay | None, proxies: Arrivals, outcomes: Arrivals) -> tuple[Timetable, int, bool]:
    known = [part.known.max(axis=0) if part.known.ndim == 2 else part.known for part in (proxies, outcomes)]
    fresh = [np.diff(part.known, axis=-1, prepend=0) for part in (proxies, outcomes)]
    fresh = [part.max(axis=0) if part.ndim == 2 else part for part in fresh]
    most = int(max(part.max() for part in fresh))
    rows = min(BLOCK, max(1, most))
    proxy_blocks, outcome_blocks = (np.ceil(part / rows).astype(np.int32) for part in fresh)
    rehearse = np.zeros(len(known[0]), bool)
    if replay:  # steps before either window has started would move nothing
        rehearse = replay.due(np.arange(len(rehearse))) & (np.maximum(*known) >= replay.start)
    return Timetable(proxy_blocks, outcome_blocks, rehearse), rows, most <= rows


def _longest_open(*seen: Array) -> int:
    """The most rounds from a prediction to feedback that is seen before the last round is over, both included."""
    rounds = np.arange(seen[0].shape[-1])
    waits = [np.where(part < len(rounds), part - rounds, 0) for part in seen]
    return int(max(part.max() for part in waits)) + 1
