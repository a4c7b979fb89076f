"""The writer: when it answers, what it refuses, and what it does when the disk fails."""

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest

from presage.errors import BusyError, InputError, LogDamagedError, StoreFailedError, StoreFullError
from presage.joining.counters import Bins
from presage.joining.entries import EntryKind
from presage.joining.join import Decision, Horizons
from presage.joining.lessons import Boundary, Lesson
from presage.journal.inbox import WriterLimits
from presage.journal.interface import Commit, Head
from presage.journal.sqlite import SqliteLog
from presage.journal.writer import Writer
from tests.journal.events import TASK, CountingTable, outcome, prediction, proxy
from tests.journal.memory import MemoryLog

HORIZONS = Horizons(proxy=10, outcome=100, absent_proxy=0, absent_outcome=0)
SOON = 60
"""Seconds in which anything is done."""


class GatedLog(MemoryLog):
    """A log whose commits wait at a gate, and fail as told."""

    def __init__(self) -> None:
        super().__init__(TASK)
        self.gate, self.reached = threading.Event(), threading.Event()
        self.commits: list[int] = []
        self.errors: list[Exception] = []
        self.closed = False
        self.gate.set()

    def commit(self, commit: Commit) -> Head:
        self.reached.set()
        assert self.gate.wait(SOON)
        if self.errors:
            raise self.errors.pop(0)
        self.commits.append(len(commit.entries))
        return super().commit(commit)

    def close(self) -> None:
        self.closed = True


class Given:
    """A writer over a gated log, with a table that learns."""

    def __init__(self, limits: WriterLimits | None = None) -> None:
        self.log, self.table = GatedLog(), CountingTable()
        self.writer = Writer(self.log, HORIZONS, lambda: 1, self.table.feed, limits)

    def hold(self) -> "Future[Any]":
        """A submission whose commit waits at the gate."""
        self.log.gate.clear()
        self.log.reached.clear()
        held = self.writer.submit([prediction("held")])
        assert self.log.reached.wait(SOON)
        return held


@pytest.fixture
def given() -> Iterator[Given]:
    given = Given()
    yield given
    given.log.gate.set()
    given.writer.close()


def test_nothing_is_answered_or_taught_before_its_commit(given: Given) -> None:
    held = given.hold()
    more = given.writer.submit([proxy("held")])
    assert not held.done()
    assert not more.done()
    assert not given.table.lessons
    given.log.gate.set()
    assert held.result(SOON)[0].seq == 1
    assert more.result(SOON)[0].seq == 2


def test_what_waits_is_kept_in_one_commit_up_to_the_limit() -> None:
    given = Given(WriterLimits(group=10))
    given.hold()
    answers = [given.writer.submit([prediction(f"{place}, {n}") for n in range(3)]) for place in range(5)]
    given.log.gate.set()
    assert [answer.result(SOON)[-1].seq for answer in answers] == [4, 7, 10, 13, 16]
    given.writer.close()
    assert given.log.commits == [1, 9, 6]


def test_a_submission_is_never_split(given: Given) -> None:
    given.writer.submit([prediction(str(n)) for n in range(1000)]).result(SOON)
    assert given.log.commits == [1000]


def test_predictions_are_refused_before_feedback_is() -> None:
    given = Given(WriterLimits(waiting=10, predictions=5))
    given.hold()
    given.writer.submit([proxy(str(n)) for n in range(5)])
    with pytest.raises(BusyError, match="too many events wait"):
        given.writer.submit([prediction("x")])
    given.writer.submit([proxy(str(n)) for n in range(5, 10)])
    with pytest.raises(BusyError):
        given.writer.submit([proxy("x")])
    given.log.gate.set()
    given.writer.close()
    assert (given.writer.waiting, given.log.head.seq) == (0, 11)


def test_a_full_disk_refuses_what_does_not_fit_and_goes_on_when_there_is_room(given: Given) -> None:
    given.log.errors = [StoreFullError("the disk is full", "it", "make room")]
    with pytest.raises(StoreFullError):
        given.writer.submit([prediction("a")]).result(SOON)
    assert given.writer.head.seq == 0
    (answer,) = given.writer.submit([prediction("a")]).result(SOON)
    assert (answer.decision, answer.seq) == (Decision.ACCEPTED, 1)


def test_after_a_failure_nothing_is_known_and_nothing_more_is_taken(given: Given) -> None:
    given.log.errors = [StoreFailedError("the log could not be kept", "it", "start again")]
    owed = [given.hold(), given.writer.submit([proxy("a")]), given.writer.tick(5), given.writer.ask(lambda log: 1)]
    given.log.gate.set()
    for future in owed:
        with pytest.raises(StoreFailedError):
            future.result(SOON)
    for refused in (lambda: given.writer.submit([proxy("b")]), lambda: given.writer.tick(5)):
        with pytest.raises(StoreFailedError):
            refused()
    given.writer.close()
    assert isinstance(given.writer.failed, StoreFailedError)
    assert given.log.closed


def test_a_learner_that_cannot_be_reached_stops_the_writer() -> None:
    def feed(lessons: list[Lesson], boundary: Boundary | None) -> None:
        raise OSError("the pipe is broken")

    writer = Writer(MemoryLog(TASK), HORIZONS, lambda: 1, feed)
    (answer, _) = writer.submit([prediction("a"), proxy("a")]).result(SOON)
    assert answer.seq == 1, "it is durable, and was answered"
    writer.close()
    assert "the pipe is broken" in str(writer.failed)


def test_closing_keeps_what_was_submitted(given: Given) -> None:
    held = given.hold()
    more = [given.writer.submit([prediction(str(n))]) for n in range(300)]
    closing = threading.Thread(target=given.writer.close)
    closing.start()
    given.log.gate.set()
    closing.join(SOON)
    assert held.result(0)
    assert [answer.result(0)[0].seq for answer in more] == list(range(2, 302))
    with pytest.raises(BusyError, match="shutting down"):
        given.writer.submit([prediction("x")])
    assert given.log.closed


def test_what_was_cancelled_before_it_was_taken_is_not_kept(given: Given) -> None:
    given.hold()
    cancelled = given.writer.submit([prediction("never")])
    assert cancelled.cancel()
    given.log.gate.set()
    assert given.writer.submit([prediction("a")]).result(SOON)[0].seq == 2
    with pytest.raises(CancelledError):
        cancelled.result()


def test_absences_are_decided_in_bounded_commits_and_others_are_served_between() -> None:
    given = Given(WriterLimits(decisions=10))
    given.writer.submit([prediction(str(n), at=1) for n in range(25)]).result(SOON)
    decided, late = given.writer.tick(12), given.writer.tick(1000)
    assert decided.result(SOON) + late.result(SOON) >= 50
    given.writer.close()
    assert given.log.counters.bins == Bins(absent=75)
    assert max(given.log.commits[1:]) <= 11, "ten decisions and a LEARN entry"
    assert [lesson.kind for lesson in given.table.lessons] == [EntryKind.PROXY] * 25 + [EntryKind.OUTCOME] * 25


def test_a_tick_does_not_overtake_what_was_submitted_before_it() -> None:
    given = Given(WriterLimits(group=1))
    given.writer.submit([prediction("a", at=1)]).result(SOON)
    given.hold()
    answers = [given.writer.submit([proxy(id, at=11)]) for id in ("b", "c", "a")]
    given.writer.tick(1000)
    given.log.gate.set()
    given.writer.close()
    assert [answer.result(SOON)[0].bin.name for answer in answers] == ["PARKED", "PARKED", "TRAINED"]


def test_learning_goes_on_when_the_last_was_published_though_nothing_else_happens(given: Given) -> None:
    given.writer.submit([prediction("a"), proxy("a")]).result(SOON)
    first = given.writer.counters.learn
    given.writer.submit([prediction("b", model=first), outcome("a")]).result(SOON)
    assert given.writer.counters.learn == first
    given.writer.use_model(first)
    given.writer.ask(lambda log: log.head).result(SOON)
    given.writer.ask(lambda log: log.head).result(SOON)
    assert given.writer.counters.learn == given.writer.head.seq == first + 3


def test_questions_see_what_was_answered_before(given: Given) -> None:
    given.writer.submit([prediction("a")]).result(SOON)
    assert given.writer.ask(lambda log: log.find(["a"])).result(SOON)["a"].predicted == 1
    with pytest.raises(ZeroDivisionError):
        given.writer.ask(lambda log: 1 / 0).result(SOON)
    assert given.writer.submit([proxy("a")]).result(SOON)


def test_a_question_that_finds_damage_stops_the_writer(given: Given) -> None:
    def ask(log: object) -> None:
        raise LogDamagedError("entry 3 of the log is missing", "it", "restore a backup")

    with pytest.raises(LogDamagedError):
        given.writer.ask(ask).result(SOON)
    given.writer.close()
    assert isinstance(given.writer.failed, LogDamagedError)


@pytest.mark.parametrize("id", ["", "\ud800", "a" * 65536])
def test_an_id_that_cannot_be_kept_is_refused_at_once(given: Given, id: str) -> None:
    with pytest.raises(InputError, match="id"):
        given.writer.submit([prediction(id)])
    assert given.writer.waiting == 0


def test_repeats_and_conflicts_are_counted_by_kind(given: Given) -> None:
    given.writer.submit([prediction("a"), prediction("a"), proxy("a", 1), proxy("a", 2)]).result(SOON)
    assert given.writer.refused == {
        (EntryKind.PREDICTED, Decision.REPEATED): 1,
        (EntryKind.PROXY, Decision.CONFLICT): 1,
    }


def test_many_threads_write_one_log(tmp_path: Path) -> None:
    table = CountingTable()
    writer = Writer(SqliteLog(tmp_path, TASK), HORIZONS, lambda: 1, table.feed)

    def client(name: str) -> None:
        for n in range(50):
            id = f"{name} {n}"
            assert writer.submit([prediction(id)]).result(SOON)[0].decision is Decision.ACCEPTED
            writer.submit([proxy(id), outcome(id)]).result(SOON)

    clients = [threading.Thread(target=client, args=(str(number),)) for number in range(8)]
    for each in clients:
        each.start()
    for each in clients:
        each.join(60)
    writer.close()
    assert (len(table.lessons), writer.counters.bins) == (800, Bins(trained=1200))
