"""Events for tests, and a table that counts what is learnt from them."""

from collections import Counter

from presage.joining.entries import EntryKind, FeedbackBody, LogEvent, Predicted
from presage.joining.join import Horizons
from presage.joining.lessons import Boundary, Lesson, in_learning_order
from tests.joining.reference_joiner import OUTCOME, PREDICTION, PROXY, ReferenceJoiner, Rules

TASK = b"a task"
NAMES = {EntryKind.PREDICTED: PREDICTION, EntryKind.PROXY: PROXY, EntryKind.OUTCOME: OUTCOME}


def prediction(id: str, x: int = 0, at: int = 0, model: int = 0) -> LogEvent:
    symbols = x.to_bytes(4, "little")
    body = Predicted(f'{{"title": {x}}}'.encode(), symbols, b"", model, b"\0\0\0\0\0\0\0\0", b"memo")
    return LogEvent(EntryKind.PREDICTED, id, body, at)


def proxy(id: str, symbol: int = 1, at: int = 0) -> LogEvent:
    return LogEvent(EntryKind.PROXY, id, FeedbackBody(symbol), at)


def outcome(id: str, symbol: int = 1, at: int = 0) -> LogEvent:
    return LogEvent(EntryKind.OUTCOME, id, FeedbackBody(symbol), at)


def what(event: LogEvent) -> object:
    """What an event says, for the reference joiner."""
    return int.from_bytes(event.body.symbols, "little") if isinstance(event.body, Predicted) else event.body.symbol


def rules(horizons: Horizons) -> Rules:
    absent = {PROXY: horizons.absent_proxy, OUTCOME: horizons.absent_outcome}
    return Rules(
        {PROXY: horizons.proxy, OUTCOME: horizons.outcome},
        {kind: None if symbol < 0 else symbol for kind, symbol in absent.items()},
    )


def arrive(reference: ReferenceJoiner, event: LogEvent, at: int) -> str:
    return reference.arrive(at, NAMES[event.kind], event.id, what(event))


class CountingTable:
    """The counts of a factored table, learnt batch by batch; `lessons` is all it was given."""

    def __init__(self) -> None:
        self.lessons: list[Lesson] = []
        self.boundaries: list[Boundary] = []
        self.counts: Counter[tuple[object, ...]] = Counter()
        self._waiting: list[Lesson] = []

    def feed(self, lessons: list[Lesson], boundary: Boundary | None) -> None:
        self.lessons += lessons
        self._waiting += lessons
        if boundary:
            self.learn()
            self.boundaries.append(boundary)

    def learn(self) -> None:
        """Learn all that waits, as at a LEARN entry."""
        proxies, outcomes = in_learning_order(self._waiting, self.boundaries[-1].seq if self.boundaries else 0)
        for lesson in proxies:
            self.counts["x, z", _x(lesson), lesson.z] += 1
        for lesson in outcomes:
            self.counts["x, y", _x(lesson), lesson.y] += 1
        for lesson in (*proxies, *outcomes):
            if lesson.z_seq and lesson.y_seq:
                self.counts["z, y", lesson.z, lesson.y] += 1
        self._waiting = []


def _x(lesson: Lesson) -> int:
    return int.from_bytes(lesson.symbols, "little")
