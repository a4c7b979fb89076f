"""The core that serves and learns live: tables by counting, networks by XLA, one set of functions for both."""

import hashlib
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from presage.drivers.contexts.core import ContextFunctions, ContextLearning, warm_up
from presage.drivers.counting.episodes import can_count
from presage.drivers.counting.table_core import LearntCounts, TableFunctions
from presage.drivers.lessons import BatchPredictions, Lessons
from presage.forecasters.contexts.kernels import ContextState
from presage.forecasters.contexts.layout import MEMBERS, ContextLayout
from presage.forecasters.contract import Forecaster, State
from presage.forecasters.expert_weights import weights
from presage.forecasters.mixture import Pool, experts_of
from presage.forecasters.random_keys import check_key
from presage.later import Later
from presage.spaces import Array, Instance

batches: Any = Later("presage.drivers.batched.network_core")
jax: Any = Later("jax")
"""Only networks need JAX, which takes a second and 200 megabytes."""

Parameters = tuple[Array, ...]
"""What predictions are computed from, as plain arrays."""


Label = Literal["name", "family"]
"""How experts are labelled."""


class ArrayLayout(NamedTuple):
    """The shape and type of one array."""

    shape: tuple[int, ...]
    dtype: str


class Learning(Protocol):
    """What has been learnt so far, and how it goes on."""

    predictions: int

    @property
    def state(self) -> State:
        """The state of the forecaster itself; a copy."""
        ...

    def learn(self, proxies: Lessons, outcomes: Lessons, predictions: int) -> None:
        """Learn from a batch; so many predictions have been made in all."""
        ...

    def parameters(self) -> Parameters:
        """What predictions are computed from."""
        ...

    def tensors(self) -> dict[str, Array]:
        """All that later learning depends on but the number of predictions, by name."""
        ...

    def restore(self, tensors: dict[str, Array], predictions: int) -> None:
        """Continue from what another learner of the same forecaster saved."""
        ...


class Core(Protocol):
    """The functions of a served forecaster."""

    forecaster: Forecaster
    layouts: tuple[ArrayLayout, ...]  # of the parameters
    memo_width: int
    memo_dtype: str

    def predict(self, parameters: Parameters, x: Instance) -> BatchPredictions:
        """What is said of instances [N, ...]."""
        ...

    def nowcast(self, parameters: Parameters, x: Instance, z: Array) -> Array:
        """The log-probabilities [N, Y] of instances whose proxies are known."""
        ...

    def weights(self, parameters: Parameters, by: Label = "name") -> dict[str, float]:
        """The weights of experts by name or by family, those of one label summed; empty unless it is a mixture."""
        ...

    def learner(self, key: Any = 0) -> Learning:
        """A learner that knows nothing yet; networks start from what the key draws."""
        ...


def core_for(forecaster: Forecaster) -> Core:
    """The faster engine that can run a forecaster."""
    if isinstance(forecaster.structure, ContextLayout):
        return ContextCore(forecaster)
    return TableCore(forecaster) if can_count(forecaster) else NetworkCore(forecaster)


def digest(learning: Learning) -> str:
    """A hash of all that later learning depends on."""
    found = hashlib.blake2b(str(learning.predictions).encode(), digest_size=16)
    for name, part in sorted(learning.tensors().items()):
        found.update(name.encode())
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


class TableCore:
    """Tables and mixtures of tables."""

    def __init__(self, forecaster: Forecaster) -> None:
        self.forecaster = forecaster
        self._tally = TableFunctions(forecaster)
        self.layouts = tuple(ArrayLayout(shape, "<f8") for shape in self._tally.shapes())
        self.memo_width, self.memo_dtype = self._tally.memo_width, "<f4"

    def predict(self, parameters: Parameters, x: Instance) -> BatchPredictions:
        """What is said of instances [N, ...]."""
        return self._tally.predict(LearntCounts(*parameters), x)

    def nowcast(self, parameters: Parameters, x: Instance, z: Array) -> Array:
        """The log-probabilities [N, Y] of instances whose proxies are known."""
        return self._tally.nowcast(LearntCounts(*parameters), x, z)

    def weights(self, parameters: Parameters, by: Label = "name") -> dict[str, float]:
        """The weights of experts by name or by family, those of one label summed."""
        if not self.memo_width:
            return {}
        return _summed(self.forecaster, self._tally.weights(LearntCounts(*parameters)), by)

    def learner(self, key: Any = 0) -> Learning:
        """A learner that knows nothing yet, with its loops compiled; counting draws nothing."""
        check_key(key)
        learnt, rows = self._tally.start(), np.zeros(1, np.int32)
        features = self.forecaster.spaces.features
        x = Instance(np.zeros((1, features.slots), np.int32), np.zeros((1, features.dense), np.float32))
        said = self._tally.predict(learnt, x)
        lesson = Lessons(x, rows, rows, said.memo, np.zeros(1, np.int64))
        self._tally.learn(learnt, lesson, lesson)
        return TableLearning(self._tally)


class TableLearning:
    """What a tally has learnt."""

    def __init__(self, tally: TableFunctions) -> None:
        self.predictions = 0
        self._tally, self._learnt = tally, tally.start()

    @property
    def state(self) -> State:
        """The state of the forecaster itself; a copy."""
        return self._tally.state(self._learnt)

    def learn(self, proxies: Lessons, outcomes: Lessons, predictions: int) -> None:
        """Learn from a batch."""
        self._tally.learn(self._learnt, proxies, outcomes)
        self.predictions = predictions

    def parameters(self) -> Parameters:
        """The counts and scores."""
        return self._learnt

    def tensors(self) -> dict[str, Array]:
        """The counts and scores by name."""
        return self._learnt._asdict()

    def restore(self, tensors: dict[str, Array], predictions: int) -> None:
        """Continue from other counts and scores."""
        self._learnt = LearntCounts(*(tensors[name].copy() for name in LearntCounts._fields))
        self.predictions = predictions


class ContextCore:
    """The default forecaster."""

    def __init__(self, forecaster: Forecaster) -> None:
        layout = forecaster.structure
        assert isinstance(layout, ContextLayout)
        self.forecaster = forecaster
        self._functions = ContextFunctions(layout)
        self.layouts = tuple(ArrayLayout(part.shape, part.dtype.str) for part in self._functions.start())
        self.memo_width, self.memo_dtype = layout.memo_width, "|u1"

    def predict(self, parameters: Parameters, x: Instance) -> BatchPredictions:
        """What is said of instances [N, ...]."""
        return self._functions.predict(ContextState(*parameters), x)

    def nowcast(self, parameters: Parameters, x: Instance, z: Array) -> Array:
        """The log-probabilities [N, Y] of instances whose proxies are known."""
        return self._functions.nowcast(ContextState(*parameters), x, z)

    def weights(self, parameters: Parameters, by: Label = "name") -> dict[str, float]:
        """The weights of members by name or by family, those of one label summed."""
        found: dict[str, float] = {}
        each = self._functions.weights(ContextState(*parameters))
        for name, family in MEMBERS:
            label = name if by == "name" else family
            found[label] = found.get(label, 0.0) + each[name]
        return found

    def learner(self, key: Any = 0) -> Learning:
        """A learner that knows nothing yet, with its loops compiled; it draws nothing."""
        check_key(key)
        warm_up(self._functions)
        return ContextLearning(self._functions)


class NetworkCore:
    """Networks, and mixtures with networks among their experts."""

    def __init__(self, forecaster: Forecaster) -> None:
        self.forecaster = forecaster
        leaves, self._structure = jax.tree.flatten(jax.eval_shape(forecaster.init, jax.random.key(0)))
        self.layouts = tuple(ArrayLayout(leaf.shape, np.dtype(leaf.dtype).str) for leaf in leaves)
        self._memo = batches.memo_shape(forecaster)
        self.memo_width, self.memo_dtype = self._memo.width, "<f4"

    def predict(self, parameters: Parameters, x: Instance) -> BatchPredictions:
        """What is said of instances [N, ...], one after another."""
        state = jax.tree.unflatten(self._structure, parameters)
        rows = zip(x.symbols, x.dense, strict=True)
        forecasts = [self.forecaster.predict(state, Instance(*row)) for row in rows]
        said = np.stack([np.asarray(each.log_probabilities, np.float32) for each in forecasts])
        return BatchPredictions(said, np.stack([self._memo.flatten(each.memo) for each in forecasts]))

    def nowcast(self, parameters: Parameters, x: Instance, z: Array) -> Array:
        """The log-probabilities [N, Y] of instances whose proxies are known."""
        state = jax.tree.unflatten(self._structure, parameters)
        rows = zip(x.symbols, x.dense, z, strict=True)
        told = [self.forecaster.nowcast(state, Instance(*row[:2]), np.int32(row[2])) for row in rows]
        return np.stack([np.asarray(each, np.float32) for each in told])

    def weights(self, parameters: Parameters, by: Label = "name") -> dict[str, float]:
        """The weights of experts by name or by family, those of one label summed."""
        pool = self.forecaster.structure
        if not isinstance(pool, Pool):
            return {}
        state = jax.tree.unflatten(self._structure, parameters)
        return _summed(self.forecaster, weights(state.scores, pool.share), by)

    def learner(self, key: Any = 0) -> Learning:
        """A learner that knows nothing yet."""
        learning: Learning = batches.NetworkLearning(self.forecaster, key)
        return learning


def _summed(forecaster: Forecaster, each: Array, by: Label) -> dict[str, float]:
    found: dict[str, float] = {}
    for expert, weight in zip(experts_of(forecaster), each.tolist(), strict=True):
        label = expert.name if by == "name" else expert.family
        found[label] = found.get(label, 0.0) + weight
    return found
