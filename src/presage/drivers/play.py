"""Whole episodes inside one XLA program, trials side by side on all cores or a GPU."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from presage.drivers.xla.chunks import in_chunks
from presage.drivers.xla.compile_cache import use_compile_cache
from presage.drivers.xla.rounds import Played, Program, play_rounds
from presage.drivers.xla.timetable import EpisodeArrays, Timetable, lay_out_episode, take_trials, trial_axes
from presage.errors import ShapeError
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import MixtureMemo
from presage.forecasters.random_keys import Key, Purpose, key_for, root_key
from presage.metrics.losses import log_loss
from presage.spaces import Array
from presage.timeline.episode import Episode

Progress = Callable[[int], None]
"""Is told how many more trials are done."""


class Losses(NamedTuple):
    """The losses of a forecaster, and of the experts it mixes."""

    own: Array  # [R, T]
    experts: Array | None  # [R, K, T]; None unless it is a mixture


def play(forecaster: Forecaster, episode: Episode, key: Any) -> Array:
    """The log loss of each round, [T]: predict, then reveal.

    >>> from presage import Delays, Spaces, factored_table
    >>> episode = Episode.fixed([0, 0, 0], [0, 0, 0], [1, 1, 1], Delays(proxy=0, outcome=1))
    >>> play(factored_table(Spaces(1, 2, 2)), episode, key=0).shape
    (3,)
    """
    return log_loss(np.asarray(run(forecaster, episode, key).log_probabilities), episode.y)


def play_trials(forecaster: Forecaster, episodes: Episode, key: Any, progress: Progress | None = None) -> Array:
    """The log losses of each trial and round, [R, T]; trial r is `play` with the r-th trial key.

    `episodes` holds the trials along its leading axis (`Episode.stack` puts single episodes together).
    """
    return play_experts(forecaster, episodes, key, progress).own


def play_experts(forecaster: Forecaster, episodes: Episode, key: Any, progress: Progress | None = None) -> Losses:
    """The log losses of a mixture and of each of its experts, all from one run."""
    losses: Losses = _over_trials(_many_losses, forecaster, episodes, key, progress=progress)
    return losses


def trial_key(key: Any, trial: int) -> Key:
    """The key `play_trials` gives to one trial."""
    return key_for(root_key(key), Purpose.TRIAL, trial)


def run(forecaster: Forecaster, episode: Episode, key: Any, *, nowcasts: bool = False) -> Played:
    """One episode from an empty state; with `nowcasts`, also what each round's proxy would have told."""
    if episode.trials is not None:
        raise ShapeError("one episode is played at a time here", episode.z.shape, "use play_trials for several")
    use_compile_cache()
    dealt, timetable, layout = lay_out_episode(forecaster.spaces, forecaster.replay, episode)
    played: Played = _one(Program(forecaster, layout, nowcasts), timetable, dealt, root_key(key))
    return played


def run_trials(forecaster: Forecaster, episodes: Episode, key: Any, *, nowcasts: bool = False) -> Played:
    """Every trial of `episodes` from an empty state, as `run` plays each."""
    played: Played = _over_trials(_many, forecaster, episodes, key, nowcasts=nowcasts)
    return played


def prepared(forecaster: Forecaster, episodes: Episode, key: Any) -> Callable[[], Losses]:
    """`play_experts` as one program for all trials, with everything it reads on the device already.

    The losses stay on the device: this is how to time the program apart from checks and transfers.
    """
    use_compile_cache()
    dealt, timetable, layout = lay_out_episode(forecaster.spaces, forecaster.replay, episodes)
    keys = trial_keys(root_key(key), jnp.arange(len(episodes.z)))
    return partial(_many_losses, Program(forecaster, layout), *jax.device_put((timetable, dealt)), keys)


def _over_trials(
    many: Callable[[Program, Timetable, EpisodeArrays, Key], Any],
    forecaster: Forecaster,
    episodes: Episode,
    key: Any,
    *,
    nowcasts: bool = False,
    progress: Progress | None = None,
) -> Any:
    if episodes.trials is None:
        raise ShapeError("trials need a leading axis", episodes.z.shape, "use play, or Episode.stack([episode])")
    use_compile_cache()
    dealt, timetable, layout = lay_out_episode(forecaster.spaces, forecaster.replay, episodes)
    program, root = Program(forecaster, layout, nowcasts), root_key(key)

    def play_chunk(trials: Array) -> Any:
        keys = trial_keys(root, trials)
        return many(program, timetable, take_trials(dealt, trials), keys)

    # The activations of a chunk of networks should stay in the cache of a core; tables cost so little that the
    # overhead of a program decides.
    return in_chunks(play_chunk, episodes.trials, 10 if forecaster.replay else 200, progress)


@jax.jit
def trial_keys(root: Key, trials: Array) -> Key:
    """The keys of several trials."""
    return jax.vmap(partial(key_for, root, Purpose.TRIAL))(trials)


@partial(jax.jit, static_argnums=0)
def _one(program: Program, timetable: Timetable, dealt: EpisodeArrays, root: Key) -> Played:
    return play_rounds(program, timetable, dealt, root)


@partial(jax.jit, static_argnums=0)
def _many(program: Program, timetable: Timetable, dealt: EpisodeArrays, roots: Key) -> Played:
    return _each_trial(program, timetable, dealt, roots)


@partial(jax.jit, static_argnums=0)
def _many_losses(program: Program, timetable: Timetable, dealt: EpisodeArrays, roots: Key) -> Losses:
    played = _each_trial(program, timetable, dealt, roots)
    own = log_loss(played.log_probabilities, dealt.y)
    if not isinstance(played.memos, MixtureMemo):
        return Losses(own, None)
    said = played.memos.log_probabilities.swapaxes(-2, -3)  # [R, K, T, Y]
    y = jnp.broadcast_to(dealt.y[..., None, :], said.shape[:-1])
    return Losses(own, log_loss(said, y))


def _each_trial(program: Program, timetable: Timetable, dealt: EpisodeArrays, roots: Key) -> Played:
    one = partial(play_rounds, program, timetable)
    return Played(*jax.vmap(one, in_axes=(trial_axes(dealt), 0))(dealt, roots))
