"""The writer: one thread that owns the log, and writes what all others submit in groups."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from threading import Thread
from typing import Any, TypeVar

from presage.errors import BusyError, StoreFailedError, StoreFullError
from presage.joining.counters import Counters
from presage.joining.entries import EntryKind, LogEvent
from presage.joining.join import Decision, Horizons
from presage.journal.appender import Appender, Clock, CommitGroup, EventResult, Feed, Observe
from presage.journal.inbox import Inbox, Question, Submission, Tick, WriterLimits
from presage.journal.interface import Head, LogStore

T = TypeVar("T")


class Writer:
    """Writes what any thread submits; only its own thread touches the log, which it closes in the end.

    After an error of the disk its contents are unknown: every open and every later call then raises
    `StoreFailedError`. A full disk refuses what does not fit, and continues when there is space.
    """

    def __init__(
        self,
        store: LogStore,
        horizons: Horizons,
        clock: Clock,
        feed: Feed,
        limits: WriterLimits | None = None,
        *,
        show: Observe | None = None,
    ) -> None:
        self.failed: StoreFailedError | None = None
        self.full = False  # whether the disk had no space for the last commit
        self._looking: Future[None] | None = None  # for space
        self._inbox = Inbox(limits or WriterLimits())
        self._appender = Appender(store, horizons, clock, feed, show)
        self._owed: list[Future[Any]] = []
        self._ticks: list[Tick] = []  # not done yet
        self._decided = 0  # for them so far
        self._last: Callable[[Appender], None] | None = None
        self._thread = Thread(target=self._run, name="presage-writer", daemon=True)
        self._thread.start()

    @property
    def head(self) -> Head:
        """The last entry that is durable."""
        return self._appender.store.head

    @property
    def counters(self) -> Counters:
        """What the durable log holds."""
        return self._appender.store.counters

    @property
    def waiting(self) -> int:
        """How many events wait to be written."""
        return self._inbox.waiting

    @property
    def refused(self) -> dict[tuple[EntryKind, Decision], int]:
        """How many events were repeated or in conflict since the start, by kind."""
        return dict(self._appender.refused)

    def submit(self, events: Sequence[LogEvent]) -> "Future[list[EventResult]]":
        """The result of each event, once it is durable; the events of one call are written together or not at all."""
        return self._inbox.submit(events)

    def ask(self, question: Callable[[LogStore], T]) -> "Future[T]":
        """The result of a function of the log, called between two commits."""
        return self._inbox.ask(question)

    def call(self, action: Callable[[Appender], T]) -> "Future[T]":
        """The result of a function of the appender, called between two commits; it may add notes to the log."""
        return self._inbox.ask(lambda _: action(self._appender))

    def tick(self, now: int) -> "Future[int]":
        """How many signals that were due before now were marked absent."""
        return self._inbox.tick(now)

    def look_for_space(self, has_space: Callable[[], bool]) -> None:
        """Find out, between two commits, whether a disk that was full has space: no event may come that would tell."""

        def look(_: LogStore) -> None:
            self.full = self.full and not has_space()

        if self._looking is None or self._looking.done():
            with suppress(BusyError, StoreFailedError):
                self._looking = self.ask(look)

    def use_model(self, seq: int) -> None:
        """The parameters of the LEARN entry at `seq` are in use from now on."""
        self._appender.model_position = seq
        self._inbox.wake()

    def close(self, last: Callable[[Appender], None] | None = None) -> None:
        """Write what was submitted, call a function of the appender unless writing failed, then close the log."""
        self._last = last
        self._inbox.close(
            BusyError("the service is shutting down", "an event", "send the same again after the restart")
        )
        self._thread.join()

    def _run(self) -> None:
        try:
            while (work := self._inbox.take(wait=not self._ticks)) is not None:
                self._ticks += work.ticks
                self._owed = [*(each.answers for each in work.submissions), *(each.answer for each in work.questions)]
                self._append(work.submissions)
                for question in work.questions:
                    _answer(question, self._appender.store)
                self._decide()
                self._appender.store.tidy()
            if self._last:
                self._last(self._appender)
        except Exception as error:
            self._fail(error)
        finally:
            self._close()

    def _append(self, submissions: list[Submission]) -> None:
        """Write the events, report their results, and hand on their lessons."""
        try:
            group, answers = self._appender.join([event for each in submissions for event in each.events])
            self._commit(group)
        except StoreFullError as error:
            for each in submissions:
                each.answers.set_exception(error)
            return
        answered = iter(answers)
        for each in submissions:
            each.answers.set_result(list(islice(answered, len(each.events))))
        self._appender.hand_on(group)

    def _decide(self) -> None:
        """Mark overdue signals absent, as many as fit into one commit; the rest follow after later submissions."""
        if not self._ticks:
            return
        limit = self._inbox.limits.decisions
        try:
            group = self._appender.settle(max(tick.now for tick in self._ticks), limit)
            self._commit(group)
        except StoreFullError as error:
            self._end_ticks(error)
            return
        self._appender.hand_on(group)
        decisions = len(group.entries) - group.learns
        self._decided += decisions
        if decisions < limit or self._inbox.refusal:
            self._end_ticks()

    def _commit(self, group: CommitGroup) -> None:
        try:
            self._appender.commit(group)
        except StoreFullError:
            self.full = True
            raise
        if group.entries:
            self.full = False

    def _end_ticks(self, error: StoreFullError | None = None) -> None:
        for tick in self._ticks:
            if error:
                tick.decided.set_exception(error)
            else:
                tick.decided.set_result(self._decided)
        self._ticks, self._decided = [], 0

    def _fail(self, error: Exception) -> None:
        if isinstance(error, StoreFailedError):
            self.failed = error
        else:
            remedy = "report this, and restart the service"
            self.failed = StoreFailedError("the writer stopped", repr(error), remedy)
        for future in (*self._owed, *(tick.decided for tick in self._ticks)):
            if not future.done():
                future.set_exception(self.failed)
        self._inbox.fail(self.failed)

    def _close(self) -> None:
        try:
            self._appender.store.close()
        except StoreFailedError as error:
            self.failed = self.failed or error


def _answer(question: Question, store: LogStore) -> None:
    try:
        question.answer.set_result(question.ask(store))
    except StoreFailedError:
        raise
    except Exception as error:
        question.answer.set_exception(error)
