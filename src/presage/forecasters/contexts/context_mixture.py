"""The default forecaster: every declared feature, in tables and regressions whose weights are learnt."""

from dataclasses import asdict
from typing import Any

import numpy as np

from presage.arrays import jax
from presage.errors import SettingError
from presage.forecasters.contexts import kernels, loops
from presage.forecasters.contexts.kernels import ContextState
from presage.forecasters.contexts.layout import ContextLayout, ContextSettings
from presage.forecasters.contract import Forecast, Forecaster, Rows, State, unmoved
from presage.spaces import Array, Instance, Spaces

REVISION = 3
"""The revision of the forecaster named mixture; 1 is a mixture of tables of the identity and of declared groups, and 2,
which was never released, kept longer memos."""


def context_mixture(
    spaces: Spaces,
    settings: ContextSettings | None = None,
    *,
    same: tuple[int, ...] = (),
    groups: tuple[tuple[int, ...], ...] = (),
) -> Forecaster:
    """A forecaster that uses every feature and needs no tuning: the default of task files.

    Tables of the identity, of other features and of some of them together, and softmax regressions on all of them,
    are estimates of h(z|x), of g(y|x,z) for each z, and of p(y|x). A logistic stack combines those of each, weighing
    a table by how much is known of its row; each learns as soon as its own label is known. The forecast mixes
    sum_z h g, p and simpler members by how well they have done. docs/forecasters.md has the formulas.

    Args:
        spaces: the instances, proxies and outcomes.
        settings: which of its parts there are, and the bound on memory; all parts if left out.
        same: for each proxy the outcome that has the same label, -1 if none has: a prior until outcomes tell.
        groups: symbol columns that get a table together, each backing off to the one before.

    >>> import numpy as np
    >>> from presage import Delays, Episode, Spaces, play
    >>> episode = Episode.fixed([0] * 40, [1] * 40, [1] * 40, Delays(proxy=0, outcome=2))
    >>> loss = play(context_mixture(Spaces(1, 2, 2)), episode, key=0)
    >>> bool(loss[39] < loss[5] < loss[0])
    True
    """
    settings = settings or ContextSettings()
    if same and len(same) != spaces.proxies:
        remedy = "give one for each proxy, -1 where no outcome has its label"
        raise SettingError("same must name an outcome for each proxy", same, remedy)
    if any(not -1 <= y < spaces.outcomes for y in same):
        raise SettingError("same names an outcome that there is not", same, f"give -1 to {spaces.outcomes - 1}")
    layout = ContextLayout(spaces, settings, same, groups)
    functions = _Functions(layout)
    return Forecaster(
        "mixture",
        spaces,
        (*asdict(settings).items(), ("same", same), ("groups", groups)),
        None,
        lambda _: kernels.start_state(layout),
        functions.predict,
        functions.nowcast,
        functions.learn,
        unmoved,
        family="mixture",
        structure=layout,
        revision=REVISION,
    )


class _Functions:
    """The functions of the contract: on NumPy arrays as they are, on JAX's by a call back to NumPy."""

    def __init__(self, layout: ContextLayout) -> None:
        self._layout = layout
        self._fixed = layout.places, layout.heads, layout.switches

    def predict(self, state: State, x: Instance) -> Forecast:
        outcomes, memo = self._layout.spaces.outcomes, self._layout.memo_width
        shapes = _shape((outcomes,), np.float32), _shape((memo,), np.uint8)
        return Forecast(*_called(self._predict, shapes, state, x))

    def nowcast(self, state: State, x: Instance, z: Array) -> Array:
        return _called(self._nowcast, _shape((self._layout.spaces.outcomes,), np.float32), state, x, z)

    def learn(self, state: State, proxies: Rows, outcomes: Rows) -> State:
        shapes = ContextState(*(_shape(part.shape, part.dtype) for part in state))
        learnt: ContextState = _called(self._learn, shapes, state, proxies, outcomes)
        return learnt

    def _predict(self, state: State, x: Instance) -> tuple[Array, Array]:
        said = np.empty((1, self._layout.spaces.outcomes), np.float32)
        memo = np.zeros((1, self._layout.memo_width), np.uint8)
        symbols, dense = _row(x)
        loops.predict_rows(*self._fixed, _plain(state), self._room(), symbols[None], dense[None], said, memo)
        return said[0], memo[0]

    def _nowcast(self, state: State, x: Instance, z: Array) -> Array:
        said, told = np.empty((1, self._layout.spaces.outcomes), np.float32), np.array([int(z)], np.int32)
        symbols, dense = _row(x)
        loops.nowcast_rows(*self._fixed, _plain(state), self._room(), symbols[None], dense[None], told, said)
        return said[0]

    def _learn(self, state: State, proxies: Rows, outcomes: Rows) -> ContextState:
        learnt = ContextState(*(np.array(part) for part in state))
        for of_outcomes, rows in ((False, proxies), (True, outcomes)):
            kept = np.flatnonzero(np.asarray(rows.weight))
            symbols, dense = (part[kept] for part in _row(rows.x))
            z, y = (np.asarray(part, np.int32)[kept] for part in (rows.z, rows.y))
            memos = np.ascontiguousarray(np.asarray(rows.memo)[kept])
            loops.learn_rows(*self._fixed, learnt, self._room(), symbols, dense, z, y, memos, of_outcomes)
        return learnt

    def _room(self) -> kernels.Scratch:
        return kernels.scratch_for(self._layout)


def _plain(state: State) -> ContextState:
    return ContextState(*(np.ascontiguousarray(part) for part in state))


def _row(x: Instance) -> tuple[Array, Array]:
    return np.ascontiguousarray(x.symbols, np.int32), np.ascontiguousarray(x.dense, np.float32)


def _shape(shape: tuple[int, ...], dtype: Any) -> Any:
    return np.empty(shape, dtype)


def _called(function: Any, shapes: Any, *arguments: Any) -> Any:
    """What a function on NumPy arrays returns, also inside programs of JAX."""
    if all(isinstance(leaf, np.ndarray | np.generic | int) for leaf in _leaves(arguments)):
        return function(*arguments)
    shaped: Any = jax.ShapeDtypeStruct
    described = jax.tree.map(lambda part: shaped(part.shape, part.dtype), shapes)
    return jax.pure_callback(function, described, *arguments, vmap_method="sequential")


def _leaves(tree: Any) -> list[Any]:
    return [leaf for part in tree for leaf in _leaves(part)] if isinstance(tree, tuple) else [tree]
