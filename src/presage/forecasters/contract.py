"""The contract of every forecaster: pure functions over an explicit state.

Nothing here reads a clock, a disk or a hidden random generator. Predicting never learns and learning never
predicts. `predict` and `nowcast` compute with whatever arrays the state holds, NumPy's or JAX's; `init`, `learn` and
`rehearse` are JAX's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from presage.forecasters.replay import Replay
from presage.spaces import Array, Instance, Spaces

if TYPE_CHECKING:
    from presage.forecasters.back_off import TableParts
    from presage.forecasters.contexts.layout import ContextLayout
    from presage.forecasters.mixture import Pool

Family = Literal["marginal", "direct", "factored", "residual", "mixture"]
"""What a forecaster knows: outcomes alone, outcomes by instance, or through proxies as well; a mixture has experts."""

State = Any
"""A pytree of arrays made of NamedTuples and tuples."""

Memo = Any
"""What a forecaster wants back when the feedback of a prediction comes: a pytree, often ()."""


class Rows(NamedTuple):
    """Rows of feedback, along one leading axis; a row of weight 0 is padding.

    In rows of proxies `z` is known, and `y` too where the outcome came first (else -1). In rows of outcomes `y`
    is known, and `z` too unless the proxy is still out (then -1). So each pair (z, y) is met exactly once.
    """

    x: Instance
    z: Array  # int32 [B]
    y: Array  # int32 [B]
    memo: Memo
    weight: Array  # int32 [B]: 0 or 1


class Forecast(NamedTuple):
    """What `predict` returns."""

    log_probabilities: Array  # [Y]
    memo: Memo


@dataclass(frozen=True)
class Forecaster:
    """A forecaster: four pure functions, and a fifth for those that train on a replay window.

    Two forecasters are equal if they have the same name, revision, spaces and settings.
    """

    name: str
    spaces: Spaces
    settings: tuple[tuple[str, Any], ...]
    replay: Replay | None
    init: Callable[[Array], State] = field(compare=False, repr=False)
    """init(key) -> state"""
    predict: Callable[[State, Instance], Forecast] = field(compare=False, repr=False)
    """predict(state, x) -> log-probabilities over outcomes, and a memo kept with the open prediction"""
    nowcast: Callable[[State, Instance, Array], Array] = field(compare=False, repr=False)
    """nowcast(state, x, z) -> log-probabilities over outcomes once the proxy is known"""
    learn: Callable[[State, Rows, Rows], State] = field(compare=False, repr=False)
    """learn(state, proxies, outcomes) -> state, from rows the moment they are revealed: each exactly once, the
    proxies first, in order"""
    rehearse: Callable[[State, Rows, Rows], State] = field(compare=False, repr=False)
    """rehearse(state, proxies, outcomes) -> state, one step on rows drawn again from the replay windows"""
    family: Family = field(kw_only=True)
    """What it knows; the last residual expert of a mixture now-casts for all"""
    structure: "TableParts | Pool | ContextLayout | None" = field(default=None, compare=False, repr=False, kw_only=True)
    """What a driver needs for a faster road: the back-offs of a table, the experts of a mixture, the
    contexts of the default"""
    only_rehearses: bool = field(default=False, kw_only=True)
    """Whether it learns by `rehearse` alone: then its predictions do not change between training steps"""
    revision: int = field(default=1, kw_only=True)
    """Which arithmetic it uses: a change by which the same rows teach or predict something else is a new revision"""


def unmoved(state: State, proxies: Rows, outcomes: Rows) -> State:  # noqa: ARG001
    """The state unchanged: `learn` of forecasters that only rehearse, `rehearse` of those that only count."""
    return state
