"""The queue of the writer: events, questions and ticks from any thread, within limits."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Condition
from typing import Any, NamedTuple, TypeVar

from presage.errors import BusyError, InputError, StoreFailedError
from presage.joining.entries import EntryKind, LogEvent
from presage.journal.appender import EventResult
from presage.journal.interface import LogStore

T = TypeVar("T")

LONGEST_ID = 65535
"""Bytes of an id that the chain has room for."""


@dataclass(frozen=True)
class WriterLimits:
    """How much one commit holds, and how much may wait."""

    group: int = 256  # events in a commit, unless one submission has more
    linger: float = 0.0  # seconds that a group is kept open for more; a busy writer fills its groups without it
    waiting: int = 16384  # events that wait before any are refused
    predictions: int = 8192  # events that wait before predictions are refused
    decisions: int = 256  # in a commit, that something did not come


class Submission(NamedTuple):
    """Events to write together, or not at all."""

    events: Sequence[LogEvent]
    answers: "Future[list[EventResult]]"


class Question(NamedTuple):
    """A function of the log to call between two commits."""

    ask: Callable[[LogStore], Any]
    answer: "Future[Any]"


class Tick(NamedTuple):
    """A time before which overdue signals become absent, and how many did."""

    now: int
    decided: "Future[int]"


class Work(NamedTuple):
    """The next work of the writer."""

    submissions: list[Submission]
    questions: list[Question]
    ticks: list[Tick]


class Inbox:
    """Takes work from any thread for the writer's thread."""

    def __init__(self, limits: WriterLimits) -> None:
        self.limits = limits
        self.waiting = 0  # events
        self.refusal: Exception | None = None  # raised at every call from now on
        self._queue: deque[Submission | Tick] = deque()  # a tick does not overtake what was submitted before it
        self._questions: list[Question] = []
        self._woken = False
        self._changed = Condition()

    def submit(self, events: Sequence[LogEvent]) -> "Future[list[EventResult]]":
        """The result of each event, once it is durable; a full queue refuses predictions before feedback."""
        _check(events)
        answers: Future[list[EventResult]] = Future()
        with self._changed:
            self._refuse()
            room = self.limits.waiting
            if any(event.kind == EntryKind.PREDICTED for event in events):
                room = self.limits.predictions
            if self.waiting and self.waiting + len(events) > room:
                raise BusyError("too many events wait to be written", self.waiting, "send the same again shortly")
            self._queue.append(Submission(events, answers))
            self.waiting += len(events)
            self._changed.notify()
        return answers

    def ask(self, question: Callable[[LogStore], T]) -> "Future[T]":
        """The result of a function of the log, called between two commits."""
        answer: Future[T] = Future()
        with self._changed:
            self._refuse()
            self._questions.append(Question(question, answer))
            self._changed.notify()
        return answer

    def tick(self, now: int) -> "Future[int]":
        """How many signals that were due before now became absent."""
        decided: Future[int] = Future()
        with self._changed:
            self._refuse()
            self._queue.append(Tick(now, decided))
            self._changed.notify()
        return decided

    def wake(self) -> None:
        """Wake the writer: there may be something to do."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def close(self, refusal: Exception) -> None:
        """Take no more; the writer still gets what waits."""
        with self._changed:
            self.refusal = self.refusal or refusal
            self._changed.notify()

    def fail(self, failure: StoreFailedError) -> None:
        """Take no more, and raise why to every waiting caller."""
        with self._changed:
            self.refusal = failure
            owed: list[Future[Any]] = [each.answer for each in self._questions]
            owed += [each.answers if isinstance(each, Submission) else each.decided for each in self._queue]
            self._queue.clear()
            self._questions, self.waiting = [], 0
        for future in owed:
            if future.set_running_or_notify_cancel():
                future.set_exception(failure)

    def take(self, *, wait: bool) -> Work | None:
        """The next work, empty if there is none and `wait` is off; None after the end."""
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: self._any() or self._woken or self.refusal)
            if self._queue and self.limits.linger:
                self._changed.wait_for(lambda: self.waiting >= self.limits.group, self.limits.linger)
            if wait and self.refusal and not self._any():
                return None
            questions = [each for each in self._questions if each.answer.set_running_or_notify_cancel()]
            self._questions, self._woken = [], False
            return Work(self._group(), questions, self._ticks())

    def _any(self) -> bool:
        return bool(self._queue or self._questions)

    def _group(self) -> list[Submission]:
        """Whole submissions, as many as fit into one commit and at least one."""
        taken: list[Submission] = []
        room = self.limits.group
        while self._queue and isinstance(first := self._queue[0], Submission):
            if taken and len(first.events) > room:
                break
            self._queue.popleft()
            self.waiting -= len(first.events)
            if first.answers.set_running_or_notify_cancel():
                taken.append(first)
                room -= len(first.events)
        return taken

    def _ticks(self) -> list[Tick]:
        """The ticks before which nothing more was submitted."""
        taken: list[Tick] = []
        while self._queue and isinstance(first := self._queue[0], Tick):
            self._queue.popleft()
            if first.decided.set_running_or_notify_cancel():
                taken.append(first)
        return taken

    def _refuse(self) -> None:
        if self.refusal:
            raise self.refusal.with_traceback(None)  # or it would grow with every refusal


def _check(events: Sequence[LogEvent]) -> None:
    for event in events:
        try:
            size = len(event.id.encode())
        except UnicodeEncodeError as error:
            raise InputError("the id is not text", event.id, "send text") from error
        if not 0 < size <= LONGEST_ID:
            raise InputError("the id is empty or too long", event.id, f"send 1 to {LONGEST_ID} bytes")
