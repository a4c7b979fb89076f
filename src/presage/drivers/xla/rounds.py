"""The rounds of one trial as one XLA program: a scan, written for one trial and mapped over many.

Each round first learns what was revealed at the end of the round before, and only then predicts. Writing before
reading lets XLA update tables in place; the other way round it would copy them whole, every round.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from presage.drivers.xla.timetable import EpisodeArrays, ProgramShape, Timetable
from presage.forecasters.contract import Forecaster, Memo, Rows, State
from presage.forecasters.random_keys import Key, Purpose, key_for
from presage.forecasters.replay import Replay, draw_positions
from presage.spaces import EMPTY, Array
from presage.timeline.arrivals import Arrivals

keep: Callable[[Any], Any] = jax.lax.optimization_barrier
"""What is passed through is computed once and kept, rather than again wherever it is used."""


class Played(NamedTuple):
    """What a forecaster said in each round, and what it had learnt after the last."""

    log_probabilities: Array  # [T, Y], with a trial axis in front for trials
    memos: Memo  # [T, ...]: of a mixture, what each expert said
    nowcasts: Array | None  # [T, Y]: what would have been said had the proxy been known, if asked for
    state: State


class Carry(NamedTuple):
    """What goes from round to round."""

    state: State
    memos: Memo  # [open]: the memo of each open row, at the row's number modulo `open`
    last: Memo  # the memo of the round just predicted, put away before any memo is read


class Program(NamedTuple):
    """What is compiled: everything but the arrays."""

    forecaster: Forecaster
    layout: ProgramShape
    nowcasts: bool = False


def play_rounds(program: Program, timetable: Timetable, dealt: EpisodeArrays, root: Key) -> Played:
    """The rounds of one trial."""
    forecaster, layout, nowcasts = program
    rounds = dealt.z.shape[0]
    state = forecaster.init(key_for(root, Purpose.PARAMETERS))
    memo = jax.eval_shape(lambda: forecaster.predict(state, at(dealt.x, 0)).memo)
    last = jax.tree.map(lambda part: jnp.zeros(part.shape, part.dtype), memo)
    memos = jax.tree.map(lambda part: jnp.zeros((layout.open, *part.shape), part.dtype), memo)

    def play_round(carry: Carry, now: tuple[Array, Timetable]) -> tuple[Carry, tuple[Array, Memo, Array | None]]:
        t, todo = now
        place = (t - 1) % layout.open
        memos = jax.tree.map(lambda kept, new: kept.at[place].set(new), carry.memos, carry.last)
        state = _learn(forecaster, layout, RevealedFeedback(dealt, memos, t), todo, carry.state)
        if forecaster.replay:
            drawing = Drawing(dealt, forecaster.replay, root, t)
            due = partial(rehearse_due, forecaster, drawing)
            state = jax.lax.cond(todo.rehearse, due, lambda state: state, state)
        forecast = forecaster.predict(state, at(dealt.x, t))
        told = forecaster.nowcast(state, at(dealt.x, t), _proxy_of(dealt, t)) if nowcasts else None
        return Carry(state, memos, forecast.memo), (forecast.log_probabilities, forecast.memo, told)

    carry, said = jax.lax.scan(play_round, Carry(state, memos, last), (jnp.arange(rounds + 1), timetable))
    log_probabilities, memos, told = jax.tree.map(lambda part: part[:-1], said)
    return Played(log_probabilities, memos, told, carry.state)


class RevealedFeedback(NamedTuple):
    """What is revealed at the end of the round before round t."""

    dealt: EpisodeArrays
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
        return rows_at(order, positions), (positions < stop).astype(jnp.int32)

    def _rows(self, rows: Array, z: Array, y: Array, weight: Array) -> Rows:
        memos = jax.tree.map(lambda part: at(part, rows % len(part)), self.memos)
        return Rows(at(self.dealt.x, rows), z, y, memos, weight)


def _learn(
    forecaster: Forecaster, layout: ProgramShape, revealed: RevealedFeedback, todo: Timetable, state: State
) -> State:
    """The state after the feedback of the round before: all proxies first, then all outcomes."""
    if layout.once:
        return forecaster.learn(state, revealed.proxies(0, layout.rows), revealed.outcomes(0, layout.rows))

    def learn_proxies(block: Array, state: State) -> State:
        return forecaster.learn(state, revealed.proxies(block, layout.rows), revealed.outcomes(0, 0))

    def learn_outcomes(block: Array, state: State) -> State:
        return forecaster.learn(state, revealed.proxies(0, 0), revealed.outcomes(block, layout.rows))

    state = jax.lax.fori_loop(0, todo.proxies, learn_proxies, state)
    return jax.lax.fori_loop(0, todo.outcomes, learn_outcomes, state)


def rehearse_due(forecaster: Forecaster, drawing: "Drawing", state: State) -> State:
    """The state after the training steps that are due before round t."""
    replay = drawing.replay

    def step(number: Array | int, state: State) -> State:
        return forecaster.rehearse(state, *drawing.batches(replay.first_step(drawing.t) + number))

    return step(0, state) if replay.steps == 1 else jax.lax.fori_loop(0, replay.steps, step, state)


class Drawing(NamedTuple):
    """What can be drawn from the replay windows before round t."""

    dealt: EpisodeArrays
    replay: Replay
    root: Key
    t: Array

    def batches(self, step: Array) -> tuple[Rows, Rows]:
        """The proxies and the outcomes of one training step."""
        proxies = self._batch(self.dealt.proxies, Purpose.PROXY_BATCH, self.replay.proxy_window, step)
        outcomes = self._batch(self.dealt.outcomes, Purpose.OUTCOME_BATCH, self.replay.outcome_window, step)
        # Not kept, the rows would be gathered again for each product they enter: 12 % slower on CPUs.
        both: tuple[Rows, Rows] = keep((proxies._replace(y=jnp.full_like(proxies.y, EMPTY)), outcomes))
        return both

    def _batch(self, order: Arrivals, purpose: Purpose, window: int, step: Array) -> Rows:
        known = order.known[self.t]
        positions = draw_positions(key_for(self.root, purpose, step), known, window, self.replay.batch)
        rows = rows_at(order, positions)
        z = jnp.where(self.dealt.proxy_seen[rows] < self.t, self.dealt.z[rows], EMPTY)
        weight = jnp.broadcast_to((known >= self.replay.start).astype(jnp.int32), rows.shape)
        return Rows(at(self.dealt.x, rows), z, self.dealt.y[rows], (), weight)


def _proxy_of(dealt: EpisodeArrays, t: Array) -> Array:
    """The proxy of round t; where it is not known, any symbol will do."""
    return jnp.maximum(dealt.z[jnp.minimum(t, len(dealt.z) - 1)], 0)


def rows_at(order: Arrivals, positions: Array) -> Array:
    """The rows at positions over arrival order; past the end any row will do, with weight 0."""
    return order.rows[jnp.minimum(positions, order.rows.shape[0] - 1)]


def at(tree: Any, index: Array | int) -> Any:
    """The rows of each array at `index`."""
    return jax.tree.map(lambda part: part[index], tree)
