"""The core that trains networks: rows learnt batch after batch, between which the windows are rehearsed."""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np

from presage.drivers.lessons import Lessons
from presage.forecasters.contract import Forecaster, Rows, State
from presage.forecasters.random_keys import Purpose, key_for, root_key
from presage.forecasters.replay import Replay, Window, draw_positions
from presage.spaces import EMPTY, Array, Instance, Spaces


class ReplayWindows:
    """The last rows whose proxy, and the last whose outcome, became known."""

    def __init__(self, replay: Replay, spaces: Spaces) -> None:
        self.replay = replay
        self.proxies = Window(replay.proxy_window, spaces)
        self.outcomes = Window(replay.outcome_window, spaces)

    def proxy(self, x: Instance, z: int, position: int) -> None:
        """A proxy arrives; `position` is that of its outcome, where that came first (otherwise EMPTY)."""
        self.proxies.append(x, z, EMPTY)
        if position != EMPTY:
            self.outcomes.complete(position, z)

    def outcome(self, x: Instance, z: int, y: int) -> int:
        """The position of an outcome that arrives; z is EMPTY if its proxy is still out."""
        return self.outcomes.append(x, z, y)

    def draw(self, root: Array, step: int) -> tuple[Rows, Rows]:
        """The batches of one step."""
        return (
            self._batch(self.proxies, root, Purpose.PROXY_BATCH, step),
            self._batch(self.outcomes, root, Purpose.OUTCOME_BATCH, step),
        )

    def _batch(self, window: Window, root: Array, purpose: Purpose, step: int) -> Rows:
        batch = self.replay.batch
        positions = np.asarray(_draw(root, purpose, step, window.known, window.size, batch))
        weight = np.full(batch, window.known >= self.replay.start, np.int32)
        return Rows(*window.rows(positions), (), weight)


@partial(jax.jit, static_argnums=(1, 4, 5))
def _draw(root: Array, purpose: Purpose, step: int, known: int, window: int, batch: int) -> Array:  # noqa: PLR0917
    return draw_positions(key_for(root, purpose, step), known, window, batch)


PIECES = (16, 256)
"""Rows learnt at once: few where few came, otherwise many."""


class NetworkLearning:
    """A forecaster that learns batch after batch; it predicts nothing, what was predicted comes with the rows."""

    def __init__(self, forecaster: Forecaster, key: Any = 0) -> None:
        self.forecaster = forecaster
        self.predictions = 0
        self._root = root_key(key)
        self._run = _compiled(forecaster)
        self._state = jax.tree.map(jax.numpy.array, forecaster.init(key_for(self._root, Purpose.PARAMETERS)))
        self._windows = ReplayWindows(forecaster.replay, forecaster.spaces) if forecaster.replay else None
        self._rows = np.full(forecaster.replay.outcome_window if forecaster.replay else 0, EMPTY, np.int64)
        self._memo = memo_shape(forecaster)

    @property
    def state(self) -> State:
        """What has been learnt so far; a copy."""
        return jax.tree.map(np.array, self._state)

    def learn(self, proxies: Lessons, outcomes: Lessons, predictions: int) -> None:
        """Learn from a batch, and train as often as `predictions`, made so far in all, asks for."""
        if not self.forecaster.only_rehearses:
            for piece in _pieces(proxies, self._memo):
                self._state = self._run.proxies(self._state, piece)
            for piece in _pieces(outcomes, self._memo):
                self._state = self._run.outcomes(self._state, piece)
        before, self.predictions = self.predictions, predictions
        if self._windows:
            self._remember(proxies, outcomes)
            self._rehearse(self._windows, before)

    def parameters(self) -> tuple[Array, ...]:
        """The leaves of the state."""
        return tuple(np.asarray(leaf) for leaf in jax.tree.leaves(self._state))

    def tensors(self) -> dict[str, Array]:
        """All that later learning depends on but the number of predictions, by name."""
        leaves = jax.tree_util.tree_flatten_with_path(self._state)[0]
        kept = {f"state.{jax.tree_util.keystr(path, simple=True, separator='.')}": np.array(x) for path, x in leaves}
        for name, window in self._each_window():
            kept |= {f"{name}.{part}": array for part, array in window.arrays().items()}
        return kept | {"outcomes.rows": self._rows} if self._windows else kept

    def restore(self, tensors: dict[str, Array], predictions: int) -> None:
        """Continue from what another learner of the same forecaster saved."""
        leaves, shape = jax.tree_util.tree_flatten_with_path(self._state)
        names = [f"state.{jax.tree_util.keystr(path, simple=True, separator='.')}" for path, _ in leaves]
        self._state = jax.tree.unflatten(shape, [jax.numpy.array(tensors[name]) for name in names])
        for name, window in self._each_window():
            window.restore({part: tensors[f"{name}.{part}"] for part in window.arrays()})
            self._rows = tensors["outcomes.rows"].copy()
        self.predictions = predictions

    def _each_window(self) -> list[tuple[str, Window]]:
        windows = self._windows
        return [("proxies", windows.proxies), ("outcomes", windows.outcomes)] if windows else []

    def _remember(self, proxies: Lessons, outcomes: Lessons) -> None:
        assert self._windows is not None
        for row in range(len(proxies.z)):
            position = EMPTY if proxies.y[row] == EMPTY else self._position(int(proxies.row[row]))
            self._windows.proxy(_row(proxies.x, row), int(proxies.z[row]), position)
        for row in range(len(outcomes.z)):
            position = self._windows.outcome(_row(outcomes.x, row), int(outcomes.z[row]), int(outcomes.y[row]))
            self._rows[position % len(self._rows)] = outcomes.row[row]

    def _position(self, row: int) -> int:
        """The position of the outcome of a prediction among all; EMPTY if it has left the window."""
        assert self._windows is not None
        places, size, known = np.flatnonzero(self._rows == row), len(self._rows), self._windows.outcomes.known
        if not len(places):
            return EMPTY
        return int(known - 1 - (known - 1 - places[0]) % size)

    def _rehearse(self, windows: ReplayWindows, before: int) -> None:
        replay = windows.replay
        first, last = before // replay.every, self.predictions // replay.every
        for step in range(first * replay.steps, last * replay.steps):
            self._state = self._run.rehearse(self._state, *windows.draw(self._root, step))


BATCH = 1024
"""Rows of a fixed shape that are predicted at once."""


def predict_batch(forecaster: Forecaster, parameters: tuple[Array, ...], x: Instance, z: Array | None = None) -> Array:
    """The log-probabilities [N, Y] of many instances; of those whose proxies `z` [N] are known, the now-casts."""
    structure = jax.tree.structure(jax.eval_shape(forecaster.init, jax.random.key(0)))
    state, run, rows = jax.tree.unflatten(structure, parameters), _batched(forecaster, z is not None), []
    parts = (*x,) if z is None else (*x, z)
    for first in range(0, len(x.symbols), BATCH):
        some = [part[first : first + BATCH] for part in parts]
        filled = [_filled(part, BATCH - len(part)) for part in some]
        rows.append(np.asarray(run(state, *filled))[: len(some[0])])
    return np.concatenate(rows)


@lru_cache(maxsize=64)
def _batched(forecaster: Forecaster, told: bool) -> Any:
    if told:
        return jax.jit(jax.vmap(lambda state, s, d, z: forecaster.nowcast(state, Instance(s, d), z), (None, 0, 0, 0)))
    return jax.jit(
        jax.vmap(lambda state, s, d: forecaster.predict(state, Instance(s, d)).log_probabilities, (None, 0, 0))
    )


class MemoShape(NamedTuple):
    """How a memo is flattened."""

    structure: Any  # of the pytree
    shapes: tuple[tuple[int, ...], ...]  # of its leaves, all float32

    @property
    def width(self) -> int:
        """How many numbers a memo is."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def flatten(self, memo: Any) -> Array:  # float32 [M]
        """The leaves of a memo, one after another."""
        leaves = [np.asarray(leaf, np.float32).ravel() for leaf in jax.tree.leaves(memo)]
        return np.concatenate(leaves) if leaves else np.zeros(0, np.float32)

    def unflatten(self, flat: Array) -> Any:
        """The memos [N, ...] whose leaves are `flat` [N, M]."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = np.split(flat, ends, axis=1) if self.shapes else []
        leaves = [part.reshape(len(flat), *shape) for part, shape in zip(parts, self.shapes, strict=True)]
        return jax.tree.unflatten(self.structure, leaves)


@lru_cache(maxsize=64)
def memo_shape(forecaster: Forecaster) -> MemoShape:
    """How the memos of a forecaster are flattened."""
    features = forecaster.spaces.features
    x = Instance(np.zeros(features.slots, np.int32), np.zeros(features.dense, np.float32))
    state = jax.eval_shape(forecaster.init, jax.random.key(0))
    memo = jax.eval_shape(forecaster.predict, state, x).memo
    return MemoShape(jax.tree.structure(memo), tuple(leaf.shape for leaf in jax.tree.leaves(memo)))


class _Compiled(NamedTuple):
    proxies: Any  # (state, rows) -> state
    outcomes: Any
    rehearse: Any


@lru_cache(maxsize=64)
def _compiled(forecaster: Forecaster) -> _Compiled:
    """The steps of a forecaster, each of which gives up the state it is given."""

    def none_of(rows: Rows) -> Rows:
        none: Rows = jax.tree.map(lambda part: part[:0], rows)
        return none

    return _Compiled(
        jax.jit(lambda state, rows: forecaster.learn(state, rows, none_of(rows)), donate_argnums=0),
        jax.jit(lambda state, rows: forecaster.learn(state, none_of(rows), rows), donate_argnums=0),
        jax.jit(forecaster.rehearse, donate_argnums=0),
    )


def _pieces(lessons: Lessons, memo: MemoShape) -> list[Rows]:
    """The lessons as rows of fixed shapes, filled up with rows of no weight."""
    count, size = len(lessons.z), PIECES[0] if len(lessons.z) <= PIECES[0] else PIECES[1]
    pieces = []
    for first in range(0, count, size):
        part = slice(first, min(first + size, count))
        spare = size - (part.stop - first)
        x = Instance(*(_filled(each[part], spare) for each in lessons.x))
        weight = np.r_[np.ones(size - spare, np.int32), np.zeros(spare, np.int32)]
        memos = memo.unflatten(_filled(lessons.memo[part], spare))
        pieces.append(Rows(x, _filled(lessons.z[part], spare), _filled(lessons.y[part], spare), memos, weight))
    return pieces


def _filled(rows: Array, spare: int) -> Array:
    return np.concatenate([rows, np.zeros((spare, *rows.shape[1:]), rows.dtype)]) if spare else rows


def _row(x: Instance, row: int) -> Instance:
    return Instance(x.symbols[row], x.dense[row])
