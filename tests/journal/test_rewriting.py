"""A log made from another one: what is left is joined, counted and learnt as if the rest had never come."""

from pathlib import Path
from random import Random

import pytest
from msgspec import msgpack

from presage.errors import DataError
from presage.joining.entries import Entry, EntryKind, RewrittenNote, feedback_in, predicted_in
from presage.joining.join import Horizons, Known
from presage.joining.lessons import Boundary, Lesson
from presage.journal.appender import Appender
from presage.journal.readers import read_lessons
from presage.journal.rewriting import Rewriting, RewrittenLog, rewrite_log
from presage.journal.sqlite import SqliteLog
from presage.journal.verify import verify_log
from tests.journal.events import TASK, CountingTable, outcome, prediction, proxy

HORIZONS = Horizons(proxy=10, outcome=40, absent_proxy=0, absent_outcome=-1)
NOTE = 1


def written(folder: Path, format: int, rounds: int = 150) -> SqliteLog:
    """A log in which everything happens, some of it parked, late or absent, and whose model follows with a lag."""
    random, log, published = Random(3), SqliteLog(folder, TASK, format=format), [0]

    def feed(_: list[Lesson], boundary: Boundary | None) -> None:
        if boundary:
            published.append(boundary.seq)

    appender = Appender(log, HORIZONS, lambda: 1, feed)
    for number in range(rounds):
        at = 1 + 2 * number
        appender.model_position = published[-1 if random.random() < 0.8 else -min(2, len(published))]
        some = [prediction(str(number), number % 7, at, appender.model_position)]
        for make, most in ((proxy, 8), (outcome, 25)):
            id = max(0, number - random.randint(-2, most))
            some.append(make(str(id), random.randint(0, 2), at))
        appender.append(some)
        decided = appender.settle(at, 10)
        appender.commit(decided)
        appender.hand_on(decided)
    appender.note(EntryKind.REWRITTEN, RewrittenNote(1, 1, b"", 1, 0))
    return log


def rewritten(source: SqliteLog, folder: Path, what: Rewriting) -> tuple[SqliteLog, RewrittenLog]:
    target = SqliteLog(folder, TASK, synced=False)
    found = rewrite_log(source, target, HORIZONS, what, lambda _: None)
    target.close()
    return SqliteLog(folder, TASK), found


def counted(log: SqliteLog, without: frozenset[str] = frozenset(), until: int = 10**9) -> CountingTable:
    table = CountingTable()
    ids = {entry.seq: entry.id for entry in log.read(0, 10**6)}
    for lessons, boundary in read_lessons(log, HORIZONS):
        left = [lesson for lesson in lessons if ids[lesson.seq] not in without and lesson.seq <= until]
        table.feed(left, boundary)
    table.learn()
    return table


def said(entry: Entry) -> object:
    """What an entry says, without its place and its model."""
    if entry.kind == EntryKind.PREDICTED:
        body = predicted_in(entry)
        return entry.at, entry.id, body.features, body.symbols, body.log_probabilities, body.memo
    return entry.kind, entry.at, entry.id, feedback_in(entry)


@pytest.mark.parametrize("format", [1, 2])
def test_without_anything_left_out_only_positions_change(tmp_path: Path, format: int) -> None:
    source = written(tmp_path / "source", format)
    log, found = rewritten(source, tmp_path / "target", Rewriting(source.head.seq))
    assert (log.format, found.left_out) == (2, 0)
    assert found.head == log.head == verify_log(log, HORIZONS).head
    old = [entry for entry in source.read(0, 10**6) if entry.kind <= EntryKind.LEARN]
    new = log.read(0, 10**6)
    assert new[0].kind == EntryKind.REWRITTEN
    assert [entry.kind for entry in new[NOTE:]] == [entry.kind for entry in old]
    places = {0: 0} | {then.seq: now.seq for then, now in zip(old, new[NOTE:], strict=True)}
    for then, now in zip(old, new[NOTE:], strict=True):
        if then.id:
            assert said(then) == said(now)
        if then.kind == EntryKind.PREDICTED:
            assert predicted_in(now).model == places[predicted_in(then).model]
    assert counted(log).counts == counted(source).counts
    for each in (source, log):
        each.close()


def test_the_first_entry_names_the_parent(tmp_path: Path) -> None:
    source = written(tmp_path / "source", 2)
    log, _ = rewritten(source, tmp_path / "target", Rewriting(100, frozenset(["3", "4"])))
    first = log.read(0, 1)[0]
    assert msgpack.decode(first.envelope) == [2, source.head.seq, source.head.chain, 100, 2]
    for each in (source, log):
        each.close()


@pytest.mark.parametrize("format", [1, 2])
def test_what_is_left_is_what_would_be_there_had_the_rest_never_come(tmp_path: Path, format: int) -> None:
    source = written(tmp_path / "source", format)
    entries = source.read(0, 10**6)
    random = Random(1)
    for turn in range(12):
        until = random.choice((source.head.seq, random.randint(1, source.head.seq)))
        taken = sorted({entry.id for entry in entries if entry.id})
        without = frozenset(random.sample(taken, random.choice((0, 1, 40, len(taken) - 1))))
        log, found = rewritten(source, tmp_path / f"target {turn}", Rewriting(until, without))
        verify_log(log, HORIZONS)
        left = [entry for entry in entries if entry.id and entry.id not in without and entry.seq <= until]
        assert [said(entry) for entry in log.read(0, 10**6) if entry.id] == [said(entry) for entry in left]
        assert found.left_out == sum(bool(entry.id) for entry in entries) - len(left)
        if until == source.head.seq:
            assert counted(log).counts == counted(source, without).counts
        models = {predicted_in(entry).model for entry in log.read(0, 10**6) if entry.kind == EntryKind.PREDICTED}
        learns = {entry.seq for entry in log.read(0, 10**6) if entry.kind == EntryKind.LEARN}
        assert models <= learns | {0}
        for id in without:
            assert log.find([id]).get(id, Known()) == Known()
        log.close()
    source.close()


def test_a_log_can_end_within_a_commit_of_its_parent(tmp_path: Path) -> None:
    source = written(tmp_path / "source", 2, 40)
    entries = [entry for entry in source.read(0, 10**6) if entry.id]
    for until in range(50, 62):
        log, _ = rewritten(source, tmp_path / f"target {until}", Rewriting(until))
        left = [said(entry) for entry in entries if entry.seq <= until]
        assert [said(entry) for entry in log.read(0, 10**6) if entry.id] == left
        log.close()
    source.close()


def test_what_is_not_in_the_log_cannot_be_left_out(tmp_path: Path) -> None:
    source = written(tmp_path / "source", 2, 5)
    for what, wrong in (
        (Rewriting(source.head.seq, frozenset(["no such"])), "the log has no such id: found 'no such'"),
        (Rewriting(source.head.seq + 1), "the log has no such position"),
        (Rewriting(0), "the log has no such position"),
    ):
        target = SqliteLog(tmp_path / "target", TASK)
        with pytest.raises(DataError, match=wrong):
            rewrite_log(source, target, HORIZONS, what, lambda _: None)
        assert target.head.seq == 0
        target.close()
    source.close()
