"""Whole episodes inside one XLA program: a scan over rounds, trials side by side.

Each round first learns what was revealed at the end of the round before, and only then predicts. Writing before
reading lets XLA update tables in place; the other way round it would copy them whole, every round.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from presage.drivers.schedule import Blocks, Dealt, Layout, deal, trial_axes
from presage.errors import ShapeError
from presage.forecasters.contract import Forecaster, Memo, Rows, State
from presage.learning.keys import Key, Purpose, key_for, root_key
from presage.learning.replay import draw_positions
from presage.spaces import EMPTY, Array
from presage.timeline.arrivals import Arrivals
from presage.timeline.episode import Episode


class Played(NamedTuple):
    """What a forecaster said in each round, and what it had learnt after the last."""

    log_probabilities: Array  # [T, Y], with a trial axis in front for trials
    state: State


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
    dealt, blocks, layout = deal(forecaster.spaces, episode)
    played: Played = _one(forecaster, layout, dealt, blocks, root_key(key))
    return played


def run_trials(forecaster: Forecaster, episodes: Episode, key: Any) -> Played:
    """Every trial of `episodes` from an empty state, side by side."""
    if episodes.trials is None:
        raise ShapeError("trials need a leading axis", episodes.z.shape, "use play, or Episode.stack([episode])")
    dealt, blocks, layout = deal(forecaster.spaces, episodes)
    keys = jax.vmap(partial(key_for, root_key(key), Purpose.TRIAL))(jnp.arange(episodes.trials))
    played: Played = _many(forecaster, layout, dealt, blocks, keys)
    return played


def log_loss(log_probabilities: Array, y: Array) -> Array:
    """-ln p(y) for each round; NaN where nobody knows y."""
    chosen = np.take_along_axis(np.asarray(log_probabilities), np.maximum(y, 0)[..., None], axis=-1)[..., 0]
    return np.where(y == EMPTY, np.float32(np.nan), -chosen)


@partial(jax.jit, static_argnums=(0, 1))
def _one(forecaster: Forecaster, layout: Layout, dealt: Dealt, blocks: Blocks, root: Key) -> Played:
    return _rounds(forecaster, layout, blocks, dealt, root)


@partial(jax.jit, static_argnums=(0, 1))
def _many(forecaster: Forecaster, layout: Layout, dealt: Dealt, blocks: Blocks, roots: Key) -> Played:
    one = partial(_rounds, forecaster, layout, blocks)
    return jax.vmap(one, in_axes=(trial_axes(dealt), 0))(dealt, roots)


class Carry(NamedTuple):
    """What goes from round to round."""

    state: State
    memos: Memo  # [T + 1]: the memo of each round's prediction
    last: Memo  # the memo of the round just predicted, put away before any memo is read


def _rounds(forecaster: Forecaster, layout: Layout, blocks: Blocks, dealt: Dealt, root: Key) -> Played:
    """The rounds of one trial."""
    rounds = dealt.z.shape[0]
    state = forecaster.init(key_for(root, Purpose.PARAMETERS))
    memo = jax.eval_shape(lambda: forecaster.predict(state, _at(dealt.x, 0)).memo)
    last = jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), memo)
    memos = jax.tree.map(lambda part: jnp.zeros((rounds + 1, *part.shape), part.dtype), memo)

    def play_round(carry: Carry, now: tuple[Array, Blocks]) -> tuple[Carry, Array]:
        t, steps = now
        memos = jax.tree.map(lambda kept, new: kept.at[jnp.maximum(t - 1, 0)].set(new), carry.memos, carry.last)
        state = _learn(forecaster, layout, Revealed(dealt, memos, t), steps, carry.state)
        state = _rehearse(forecaster, dealt, root, t, state)
        forecast = forecaster.predict(state, _at(dealt.x, t))
        return Carry(state, memos, forecast.memo), forecast.log_probabilities

    carry, log_probabilities = jax.lax.scan(play_round, Carry(state, memos, last), (jnp.arange(rounds + 1), blocks))
    return Played(log_probabilities[:-1], carry.state)


class Revealed(NamedTuple):
    """What is revealed at the end of the round before round t."""

    dealt: Dealt
    memos: Memo
    t: Array

    def proxies(self, block: Array | int, size: int) -> Rows:
        """A block of the rows whose proxy is revealed."""
        rows, weight = self._fresh(self.dealt.proxies, block, size)
        return self._rows(rows, self.dealt.z[rows], self.dealt.outcome_of_proxy[rows], weight)

    def outcomes(self, block: Array | int, size: int) -> Rows:
        """A block of the rows whose outcome is revealed."""
        rows, weight = self._fresh(self.dealt.outcomes, block, size)
        return self._rows(rows, self.dealt.proxy_of_outcome[rows], self.dealt.y[rows], weight)

    def _fresh(self, order: Arrivals, block: Array | int, size: int) -> tuple[Array, Array]:
        first, stop = order.known[jnp.maximum(self.t - 1, 0)], order.known[self.t]
        positions = first + block * size + jnp.arange(size, dtype=jnp.int32)
        return _rows_at(order, positions), (positions < stop).astype(jnp.int32)

    def _rows(self, rows: Array, z: Array, y: Array, weight: Array) -> Rows:
        return Rows(_at(self.dealt.x, rows), z, y, _at(self.memos, rows), weight)


def _learn(forecaster: Forecaster, layout: Layout, revealed: Revealed, steps: Blocks, state: State) -> State:
    """The state after the feedback of the round before: all proxies first, then all outcomes."""
    if layout.once:
        return forecaster.learn(state, revealed.proxies(0, layout.rows), revealed.outcomes(0, layout.rows))

    def learn_proxies(block: Array, state: State) -> State:
        return forecaster.learn(state, revealed.proxies(block, layout.rows), revealed.outcomes(0, 0))

    def learn_outcomes(block: Array, state: State) -> State:
        return forecaster.learn(state, revealed.proxies(0, 0), revealed.outcomes(block, layout.rows))

    state = jax.lax.fori_loop(0, steps.proxies, learn_proxies, state)
    return jax.lax.fori_loop(0, steps.outcomes, learn_outcomes, state)


def _rehearse(forecaster: Forecaster, dealt: Dealt, root: Key, t: Array, state: State) -> State:
    """The state after the steps that are due before round t, if any are."""
    replay = forecaster.replay
    if replay is None:
        return state

    def batch(order: Arrivals, purpose: Purpose, window: int, step: Array) -> Rows:
        known = order.known[t]
        rows = _rows_at(order, draw_positions(key_for(root, purpose, step), known, window, replay.batch))
        z = jnp.where(dealt.proxy_seen[rows] < t, dealt.z[rows], EMPTY)
        weight = jnp.broadcast_to((known >= replay.start).astype(jnp.int32), rows.shape)
        return Rows(_at(dealt.x, rows), z, dealt.y[rows], (), weight)

    def step(number: Array, state: State) -> State:
        proxies = batch(dealt.proxies, Purpose.PROXY_BATCH, replay.proxy_window, number)
        outcomes = batch(dealt.outcomes, Purpose.OUTCOME_BATCH, replay.outcome_window, number)
        return forecaster.rehearse(state, proxies._replace(y=jnp.full_like(proxies.y, EMPTY)), outcomes)

    first = replay.first_step(t)
    steps = partial(jax.lax.fori_loop, first, first + replay.steps, step)
    # t is the same for all trials, so this stays a branch; a batched predicate would compute every skipped step.
    return jax.lax.cond(replay.due(t), steps, lambda state: state, state)


def _rows_at(order: Arrivals, positions: Array) -> Array:
    """The rows at positions over arrival order; past the end any row will do, with weight 0."""
    return order.rows[jnp.minimum(positions, order.rows.shape[0] - 1)]


def _at(tree: Any, index: Array | int) -> Any:
    return jax.tree.map(lambda part: part[index], tree)
