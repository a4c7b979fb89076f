"""Events one by one, as a service sees them: the same numbers as the compiled driver on the same events."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from presage.drivers.batched.network_core import ReplayWindows
from presage.errors import FeedbackError, RepeatedFeedbackError, UnknownIdError
from presage.forecasters.contract import Forecaster, Memo, Rows, State
from presage.forecasters.random_keys import Purpose, key_for, root_key
from presage.settings import one_of
from presage.spaces import EMPTY, Array, Instance

Engine = Literal["numpy", "xla"]
"""What predicts and counts: NumPy is quickest for single events, XLA gives the very bits of the compiled driver.
Networks are always trained by XLA."""


class Prediction(NamedTuple):
    """The id under which feedback is to be sent, and the log-probabilities of the outcomes."""

    id: int
    log_probabilities: Array  # [Y]


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


class Learner:
    """A forecaster that predicts and learns from events in the order they happen.

    Training that falls due after a round (see `Replay`) is done at the next prediction, when all feedback of the
    round has come. Feedback must name the id of a prediction; a prediction is open until both its proxy and its
    outcome are known, or `close` gives up on it.

    >>> from presage import Spaces, factored_table
    >>> learner = Learner(factored_table(Spaces(instances=10, proxies=4, outcomes=2)), key=0)
    >>> prediction = learner.predict(7)
    >>> learner.proxy(prediction.id, 3)
    >>> learner.outcome(prediction.id, 1)
    >>> learner.predict(7).id
    1
    """

    def __init__(self, forecaster: Forecaster, key: Any = 0, *, engine: Engine = "numpy") -> None:
        one_of("engine", engine, ("numpy", "xla"))
        self.forecaster = forecaster
        self.predictions = 0
        self._root = root_key(key)
        self._engine = engine
        self._run = forecaster if engine == "numpy" else jitted(forecaster)
        self._state = self._own(forecaster.init(key_for(self._root, Purpose.PARAMETERS)))
        self._open: dict[int, OpenRow] = {}
        self._rehearsed = 0  # how many predictions the training done so far covers
        self._windows = ReplayWindows(forecaster.replay, forecaster.spaces) if forecaster.replay else None

    @property
    def state(self) -> State:
        """What has been learnt so far; a copy, so that nothing learnt later changes it."""
        return jax.tree.map(np.array, self._state)

    @property
    def open(self) -> int:
        """How many predictions wait for feedback."""
        return len(self._open)

    def predict(self, x: Any) -> Prediction:
        """A prediction for instance x, remembered under its id."""
        instance = self.forecaster.spaces.encode(x)
        self.rehearse()
        forecast = self._run.predict(self._state, instance)
        prediction = Prediction(self.predictions, np.asarray(forecast.log_probabilities))
        self._open[prediction.id] = OpenRow(instance, forecast.memo)
        self.predictions += 1
        return prediction

    def nowcast(self, id: int) -> Array:
        """The log-probabilities of an open prediction's outcome, through its proxy once that is known."""
        row = self._find(id)
        if row.z == EMPTY:
            return np.asarray(self._run.predict(self._state, row.x).log_probabilities)
        return np.asarray(self._run.nowcast(self._state, row.x, np.int32(row.z)))

    def proxy(self, id: int, z: int) -> None:
        """Learn the proxy of an open prediction."""
        symbol = int(self.forecaster.spaces.proxy(z))
        row = self._find(id)
        if row.z != EMPTY:
            raise _repeated("proxy", id)
        row.z = symbol
        rows = row.rows()
        self._state = self._run.learn(self._state, rows, _none_of(rows))
        if self._windows:
            self._windows.proxy(row.x, row.z, row.position)
        self._settle(id, row)

    def outcome(self, id: int, y: int) -> None:
        """Learn the outcome of an open prediction."""
        symbol = int(self.forecaster.spaces.outcome(y))
        row = self._find(id)
        if row.y != EMPTY:
            raise _repeated("outcome", id)
        row.y = symbol
        rows = row.rows()
        self._state = self._run.learn(self._state, _none_of(rows), rows)
        if self._windows:
            row.position = self._windows.outcome(row.x, row.z, row.y)
        self._settle(id, row)

    def close(self, id: int) -> None:
        """Give up on the feedback that an open prediction still lacks."""
        self._find(id)
        del self._open[id]

    def rehearse(self) -> None:
        """Take the training steps that are due now, if any are; the next prediction would do it."""
        due = self.predictions
        if self._windows is None or self._rehearsed == due or not self._windows.replay.due(due):
            return
        first = self._windows.replay.first_step(due)
        state = self._state
        for step in range(first, first + self._windows.replay.steps):
            state = jitted(self.forecaster).rehearse(state, *self._windows.draw(self._root, step))
        self._state, self._rehearsed = self._own(state), due

    def _own(self, state: State) -> State:
        """The state in the arrays of the engine; NumPy ones are copies that may be written."""
        return jax.tree.map(np.array, state) if self._engine == "numpy" else state

    def _find(self, id: int) -> OpenRow:
        row = self._open.get(id)
        if row is None:
            raise self._missing(id)
        return row

    def _missing(self, id: object) -> FeedbackError:
        if isinstance(id, int) and 0 <= id < self.predictions:
            return RepeatedFeedbackError("the prediction is settled or closed", id, "send its feedback only once")
        return UnknownIdError("nothing was predicted under this id", id, "use the id that predict returned")

    def _settle(self, id: int, row: OpenRow) -> None:
        if EMPTY not in (row.z, row.y):
            del self._open[id]


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


def _repeated(kind: str, id: int) -> RepeatedFeedbackError:
    return RepeatedFeedbackError(f"the {kind} of this prediction is known already", id, f"send each {kind} only once")
