"""A learner that calls the forecaster's own functions event by event: it knows no core, no batches and no counting."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from presage.drivers.batched.network_core import ReplayWindows
from presage.drivers.live import Prediction
from presage.forecasters.contract import Forecaster, Memo, Rows, State
from presage.forecasters.random_keys import Purpose, key_for, root_key
from presage.spaces import EMPTY, Array, Instance


@dataclass
class OpenRow:
    """A prediction whose feedback is not complete."""

    x: Instance
    memo: Memo
    z: int = EMPTY
    y: int = EMPTY
    position: int = EMPTY  # of its outcome over arrival order

    def rows(self) -> Rows:
        """What is known of it, as rows."""
        x = Instance(self.x.symbols[None], self.x.dense[None])
        z, y = np.array([self.z], np.int32), np.array([self.y], np.int32)
        return Rows(x, z, y, jax.tree.map(lambda part: part[None], self.memo), np.ones(1, np.int32))


class ReferenceLearner:
    """What `presage.Learner` must agree with; it checks nothing that is sent."""

    def __init__(self, forecaster: Forecaster, key: int) -> None:
        self.forecaster = forecaster
        self.predictions = 0
        self._root = root_key(key)
        self._run = jitted(forecaster)
        self._state = forecaster.init(key_for(self._root, Purpose.PARAMETERS))
        self._rows: list[OpenRow] = []
        self._rehearsed = 0  # how many predictions the training done so far covers
        self._windows = ReplayWindows(forecaster.replay, forecaster.spaces) if forecaster.replay else None

    @property
    def state(self) -> State:
        """What has been learnt so far."""
        return self._state

    def predict(self, x: Any) -> Prediction:
        """A prediction for instance x."""
        instance = self.forecaster.spaces.encode(x)
        self.rehearse()
        forecast = self._run.predict(self._state, instance)
        self._rows.append(OpenRow(instance, forecast.memo))
        self.predictions += 1
        return Prediction(self.predictions - 1, np.asarray(forecast.log_probabilities))

    def nowcast(self, id: int) -> Array:
        """The log-probabilities of a prediction's outcome through its proxy, which is known."""
        row = self._rows[id]
        return np.asarray(self._run.nowcast(self._state, row.x, np.int32(row.z)))

    def proxy(self, id: int, z: int) -> None:
        """Learn the proxy of a prediction."""
        row = self._rows[id]
        row.z = int(z)
        self._state = self._run.learn(self._state, row.rows(), _none_of(row.rows()))
        if self._windows:
            self._windows.proxy(row.x, row.z, row.position)

    def outcome(self, id: int, y: int) -> None:
        """Learn the outcome of a prediction."""
        row = self._rows[id]
        row.y = int(y)
        self._state = self._run.learn(self._state, _none_of(row.rows()), row.rows())
        if self._windows:
            row.position = self._windows.outcome(row.x, row.z, row.y)

    def rehearse(self) -> None:
        """Take the training steps that are due now, if any are."""
        due = self.predictions
        if self._windows is None or self._rehearsed == due or not self._windows.replay.due(due):
            return
        first = self._windows.replay.first_step(due)
        for step in range(first, first + self._windows.replay.steps):
            self._state = self._run.rehearse(self._state, *self._windows.draw(self._root, step))
        self._rehearsed = due


@lru_cache(maxsize=64)
def jitted(forecaster: Forecaster) -> Forecaster:
    """The forecaster with each function compiled on its own."""
    return replace(
        forecaster,
        predict=jax.jit(forecaster.predict),
        nowcast=jax.jit(forecaster.nowcast),
        learn=jax.jit(forecaster.learn),
        rehearse=jax.jit(forecaster.rehearse),
    )


def _none_of(rows: Rows) -> Rows:
    none: Rows = jax.tree.map(lambda part: part[:0], rows)
    return none
