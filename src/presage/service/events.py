"""What is asked and fed, as events of the log."""

from collections.abc import Sequence

import numpy as np

from presage.drivers.core import Core
from presage.joining.entries import NOTHING, EntryKind, FeedbackBody, LogEvent, Predicted
from presage.service.features import feature_encoder
from presage.service.messages import Asked, Fed
from presage.service.teacher import Model
from presage.spaces import Array, Instance
from presage.task.task import Task

_UNKNOWN = FeedbackBody(NOTHING)


class Events:
    """Makes the events of a task: of a prediction what it was made from and what was said, of a signal its symbol."""

    def __init__(self, task: Task, engine: Core) -> None:
        self._encode, self._engine = feature_encoder(task), engine
        self._signals = {
            "proxy": (EntryKind.PROXY, _bodies(task.proxy().values)),
            "outcome": (EntryKind.OUTCOME, _bodies(task.outcome.values)),
        }

    def predictions(self, asked: list[Asked], model: Model) -> tuple[list[LogEvent], Array]:
        """The events of predictions that a model makes, and the log-probabilities [N, Y] that it says."""
        if not asked:
            return [], np.zeros((0, 0))
        each = [self._encode(one.values) for one in asked]
        x = Instance(np.array([one.symbols for one in each], "<i4"), np.array([one.dense for one in each], "<f4"))
        said = self._engine.predict(model.parameters, x)
        columns = map(_rows, (x.symbols, x.dense, said.log_probabilities, said.memo))
        events = []
        for one, symbols, dense, words, memo in zip(asked, *columns, strict=True):
            body = Predicted(one.features, symbols, dense, model.position, words, memo)
            events.append(LogEvent(EntryKind.PREDICTED, one.id, body, one.at or 0))
        return events, said.log_probabilities

    def feedback(self, fed: Fed) -> LogEvent:
        """The event of a proxy or an outcome; a value that the task no longer knows has no symbol."""
        kind, bodies = self._signals[fed.kind]
        return LogEvent(kind, fed.id, bodies.get(fed.value, _UNKNOWN), fed.at or 0)


def _bodies(values: Sequence[str]) -> dict[str, FeedbackBody]:
    """What is kept of each value of a signal."""
    return {value: FeedbackBody(symbol) for symbol, value in enumerate(values)}


def _rows(array: Array) -> list[bytes]:
    """The bytes of each row of an array [N, ...]."""
    width, whole = array[0].nbytes, array.tobytes()
    return [whole[place * width : (place + 1) * width] for place in range(len(array))]
