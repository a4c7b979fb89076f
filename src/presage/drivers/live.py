"""Events one by one, on the core that serves: a learner here predicts exactly what a service would."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from presage.drivers.core import core_for
from presage.drivers.lessons import Lessons
from presage.errors import FeedbackError, RepeatedFeedbackError, UnknownIdError
from presage.forecasters.contract import Forecaster, State
from presage.spaces import EMPTY, Array, Instance


class Prediction(NamedTuple):
    """The id under which feedback is to be sent, and the log-probabilities of the outcomes."""

    id: int
    log_probabilities: Array  # [Y]


@dataclass
class OpenRow:
    """A prediction whose feedback is not complete."""

    id: int
    x: Instance  # [1, ...]
    memo: Array  # [1, M]
    z: int = EMPTY
    y: int = EMPTY

    def lesson(self) -> Lessons:
        """What is known of it, as a batch of one row."""
        z, y = np.array([self.z], np.int32), np.array([self.y], np.int32)
        return Lessons(self.x, z, y, self.memo, np.array([self.id], np.int64))


class Learner:
    """A forecaster that predicts and learns from events in the order they happen.

    Training due after a round (see `Replay`) happens at the next prediction, when all feedback of the round has come.
    Feedback must name the id of a prediction; a prediction is open until both its proxy and its outcome are known, or
    until `close` ends the wait.

    >>> from presage import Spaces, factored_table
    >>> learner = Learner(factored_table(Spaces(instances=10, proxies=4, outcomes=2)), key=0)
    >>> prediction = learner.predict(7)
    >>> learner.proxy(prediction.id, 3)
    >>> learner.outcome(prediction.id, 1)
    >>> learner.predict(7).id
    1
    """

    def __init__(self, forecaster: Forecaster, key: Any = 0) -> None:
        self.forecaster = forecaster
        self.predictions = 0
        self._core = core_for(forecaster)
        self._learning = self._core.learner(key)
        self._open: dict[int, OpenRow] = {}
        features = forecaster.spaces.features
        x = Instance(np.zeros((0, features.slots), np.int32), np.zeros((0, features.dense), np.float32))
        none = np.zeros(0, np.int32)
        self._nothing = Lessons(x, none, none, np.zeros((0, self._core.memo_width), self._core.memo_dtype), none)

    @property
    def state(self) -> State:
        """What has been learned so far; a copy, which later learning does not change."""
        return self._learning.state

    @property
    def open(self) -> int:
        """How many predictions are waiting for feedback."""
        return len(self._open)

    def predict(self, x: Any) -> Prediction:
        """A prediction for instance x, remembered under its id."""
        instance = self.forecaster.spaces.encode(x)
        self.rehearse()
        row = Instance(instance.symbols[None], instance.dense[None])
        said = self._core.predict(self._learning.parameters(), row)
        prediction = Prediction(self.predictions, said.log_probabilities[0])
        self._open[prediction.id] = OpenRow(prediction.id, row, said.memo)
        self.predictions += 1
        return prediction

    def nowcast(self, id: int) -> Array:
        """The log-probabilities of an open prediction's outcome, given its proxy once that is known."""
        row = self._find(id)
        if row.z == EMPTY:
            return self._core.predict(self._learning.parameters(), row.x).log_probabilities[0]
        return self._core.nowcast(self._learning.parameters(), row.x, np.array([row.z], np.int32))[0]

    def proxy(self, id: int, z: int) -> None:
        """Learn the proxy of an open prediction."""
        symbol = int(self.forecaster.spaces.proxy(z))
        row = self._find(id)
        if row.z != EMPTY:
            raise _repeated("proxy", id)
        row.z = symbol
        self._learning.learn(row.lesson(), self._nothing, self._learning.predictions)
        self._settle(row)

    def outcome(self, id: int, y: int) -> None:
        """Learn the outcome of an open prediction."""
        symbol = int(self.forecaster.spaces.outcome(y))
        row = self._find(id)
        if row.y != EMPTY:
            raise _repeated("outcome", id)
        row.y = symbol
        self._learning.learn(self._nothing, row.lesson(), self._learning.predictions)
        self._settle(row)

    def close(self, id: int) -> None:
        """Give up on the feedback that an open prediction still lacks."""
        self._find(id)
        del self._open[id]

    def rehearse(self) -> None:
        """Take the training steps that are due now, if any; otherwise the next prediction takes them."""
        if self._learning.predictions != self.predictions:
            self._learning.learn(self._nothing, self._nothing, self.predictions)

    def _find(self, id: int) -> OpenRow:
        row = self._open.get(id)
        if row is None:
            raise self._missing(id)
        return row

    def _missing(self, id: object) -> FeedbackError:
        if isinstance(id, int) and 0 <= id < self.predictions:
            return RepeatedFeedbackError("the prediction is settled or closed", id, "send its feedback only once")
        return UnknownIdError("nothing was predicted under this id", id, "use the id that predict returned")

    def _settle(self, row: OpenRow) -> None:
        if EMPTY not in (row.z, row.y):
            del self._open[row.id]


def _repeated(kind: str, id: int) -> RepeatedFeedbackError:
    return RepeatedFeedbackError(f"this prediction already has its {kind}", id, f"send each {kind} only once")
