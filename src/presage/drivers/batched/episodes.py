"""Networks block by block: they do not change between training steps, so a block's predictions are computed at once.

A block is as many rounds as lie between trainings. What the judge of a mixture tells of rows whose feedback comes in a
block is computed with it, and the experts are weighed afterwards.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from presage.drivers.counting.weighing import arrivals_in, feedback_of, weigh
from presage.drivers.trial_losses import Losses
from presage.drivers.xla.chunks import in_chunks
from presage.drivers.xla.compile_cache import use_compile_cache
from presage.drivers.xla.episodes import trial_keys
from presage.drivers.xla.rounds import Drawing, at, rehearse_due, rows_at
from presage.drivers.xla.timetable import EpisodeArrays, lay_out_episode, take_trials, trial_axes
from presage.errors import SettingError, ShapeError
from presage.forecasters.contract import Forecaster, State
from presage.forecasters.expert_weights import EarlyWeights
from presage.forecasters.mixture import Pool, experts_of
from presage.forecasters.random_keys import Key, Purpose, key_for, root_key
from presage.metrics.losses import log_loss
from presage.progress import Step
from presage.spaces import Array, Instance
from presage.timeline.arrivals import Arrivals
from presage.timeline.episode import Episode


class BlockProgram(NamedTuple):
    """What is compiled: everything but the arrays."""

    forecaster: Forecaster
    judged: bool  # whether the now-casts of a mixture's judge are wanted
    proxies: int  # the most that come in a block
    outcomes: int


class BlockPredictions(NamedTuple):
    """What was said in each block."""

    logs: Array  # [blocks, every, K, Y]
    expected: Array  # [blocks, P, K]: the losses the judge expects of experts on rows whose proxy came in the block
    told: Array  # [blocks, O, Y]: what it told of rows whose outcome came in the block; both empty without a judge


def can_block(forecaster: Forecaster) -> bool:
    """Whether a forecaster is a network or a mixture of networks, which learn by training alone."""
    return all(expert.only_rehearses for expert in experts_of(forecaster))


def block_experts(
    forecaster: Forecaster, episodes: Episode, key: Any, progress: Step | None = None, first: int = 0
) -> Losses:
    """The log losses of networks, or of a mixture and each of its networks; `play_experts` gives the same.

    The trials are those numbered from `first` of a larger run.
    """
    if not can_block(forecaster) or forecaster.replay is None:
        raise SettingError("only networks can be played by blocks", forecaster.name, "use play_experts")
    if episodes.trials is None:
        raise ShapeError("trials need a leading axis", episodes.z.shape, "use Episode.stack([episode])")
    laid = _lay_out(forecaster, episodes)
    dealt, every, root, arriving = laid.dealt, forecaster.replay.every, root_key(key), arrivals_in(episodes)

    def play_chunk(trials: Array) -> BlockPredictions:
        some = take_trials(dealt, trials)
        said: BlockPredictions = _play_trials(laid.program, laid.due, some, trial_keys(root, trials + first))
        return said

    def finish(trials: Array, said: BlockPredictions) -> Losses:
        logs = said.logs.reshape(len(trials), -1, *said.logs.shape[-2:])[:, : episodes.rounds]
        experts = log_loss(logs, np.broadcast_to(dealt.y[trials][..., None], logs.shape[:-1])).swapaxes(1, 2)
        pool = forecaster.structure
        if not isinstance(pool, Pool):
            return Losses(experts[:, 0], None)
        feedback = feedback_of(trials, dealt.z, dealt.y, arriving)
        expected = _by_arrival(every, said.expected, feedback.proxies_known, episodes.rounds)
        told = _by_arrival(every, said.told, feedback.outcomes_known, episodes.rounds)
        return Losses(weigh(pool, feedback, logs, expected, told), experts)

    losses: Losses = in_chunks(play_chunk, episodes.trials, 10, progress, finish)
    return losses


def block_episode(forecaster: Forecaster, episode: Episode, key: Any) -> Array:  # float32 [T, Y]
    """The log-probabilities of one network in each round of one episode; `scan_episode` gives the same."""
    if not forecaster.only_rehearses or forecaster.replay is None:
        raise SettingError("only a network can be played by blocks", forecaster.name, "use scan_episode")
    if episode.trials is not None:
        raise ShapeError("this function takes a single episode", episode.z.shape, "use block_experts for several")
    laid = _lay_out(forecaster, episode)
    said: BlockPredictions = _play_one(laid.program, laid.due, laid.dealt, root_key(key))
    return np.asarray(said.logs).reshape(-1, said.logs.shape[-1])[: episode.rounds]


def prepared_blocks(forecaster: Forecaster, episodes: Episode, key: Any) -> Callable[[], BlockPredictions]:
    """The program of `block_experts` for all trials at once, with everything it reads on the device already.

    What is said stays on the device: this is how to time the program apart from what the host does.
    """
    laid = _lay_out(forecaster, episodes)
    keys = trial_keys(root_key(key), jnp.arange(len(episodes.z)))
    return partial(_play_trials, laid.program, *jax.device_put((laid.due, laid.dealt)), keys)


class BlockLayout(NamedTuple):
    """Trials ready for a program."""

    program: BlockProgram
    due: Array  # bool [blocks]: whether training comes first
    dealt: EpisodeArrays


def _lay_out(forecaster: Forecaster, episodes: Episode) -> BlockLayout:
    use_compile_cache()
    assert forecaster.replay is not None
    every = forecaster.replay.every
    dealt, timetable, _ = lay_out_episode(forecaster.spaces, forecaster.replay, episodes)
    judged = isinstance(forecaster.structure, Pool) and isinstance(forecaster.structure.rule, EarlyWeights)
    most = [_most(order, every) for order in (dealt.proxies, dealt.outcomes)]
    return BlockLayout(BlockProgram(forecaster, judged, *most), timetable.rehearse[: episodes.rounds : every], dealt)


def _most(order: Arrivals, every: int) -> int:
    """The most rows that arrive within a block, in any trial."""
    starts = np.minimum(np.arange(0, order.known.shape[-1] + every, every), order.known.shape[-1] - 1)
    return int(np.diff(order.known[..., starts], axis=-1).max())


@partial(jax.jit, static_argnums=0)
def _play_one(program: BlockProgram, due: Array, dealt: EpisodeArrays, root: Key) -> BlockPredictions:
    return _play_blocks(program, due, dealt, root)


@partial(jax.jit, static_argnums=0)
def _play_trials(program: BlockProgram, due: Array, dealt: EpisodeArrays, roots: Key) -> BlockPredictions:
    return BlockPredictions(
        *jax.vmap(partial(_play_blocks, program, due), in_axes=(trial_axes(dealt), 0))(dealt, roots)
    )


def _play_blocks(program: BlockProgram, due: Array, dealt: EpisodeArrays, root: Key) -> BlockPredictions:
    """The blocks of one trial; `due` [blocks] says whether training comes first."""
    forecaster, replay = program.forecaster, program.forecaster.replay
    assert replay is not None
    last = dealt.z.shape[0] - 1

    def play_block(state: State, block: tuple[Array, Array]) -> tuple[State, BlockPredictions]:
        number, train = block
        start = number * replay.every
        drawing = Drawing(dealt, replay, root, start)
        state = jax.lax.cond(train, partial(rehearse_due, forecaster, drawing), lambda state: state, state)
        rows = jnp.minimum(start + jnp.arange(replay.every), last)

        def arrived(order: Arrivals, count: int) -> tuple[Instance, Array]:
            came = rows_at(order, order.known[start] + jnp.arange(count))
            x = at(dealt.x, came)
            return x, jax.vmap(partial(forecaster.nowcast, state))(x, jnp.maximum(dealt.z[came], 0))

        say = jax.vmap(partial(_each, forecaster, state))
        logs = say(at(dealt.x, rows))  # [every, K, Y]
        if not program.judged:
            return state, BlockPredictions(logs, *jnp.zeros((2, 0, 1)))
        x, told = arrived(dealt.proxies, program.proxies)
        expected = -(jnp.exp(told)[:, None] * say(x)).sum(-1)
        return state, BlockPredictions(logs, expected, jnp.exp(arrived(dealt.outcomes, program.outcomes)[1]))

    state = forecaster.init(key_for(root, Purpose.PARAMETERS))
    return jax.lax.scan(play_block, state, (jnp.arange(len(due)), due))[1]


def _each(forecaster: Forecaster, state: State, x: Instance) -> Array:  # [K, Y]
    """What each expert says of one instance."""
    states = state.experts if isinstance(forecaster.structure, Pool) else (state,)
    each = zip(experts_of(forecaster), states, strict=True)
    return jnp.stack([expert.predict(own, x).log_probabilities for expert, own in each])


def _by_arrival(every: int, by_block: Array, known: Array, rounds: int) -> Array:  # [B, T, ...]
    """What was computed of rows in the block in which they arrived, in the order of arrival."""
    ordered = np.zeros((len(by_block), rounds, by_block.shape[-1]), np.float32)
    if by_block.shape[2] == 0:
        return ordered
    for own in range(len(known)):
        trials = slice(None) if len(known) == 1 else own
        position = np.arange(known[own, -1])
        block = (np.searchsorted(known[own], position, side="right") - 1) // every
        ordered[trials, position] = by_block[trials, block, position - known[own, block * every]]
    return ordered
