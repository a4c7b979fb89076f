"""The fold on the learner's side: lessons gathered, and learnt where the log says so."""

from collections.abc import Sequence

import numpy as np

from presage.drivers.core import Core
from presage.drivers.lessons import Lessons
from presage.joining.entries import NOTHING
from presage.joining.lessons import Lesson, in_learning_order
from presage.spaces import EMPTY, Instance

assert NOTHING == EMPTY


class LogFold:
    """A learner that takes lessons as they come and learns them at the positions that the log gives."""

    def __init__(self, engine: Core) -> None:
        self.engine, self.learning = engine, engine.learner()
        self.learnt = 0  # the log position of the last batch
        self._waiting: list[Lesson] = []

    def take(self, lessons: Sequence[Lesson]) -> None:
        """Keep lessons for the next batch."""
        self._waiting += lessons

    def learn(self, seq: int, predictions: int) -> int:
        """How many lessons were kept and are learnt now, as the log says at `seq`, after so many predictions."""
        proxies, outcomes = in_learning_order(self._waiting, self.learnt)
        self.learning.learn(self._lessons(proxies), self._lessons(outcomes), predictions)
        self._waiting, self.learnt = [], seq
        return len(proxies) + len(outcomes)

    def _lessons(self, lessons: list[Lesson]) -> Lessons:
        features, count = self.engine.forecaster.spaces.features, len(lessons)

        def joined(parts: list[bytes], dtype: str, width: int) -> np.ndarray:
            return np.frombuffer(b"".join(parts), dtype).reshape(count, width)

        x = Instance(
            joined([lesson.symbols for lesson in lessons], "<i4", features.slots),
            joined([lesson.dense for lesson in lessons], "<f4", features.dense),
        )
        memo = joined([lesson.memo for lesson in lessons], self.engine.memo_dtype, self.engine.memo_width)
        z, y = (np.array(part, np.int32) for part in ([each.z for each in lessons], [each.y for each in lessons]))
        return Lessons(x, z, y, memo, np.array([lesson.predicted for lesson in lessons], np.int64))
