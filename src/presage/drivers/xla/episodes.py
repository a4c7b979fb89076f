"""Whole episodes inside one XLA program, trials side by side on all cores or a GPU."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from presage.drivers.trial_losses import Losses
from presage.drivers.xla.chunks import in_chunks
from presage.drivers.xla.compile_cache import use_compile_cache
from presage.drivers.xla.rounds import Played, Program, play_rounds
from presage.drivers.xla.timetable import EpisodeArrays, Timetable, lay_out_episode, take_trials, trial_axes
from presage.errors import ShapeError
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import MixtureMemo
from presage.forecasters.random_keys import Key, Purpose, key_for, root_key
from presage.metrics.losses import log_loss
from presage.progress import Step
from presage.spaces import Array
from presage.timeline.episode import Episode


def scan_experts(forecaster: Forecaster, episodes: Episode, key: Any, progress: Step | None = None) -> Losses:
    """The log losses of any forecaster, and of the experts of a mixture, all from one run."""
    losses: Losses = _over_trials(_many_losses, forecaster, episodes, key, progress=progress)
    return losses


def trial_key(key: Any, trial: int) -> Key:
    """The key that one of several trials is played with."""
    return key_for(root_key(key), Purpose.TRIAL, trial)


def scan_episode(forecaster: Forecaster, episode: Episode, key: Any, *, nowcasts: bool = False) -> Played:
    """One episode from an empty state; with `nowcasts`, also what each round's proxy would have told."""
    if episode.trials is not None:
        raise ShapeError("this function takes a single episode", episode.z.shape, "use play_trials for several")
    use_compile_cache()
    dealt, timetable, layout = lay_out_episode(forecaster.spaces, forecaster.replay, episode)
    played: Played = _one(Program(forecaster, layout, nowcasts), timetable, dealt, root_key(key))
    return played


def scan_trials(forecaster: Forecaster, episodes: Episode, key: Any, *, nowcasts: bool = False) -> Played:
    """Every trial of `episodes` from an empty state, as `scan_episode` plays each."""
    played: Played = _over_trials(_many, forecaster, episodes, key, nowcasts=nowcasts)
    return played


def prepared(forecaster: Forecaster, episodes: Episode, key: Any) -> Callable[[], Losses]:
    """`scan_experts` as one program for all trials, with everything it reads on the device already.

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
    progress: Step | None = None,
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
