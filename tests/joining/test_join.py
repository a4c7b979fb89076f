"""Joining: single rules, and any course of events against a second, plainer way to write them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from msgspec.structs import replace

from presage.errors import LogDamagedError
from presage.joining.entries import EntryKind, LogEvent
from presage.joining.join import Bin, Decision, Horizons
from presage.joining.lessons import Lesson, in_learning_order
from presage.journal.appender import Appender, EventResult
from tests.faults.counts import COUNTS
from tests.joining.joined_again import known_from_entries
from tests.journal.events import TASK, CountingTable, outcome, prediction, proxy
from tests.journal.machine import JoinMachine
from tests.journal.memory import MemoryLog

HORIZONS = Horizons(proxy=10, outcome=100, absent_proxy=0, absent_outcome=-1)
ACCEPTED, REPEATED, CONFLICT = Decision.ACCEPTED, Decision.REPEATED, Decision.CONFLICT


class Course:
    """A log in memory, and what happened to the events appended to it."""

    def __init__(self, horizons: Horizons = HORIZONS) -> None:
        self.store, self.table = MemoryLog(TASK), CountingTable()
        self.appender = Appender(self.store, horizons, lambda: 1, self.table.feed)

    def append(self, *events: LogEvent) -> list[EventResult]:
        return self.appender.append(events)

    def decide(self, now: int) -> None:
        group = self.appender.settle(now, 1000)
        self.appender.commit(group)
        self.appender.hand_on(group)

    @property
    def bins(self) -> dict[str, int]:
        return {name: count for name, count in self.store.counters.bins._asdict().items() if count}

    def kinds(self) -> list[EntryKind]:
        return [EntryKind(entry.kind) for entry in self.store.log if entry.kind != EntryKind.LEARN]


def test_the_numbers_of_bins_and_kinds_on_disk_never_change() -> None:
    assert [(bin.value, bin.name) for bin in Bin] == [
        (0, "NONE"), (1, "PARKED"), (2, "TRAINED"), (3, "ABSENT"), (4, "LATE"), (5, "QUARANTINED"), (6, "OPEN"),
    ]  # fmt: skip
    assert [(kind.value, kind.name) for kind in EntryKind] == [
        (1, "PREDICTED"), (2, "PROXY"), (3, "OUTCOME"), (4, "ABSENT_PROXY"), (5, "ABSENT_OUTCOME"), (6, "LEARN"),
        (7, "SNAPSHOT"), (8, "REWRITTEN"),
    ]  # fmt: skip


def test_an_identical_resend_appends_nothing_and_names_the_first_entry() -> None:
    course = Course()
    events = prediction("a"), proxy("a", 2), outcome("a", 1)
    first = course.append(*events)
    head = course.store.head
    again = course.append(*events)
    assert [answer.decision for answer in again] == [REPEATED] * 3
    assert [(answer.seq, answer.bin) for answer in again[1:]] == [(answer.seq, answer.bin) for answer in first[1:]]
    assert again[0].seq == first[0].seq
    assert course.store.head == head
    assert set(course.appender.refused.values()) == {1}


@pytest.mark.parametrize("event", [prediction("a", 1), proxy("a", 1), outcome("a", 0)])
def test_something_else_under_the_same_id_and_kind_is_a_conflict_and_changes_nothing(event: LogEvent) -> None:
    course = Course()
    course.append(prediction("a", 0), proxy("a", 2), outcome("a", 1))
    head, known = course.store.head, dict(course.store.known)
    (answer,) = course.append(event)
    assert (answer.decision, answer.seq, bool(answer.reason)) == (CONFLICT, 0, True)
    assert (course.store.head, course.store.known) == (head, known)


def test_feedback_before_its_prediction_is_parked_and_learnt_when_that_arrives() -> None:
    course = Course()
    assert [answer.bin for answer in course.append(outcome("a", 1), proxy("a", 2))] == [Bin.PARKED] * 2
    assert course.bins == {"parked": 2}
    assert not course.table.lessons
    (answer,) = course.append(prediction("a"))
    assert [(lesson.kind, lesson.seq) for lesson in course.table.lessons] == [
        (EntryKind.PROXY, answer.seq),
        (EntryKind.OUTCOME, answer.seq),
    ]
    assert course.bins == {"trained": 3}


def test_feedback_at_its_horizon_is_in_time_and_after_it_late() -> None:
    course = Course()
    course.append(prediction("a", at=1), prediction("b", at=1))
    (in_time,) = course.append(proxy("a", 2, at=11))
    (late,) = course.append(proxy("b", 2, at=12))
    assert (in_time.bin, late.bin) == (Bin.TRAINED, Bin.LATE)


def test_late_feedback_never_trains_and_keeps_its_value_for_resends() -> None:
    course = Course()
    course.append(prediction("a", at=1))
    (answer,) = course.append(proxy("a", 2, at=50))
    assert answer.bin is Bin.LATE
    assert [answer.decision for answer in course.append(proxy("a", 2), proxy("a", 1))] == [REPEATED, CONFLICT]
    assert [lesson.z for lesson in course.table.lessons] == [HORIZONS.absent_proxy]


def test_whoever_looks_first_the_absence_is_decided_before_late_feedback() -> None:
    """A tick just after the horizon and none at all give the same entries."""
    ticked, not_ticked = Course(), Course()
    for course in (ticked, not_ticked):
        course.append(prediction("a", at=1))
        if course is ticked:
            course.decide(12)
        course.append(proxy("a", 2, at=50))
    assert ticked.kinds() == not_ticked.kinds() == [EntryKind.PREDICTED, EntryKind.ABSENT_PROXY, EntryKind.PROXY]
    assert [lesson.z for lesson in ticked.table.lessons] == [lesson.z for lesson in not_ticked.table.lessons] == [0]


def test_an_absence_without_a_value_is_censored_and_teaches_nothing() -> None:
    course = Course()
    course.append(prediction("a", at=1))
    course.decide(1000)
    assert course.kinds() == [EntryKind.PREDICTED, EntryKind.ABSENT_PROXY, EntryKind.ABSENT_OUTCOME]
    assert [lesson.kind for lesson in course.table.lessons] == [EntryKind.PROXY]
    assert course.bins == {"absent": 3}


def test_nothing_is_decided_before_its_horizon_has_passed() -> None:
    course = Course()
    course.append(prediction("a", at=1))
    course.decide(11)
    assert course.kinds() == [EntryKind.PREDICTED]
    course.decide(12)
    assert course.kinds() == [EntryKind.PREDICTED, EntryKind.ABSENT_PROXY]


def test_a_value_that_the_task_no_longer_knows_is_quarantined() -> None:
    course = Course()
    course.append(prediction("a"), proxy("a", -1), outcome("a", -1))
    assert course.bins == {"quarantined": 3}
    assert not course.table.lessons
    course.append(prediction("b"), proxy("b", -1), outcome("b", 1))
    assert course.bins == {"quarantined": 4, "trained": 2}


def test_a_prediction_is_open_until_both_signals_are_settled() -> None:
    course = Course()
    course.append(prediction("a"))
    assert course.bins == {"open": 1}
    course.append(outcome("a"))
    assert course.bins == {"open": 1, "trained": 1}
    course.append(proxy("a"))
    assert course.bins == {"trained": 3}


def test_learning_waits_until_the_last_was_published_and_used() -> None:
    course = Course()
    course.append(prediction("a"), proxy("a"))
    first = course.store.counters.learn
    assert first == course.store.head.seq == 3
    course.append(outcome("a"), prediction("b", model=0))
    course.appender.model_position = first
    course.append(proxy("b"))
    assert course.store.counters.learn == first, "nobody used it yet"
    course.append(prediction("c", model=first))
    assert course.store.counters.learn == course.store.head.seq > first
    assert [boundary.predictions for boundary in course.table.boundaries] == [1, 3]
    assert course.table.boundaries[-1].chain == course.store.head.chain


def test_a_pair_is_met_once_whichever_signal_comes_first_and_wherever_batches_end() -> None:
    for first, second in ((proxy, outcome), (outcome, proxy)):
        for apart in (False, True):
            course = Course()
            course.append(prediction("a"), first("a"))
            boundary = course.store.counters.learn
            if apart:
                course.appender.model_position = boundary
                course.append(prediction("b", model=boundary), second("a"))
            else:
                course.append(second("a"))
            course.table.learn()
            assert course.table.counts["z, y", 1, 1] == 1, (first, apart)


def test_an_outcome_tells_the_proxy_that_came_after_it_in_the_same_batch() -> None:
    lesson = Lesson(5, EntryKind.OUTCOME, b"", b"", b"", -1, 0, 1, 5, 0)
    proxies, outcomes = in_learning_order(
        [lesson, replace(lesson, seq=6, kind=EntryKind.PROXY, z=2, z_seq=6)], previous=0
    )
    assert [(each.z, each.y) for each in proxies] == [(2, -1)]
    assert [(each.z, each.y) for each in outcomes] == [(2, 1)]


def test_a_batch_is_learnt_in_the_order_of_its_predictions() -> None:
    lessons = [
        Lesson(seq, kind, b"", b"", b"", 0, seq, 0, seq, predicted)
        for seq, (kind, predicted) in enumerate(
            [(EntryKind.OUTCOME, 3), (EntryKind.PROXY, 2), (EntryKind.OUTCOME, 1), (EntryKind.PROXY, 1)]
        )
    ]
    proxies, outcomes = in_learning_order(lessons, previous=0)
    assert [each.predicted for each in proxies] == [1, 2]
    assert [each.predicted for each in outcomes] == [1, 3]


def test_refolding_refuses_entries_that_the_rules_would_not_have_let_in() -> None:
    course = Course()
    course.append(prediction("a", at=1), proxy("a", 2))
    course.decide(1000)
    entries = [entry for entry in course.store.log if entry.id]
    assert known_from_entries(entries, HORIZONS) == course.store.known["a"]
    for wrong in (
        [*entries, entries[1]._replace(seq=9)],  # a second proxy
        [entries[0], entries[1]._replace(at=50)],  # late, without a decision
        [entries[0], entries[2]._replace(at=50)],  # decided too soon
    ):
        with pytest.raises(LogDamagedError, match=f"entry {wrong[-1].seq} "):
            known_from_entries(wrong, HORIZONS)


Sent = tuple[str, str, int, int, bool]
"""Kind, id, symbol, time since the one before, and whether a group ends here."""

SENT = st.lists(
    st.tuples(st.sampled_from("pzy"), st.sampled_from("abcd"), st.integers(0, 2), st.integers(0, 15), st.booleans()),
    max_size=30,
)


def made(sent: list[Sent]) -> list[LogEvent]:
    at, found = 1, []
    for kind, id, symbol, span, _ in sent:
        at += span
        found.append({"p": prediction(id, 0, at), "z": proxy(id, symbol, at), "y": outcome(id, symbol, at)}[kind])
    return found


def played(events: list[LogEvent], ends: list[bool]) -> tuple[object, ...]:
    """What is known and learnt in the end, but for places in the log, if groups end where `ends` says."""
    course, group = Course(), list[LogEvent]()
    for event, end in zip(events, ends, strict=True):
        group.append(event)
        if end:
            course.append(*group)
            group = []
            course.decide(event.at)
    course.append(*group)
    course.decide(10**6)
    course.table.learn()
    known = course.store.known.items()
    values = {id: (each.proxy, each.proxy_bin, each.outcome, each.outcome_bin) for id, each in known}
    return values, course.bins, course.table.counts


@given(SENT)
@settings(max_examples=100, deadline=None)
def test_where_groups_end_changes_nothing_but_places_in_the_log(sent: list[Sent]) -> None:
    events = made(sent)
    anywhere = [end for *_, end in sent]
    assert played(events, [False] * len(sent)) == played(events, [True] * len(sent)) == played(events, anywhere)


@given(st.permutations([make(id) for id in "abc" for make in (prediction, proxy, outcome)]), st.data())
@settings(max_examples=100, deadline=None)
def test_counts_are_the_same_for_every_order_within_the_horizon(events: list[LogEvent], data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events)))
    in_time = [replace(event, at=1 + place) for place, event in enumerate(events)]
    *_, counts = played(in_time, ends)
    assert counts == {("x, z", 0, 1): 3, ("x, y", 0, 1): 3, ("z, y", 1, 1): 3}


@pytest.mark.long
def test_any_course_of_events_is_joined_as_the_reference_says() -> None:
    steps = settings(max_examples=COUNTS.examples, stateful_step_count=COUNTS.steps, deadline=None)
    run_state_machine_as_test(JoinMachine, settings=steps)
