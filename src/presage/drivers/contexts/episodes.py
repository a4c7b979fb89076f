"""The default forecaster played over episodes: one long log stretch by stretch, or many trials."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from presage.drivers.threads import over_cores
from presage.drivers.trial_losses import Losses
from presage.errors import ShapeError
from presage.forecasters.contexts.kernels import ContextState, scratch_for, start_state
from presage.forecasters.contexts.layout import MEMBERS, ContextLayout
from presage.forecasters.contexts.loops import play_rounds
from presage.metrics.losses import log_loss
from presage.progress import Step
from presage.spaces import Array, Instance
from presage.timeline.arrivals import Arrivals, arrivals_of, as_rounds
from presage.timeline.episode import Episode

STRETCH = 50_000
"""How many rounds are played at a time."""


class PlayedStretch(NamedTuple):
    """What was said in the S rounds of a stretch."""

    log_probabilities: Array  # float32 [S, Y]
    weights: Array  # float32 [S, M]: of the members; no rows unless they were asked for


class ContextLog:
    """An episode, and what a default forecaster has learnt of it so far."""

    def __init__(
        self, layout: ContextLayout, episode: Episode, state: ContextState | None = None, least: int = 1
    ) -> None:
        if state is None:
            x, self._z, self._y = episode.encode(layout.spaces)
        else:  # of a log that was read: values that are not known are EMPTY
            x, self._z, self._y = episode.x, episode.z.astype(np.int32), episode.y.astype(np.int32)
        self._layout, self._x = layout, Instance(np.ascontiguousarray(x.symbols), np.ascontiguousarray(x.dense))
        self._seen = as_rounds(episode.proxy_seen), as_rounds(episode.outcome_seen)
        self._proxies, self._outcomes = (arrivals_of(part) for part in (episode.proxy_seen, episode.outcome_seen))
        self.rounds = episode.rounds
        self.state = state or start_state(layout)
        self._room = scratch_for(layout)
        waits = [np.where(seen < self.rounds, seen - np.arange(self.rounds), 0).max(initial=0) for seen in self._seen]
        self.ring = np.zeros((max(int(max(waits)) + 2, least), layout.memo_width), np.uint8)
        """The memo of row r at r modulo its length."""

    def play(self, start: int, stop: int, weights: bool = False) -> PlayedStretch:
        """What is said in the rounds of one stretch; the stretches must be played in order."""
        said = np.empty((stop - start, self._layout.spaces.outcomes), np.float32)
        weighed = np.zeros((stop - start if weights else 0, len(MEMBERS)), np.float32)
        play_rounds(
            self._layout.places, self._layout.heads, self._layout.switches, self.state, self._room, *self._x, self._z,
            self._y, self._seen, _order(self._proxies), _order(self._outcomes), start, self.ring, said, weighed,
        )  # fmt: skip
        return PlayedStretch(said, weighed)


def _order(arrivals: Arrivals) -> tuple[Array, Array]:
    return arrivals.rows, arrivals.known


def stretch_contexts(layout: ContextLayout, episode: Episode, weights: bool = False) -> Iterator[PlayedStretch]:
    """What is said in each stretch of an episode."""
    log = ContextLog(layout, episode)
    for start, stop in pairwise([*range(0, log.rounds, STRETCH), log.rounds]):
        yield log.play(start, stop, weights)


def play_contexts(layout: ContextLayout, episodes: Episode, progress: Step | None = None) -> Losses:
    """The log losses of each trial [R, T]."""
    if episodes.trials is None:
        raise ShapeError("trials need a leading axis", episodes.z.shape, "use Episode.stack([episode])")

    def play_one(trial: int) -> Array:
        episode = episodes.trial(trial)
        said = np.concatenate([part.log_probabilities for part in stretch_contexts(layout, episode)])
        if progress:
            progress(1)
        return log_loss(said, episode.y)

    return Losses(np.stack(over_cores(play_one, range(episodes.trials))), None)


class PlayedLog(NamedTuple):
    """What had been learnt when the last row was predicted, and after it."""

    learnt: ContextState  # all feedback of the rounds before that of the last row
    latest: ContextState  # the feedback of that round, too
    memos: Array  # uint8 [rows to keep, B]


def play_on(layout: ContextLayout, learnt: ContextState, episode: Episode, memos: Array, keep: Array) -> PlayedLog:
    """What a default forecaster has learnt at the end of an episode.

    Args:
        layout: What is fixed about it.
        learnt: What it had learnt when row C - 1 was predicted; nothing where C is 0.
        episode: C rows that were predicted before, of which C - 1 is the last, then new ones, and then one that stands
            for whatever is asked next.
        memos: uint8 [C, B], of the rows predicted before.
        keep: bool [T], whose memos are wanted again.
    """
    start, last = len(memos), episode.rounds - 1
    kept = np.flatnonzero(keep)
    least = max(start, last - int(kept[0]) if len(kept) else 1) + 1
    log = ContextLog(layout, episode, ContextState(*(part.copy() for part in learnt)), least)
    log.ring[np.arange(start)] = memos
    for first, end in pairwise([*range(start, last, STRETCH), last]):
        log.play(first, end)
    before = ContextState(*(part.copy() for part in log.state))
    memos = log.ring[kept % len(log.ring)]
    log.play(last, last + 1)
    return PlayedLog(before, log.state, memos)
