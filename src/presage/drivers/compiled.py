"""Whole episodes inside one XLA program, trials side by side on all cores or a GPU."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import numpy as np

from presage.drivers.cache import use_compile_cache
from presage.drivers.rounds import Played, play_rounds
from presage.drivers.schedule import Dealt, Layout, Timetable, deal, take_trials, trial_axes
from presage.errors import ShapeError
from presage.forecasters.contract import Forecaster
from presage.learning.keys import Key, Purpose, key_for, root_key
from presage.spaces import EMPTY, Array
from presage.timeline.episode import Episode


def play(forecaster: Forecaster, episode: Episode, key: Any) -> Array:
    """The log loss of each round, [T]: predict, then reveal.

    >>> from presage import Delays, Spaces, factored_table
    >>> episode = Episode.fixed([0, 0, 0], [0, 0, 0], [1, 1, 1], Delays(proxy=0, outcome=1))
    >>> play(factored_table(Spaces(1, 2, 2)), episode, key=0).shape
    (3,)
    """
    return log_loss(run(forecaster, episode, key).log_probabilities, episode.y)


def play_trials(forecaster: Forecaster, episodes: Episode, key: Any) -> Array:
    """The log losses of each trial and round, [R, T]; trial r is `play` with the r-th trial key.

    `episodes` holds the trials along its leading axis (`Episode.stack` puts single episodes together).
    """
    return log_loss(run_trials(forecaster, episodes, key).log_probabilities, episodes.y)


def trial_key(key: Any, trial: int) -> Key:
    """The key `play_trials` gives to one trial."""
    return key_for(root_key(key), Purpose.TRIAL, trial)


def run(forecaster: Forecaster, episode: Episode, key: Any) -> Played:
    """One episode from an empty state."""
    if episode.trials is not None:
        raise ShapeError("one episode is played at a time here", episode.z.shape, "use play_trials for several")
    use_compile_cache()
    dealt, timetable, layout = deal(forecaster.spaces, forecaster.replay, episode)
    played: Played = _one(forecaster, layout, dealt, timetable, root_key(key))
    return played


def run_trials(
    forecaster: Forecaster, episodes: Episode, key: Any, progress: Callable[[int], None] | None = None
) -> Played:
    """Every trial of `episodes` from an empty state, in chunks that fill the cores (or a GPU).

    `progress` is called with the number of trials of each chunk that is done.
    """
    if episodes.trials is None:
        raise ShapeError("trials need a leading axis", episodes.z.shape, "use play, or Episode.stack([episode])")
    use_compile_cache()
    dealt, timetable, layout = deal(forecaster.spaces, forecaster.replay, episodes)
    chunks = chunked(episodes.trials, trials_at_once(forecaster, episodes.trials))
    root = root_key(key)

    def play_chunk(trials: Array) -> Played:
        keys = jax.vmap(partial(key_for, root, Purpose.TRIAL))(trials)
        played = _many(forecaster, layout, take_trials(dealt, trials), timetable, keys)
        there: Played = jax.tree.map(np.asarray, played)
        if progress:
            progress(len(set(trials.tolist())))
        return there

    with ThreadPoolExecutor(_cores()) as threads:
        played = list(threads.map(play_chunk, chunks))
    joined: Played = jax.tree.map(lambda *parts: np.concatenate(parts)[: episodes.trials], *played)
    return joined


def trials_at_once(forecaster: Forecaster, trials: int) -> int:
    """How many trials one program runs side by side.

    A GPU takes them all. On CPUs the parameters and activations of a chunk of networks should stay in the cache of
    a core, while tables cost so little that the program's own overhead decides.
    """
    if jax.default_backend() != "cpu":
        return trials
    return min(10 if forecaster.replay else 100, -(-trials // _cores()))


def chunked(trials: int, size: int) -> list[Array]:
    """The trials in chunks of one size; the last is filled up with repeats, so that one program serves all.

    >>> [chunk.tolist() for chunk in chunked(5, 2)]
    [[0, 1], [2, 3], [4, 4]]
    """
    return [np.minimum(np.arange(first, first + size), trials - 1) for first in range(0, trials, size)]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def log_loss(log_probabilities: Array, y: Array) -> Array:
    """-ln p(y) for each round; NaN where nobody knows y."""
    chosen = np.take_along_axis(np.asarray(log_probabilities), np.maximum(y, 0)[..., None], axis=-1)[..., 0]
    return np.where(y == EMPTY, np.float32(np.nan), -chosen)


@partial(jax.jit, static_argnums=(0, 1))
def _one(forecaster: Forecaster, layout: Layout, dealt: Dealt, timetable: Timetable, root: Key) -> Played:
    return play_rounds(forecaster, layout, timetable, dealt, root)


@partial(jax.jit, static_argnums=(0, 1))
def _many(forecaster: Forecaster, layout: Layout, dealt: Dealt, timetable: Timetable, roots: Key) -> Played:
    one = partial(play_rounds, forecaster, layout, timetable)
    return jax.vmap(one, in_axes=(trial_axes(dealt), 0))(dealt, roots)
