"""The checks that every forecaster passes: each promise of the contract is a check that can fail."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from presage.errors import CheckError, StateFileError
from presage.forecasters.contract import Forecaster, Rows, State
from presage.forecasters.state_files import StateFiles, pack_state, unpack_state
from presage.spaces import Array, Features, Instance, Spaces

Factory = Callable[[Spaces], Forecaster]

TOLERANCE = 1e-5
"""How far two ways to compute one number may differ."""


def check_forecaster(factory: Factory, spaces: Spaces | None = None) -> list[str]:
    """The properties that the forecasters built by `factory` have; raises `CheckError` at the first they lack.

    Without `spaces` it checks on a small problem and on the smallest: one proxy, two outcomes, one instance.

    >>> from presage import direct_table
    >>> check_forecaster(direct_table)[0]
    'probabilities sum to one and never reach zero'
    """
    tried = [spaces] if spaces else [Spaces(5, 3, 4), Spaces(1, 1, 2)]
    scenes = [Scene(factory, each) for each in tried]
    for scene in scenes:
        for promise, holds in CHECKS.items():
            if not holds(scene):
                wrong = f"{scene.forecaster.name} breaks the contract"
                raise CheckError(wrong, scene.forecaster.spaces, f"make sure that {promise}")
    return list(CHECKS)


class Scene:
    """A forecaster before and after it met some feedback."""

    rows = 12

    def __init__(self, factory: Factory, spaces: Spaces) -> None:
        self.factory = factory
        self.forecaster = factory(spaces)
        self.empty = self.forecaster.init(jax.random.key(1))
        draw = np.random.default_rng(0)
        self.x = _instances(spaces.features, draw, self.rows)
        self.z = draw.integers(0, spaces.proxies, self.rows).astype(np.int32)
        self.y = draw.integers(0, spaces.outcomes, self.rows).astype(np.int32)
        first = np.arange(self.rows) % 4 == 0  # whose outcome comes before the proxy
        seen = Rows(self.x, self.z, self.y, self._memos(_as_numpy(self.empty)), np.ones(self.rows, np.int32))
        self.proxies = seen._replace(y=np.where(first, self.y, -1).astype(np.int32))
        self.outcomes = seen._replace(z=np.where(first, -1, self.z).astype(np.int32))
        self.after = jax.jit(self.after_plainly)
        self.learnt = self.after(self.empty, self.proxies, self.outcomes)

    def after_plainly(self, state: State, proxies: Rows, outcomes: Rows) -> State:
        """The state after the rows were learnt, and rehearsed where the forecaster rehearses."""
        state = self.forecaster.learn(state, _as_jax(proxies), _as_jax(outcomes))
        return self.forecaster.rehearse(state, _as_jax(proxies), _as_jax(outcomes))

    def predictions(self, state: State) -> Array:  # [rows, 2, Y]
        """What is predicted and now-cast for every row, one by one."""
        return np.stack([np.stack(self.said(state, row)) for row in range(self.rows)])

    def said(self, state: State, row: int) -> tuple[Array, Array]:
        """The prediction and the now-cast for one row."""
        x = _at(self.x, row)
        return self.forecaster.predict(state, x).log_probabilities, self.forecaster.nowcast(state, x, self.z[row])

    def _memos(self, state: State) -> Any:
        each = [self.forecaster.predict(state, _at(self.x, row)).memo for row in range(self.rows)]
        return jax.tree.map(lambda *parts: np.stack(parts), *each)


def _sums_to_one(scene: Scene) -> bool:
    said = np.exp(np.stack([scene.predictions(_as_numpy(state)) for state in (scene.empty, scene.learnt)]))
    return bool(np.allclose(said.sum(-1), 1, atol=TOLERANCE) and (said > 0).all() and np.isfinite(said).all())


def _predicts_without_learning(scene: Scene) -> bool:
    states = _as_numpy(scene.empty), _as_numpy(scene.learnt)
    for state in states:
        scene.predictions(state)
    return _same(states, (scene.empty, scene.learnt))


def _ignores_rows_without_weight(scene: Scene) -> bool:
    none = [rows._replace(weight=np.zeros_like(rows.weight)) for rows in (scene.proxies, scene.outcomes)]
    return _same(scene.after(scene.learnt, *none), scene.learnt)


def _learns(scene: Scene) -> bool:
    return not _same(scene.learnt, scene.empty)


def _learns_in_any_grouping(scene: Scene) -> bool:
    learn, state = jax.jit(scene.forecaster.learn), scene.empty
    for row in range(scene.rows):
        state = learn(state, _slice(scene.proxies, row, 1), _slice(scene.proxies, 0, 0))
    for row in range(scene.rows):
        state = learn(state, _slice(scene.outcomes, 0, 0), _slice(scene.outcomes, row, 1))
    return _close(state, learn(scene.empty, scene.proxies, scene.outcomes))


def _compiles(scene: Scene) -> bool:
    state = scene.after_plainly(scene.empty, scene.proxies, scene.outcomes)
    said = jax.jit(lambda state: scene.said(state, 0))(scene.learnt)
    return _close(state, scene.learnt) and _close(said, scene.said(scene.learnt, 0))


def _vectorises(scene: Scene) -> bool:
    forecaster, x, z = scene.forecaster, _as_jax(scene.x), _as_jax(scene.z)
    predicted = jax.jit(jax.vmap(forecaster.predict, in_axes=(None, 0)))(scene.learnt, x).log_probabilities
    nowcast = jax.jit(jax.vmap(forecaster.nowcast, in_axes=(None, 0, 0)))(scene.learnt, x, z)
    return _close(np.stack([predicted, nowcast], axis=1), scene.predictions(_as_numpy(scene.learnt)))


def _speaks_numpy(scene: Scene) -> bool:
    return _close(scene.predictions(_as_numpy(scene.learnt)), scene.predictions(scene.learnt))


def _only_rehearses_if_it_says_so(scene: Scene) -> bool:
    if not scene.forecaster.only_rehearses:
        return True
    return _same(scene.forecaster.learn(scene.empty, _as_jax(scene.proxies), _as_jax(scene.outcomes)), scene.empty)


def _is_deterministic(scene: Scene) -> bool:
    again = Scene(scene.factory, scene.forecaster.spaces)
    return again.forecaster == scene.forecaster and _same(again.learnt, scene.learnt)


def _survives_saving(scene: Scene) -> bool:
    return _same(unpack_state(scene.forecaster, pack_state(scene.forecaster, scene.learnt)), scene.learnt)


def _refuses_damage(scene: Scene) -> bool:
    manifest, tensors = pack_state(scene.forecaster, scene.learnt)
    flipped = tensors[:-1] + bytes([tensors[-1] ^ 1])
    try:
        unpack_state(scene.forecaster, StateFiles(manifest, flipped))
    except StateFileError:
        return True
    return False


CHECKS: dict[str, Callable[[Scene], bool]] = {
    "probabilities sum to one and never reach zero": _sums_to_one,
    "predicting leaves the state alone": _predicts_without_learning,
    "rows of weight 0 change nothing": _ignores_rows_without_weight,
    "rows with weight change something": _learns,
    "rows learnt together are as rows learnt one after the other": _learns_in_any_grouping,
    "compiled functions give what plain ones give": _compiles,
    "a NumPy state predicts as a JAX one": _speaks_numpy,
    "predictions side by side are as predictions in a loop": _vectorises,
    "what only rehearses is not moved by learning": _only_rehearses_if_it_says_so,
    "the same settings and key give the same forecaster and the same state": _is_deterministic,
    "a state saved and loaded is the same to the bit": _survives_saving,
    "a damaged state file is refused": _refuses_damage,
}
"""What must hold, and the check that says whether it does."""


def _instances(features: Features, draw: np.random.Generator, rows: int) -> Instance:
    most = np.array(features.sizes, np.int64)
    symbols = draw.integers(features.least, most, (rows, features.slots)) if features.slots else np.zeros((rows, 0))
    dense = draw.normal(size=(rows, features.dense))
    return Instance(symbols.astype(np.int32), dense.astype(np.float32))


def _at(tree: Any, row: int) -> Any:
    return jax.tree.map(lambda part: part[row], tree)


def _slice(rows: Rows, first: int, count: int) -> Any:
    return jax.tree.map(lambda part: part[first : first + count], rows)


def _as_numpy(tree: Any) -> Any:
    return jax.tree.map(np.array, tree)


def _as_jax(tree: Any) -> Any:
    return jax.tree.map(jax.numpy.asarray, tree)


def _same(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def _close(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE) for a, b in pairs)
