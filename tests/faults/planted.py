"""Bugs to be planted: each breaks one promise, and a check must tell."""

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from presage.joining.entries import Entry, EntryKind, LogEvent, Predicted
from presage.joining.hash_chain import CHAIN, SEED, body_digest, seal
from presage.joining.join import Bin, Decision, Horizons, Joined, Known, join, mark_absent
from presage.joining.lessons import Lesson
from presage.journal import connection
from presage.journal.appender import Appender, CommitGroup, EventResult
from presage.journal.connection import PRAGMAS
from presage.journal.head_marker import HeadMarker
from presage.journal.inbox import Submission
from presage.journal.interface import Commit, Head
from presage.journal.sqlite import SqliteLog
from presage.journal.tables import STATEMENTS
from presage.journal.writer import Writer
from tests.faults.ledger import Reply

_find, _commit, _open = SqliteLog.find, SqliteLog.commit, SqliteLog._open
_take, _mark, _transact = CommitGroup.take, HeadMarker.write, SqliteLog._transact


def _answer_then_commit(appender: Appender, events: list[LogEvent]) -> Iterator[list[Reply]]:
    group, answers = appender.join(events)
    yield [Reply(each.decision.value, each.seq, each.bin) for each in answers]
    appender.commit(group)
    appender.hand_on(group)


def _answer_then_write(self: Writer, submissions: list[Submission]) -> None:
    group, answers = self._appender.join([event for each in submissions for event in each.events])
    given = iter(answers)
    for each in submissions:
        each.answers.set_result([next(given) for _ in each.events])
    self._appender.commit(group)
    self._appender.hand_on(group)


def _mark_then_commit(self: SqliteLog, commit: Commit) -> Head:
    seed = self._draw(SEED)
    sealed = seal(self.format, self._head.chain, commit.entries, seed)
    self._marker.write(commit.entries[-1].seq, sealed[:CHAIN])
    with patch.object(self, "_draw", lambda _: seed):
        return _commit(self, commit)


def _mark_without_sync(self: HeadMarker, seq: int, chained: bytes) -> None:
    with patch.object(os, "fdatasync"):
        _mark(self, seq, chained)


def _commit_twice(self: SqliteLog, commit: Commit, sealed: bytes) -> None:
    """The entries in one transaction, what is known of their ids in the next."""
    self._db.execute("BEGIN")
    self._db.executemany(self._sql.append, self._sql.rows(commit.entries, sealed))
    self._db.execute("COMMIT")
    without = dataclasses.replace(self._sql, append="SELECT ?, ?, ?, ?, ?, ?, ?, ?")
    with patch.dict(STATEMENTS, {self.format: without}):
        _transact(self, commit, sealed)


def _forget(self: SqliteLog, ids: Iterable[str]) -> dict[str, Known]:
    """Ids are remembered only for a while."""
    return {id: known for id, known in _find(self, ids).items() if self.head.seq - known.first < 6}


def _lose_parked(known: Known, event: LogEvent, seq: int, at: int) -> Joined:
    joined = join(known, event, seq, at)
    if isinstance(event.body, Predicted) and joined.decision is Decision.ACCEPTED:
        return replace(joined, known=joined.known._replace(proxy_seq=0, outcome_seq=0))
    return joined


def _last_value_wins(known: Known, event: LogEvent, seq: int, at: int) -> Joined:
    joined = join(known, event, seq, at)
    if joined.decision is Decision.CONFLICT and event.kind == EntryKind.OUTCOME:
        return join(known._replace(outcome_entry=0, outcome_bin=Bin.NONE), event, seq, at)
    return joined


def _repeats_count(known: Known, event: LogEvent, seq: int, at: int) -> Joined:
    joined = join(known, event, seq, at)
    if joined.decision is Decision.REPEATED and event.kind == EntryKind.PROXY:
        return join(known._replace(proxy_entry=0), event, seq, at)
    return joined


def _late_trains(known: Known, event: LogEvent, seq: int, at: int) -> Joined:
    joined = join(known, event, seq, at)
    if joined.bin is Bin.LATE and joined.decision is Decision.ACCEPTED and event.kind == EntryKind.PROXY:
        return replace(joined, bin=Bin.TRAINED, known=joined.known._replace(proxy_bin=Bin.TRAINED, proxy_seq=seq))
    return joined


def _never_overdue(known: Known, kind: EntryKind, at: int, horizons: Horizons) -> bool:
    """Late feedback is late only if somebody looked at the clock between."""
    return False


def _decided_silently(self: CommitGroup, kind: EntryKind, id: str) -> Known:
    """What did not come is noted, and no entry says so."""
    self._changed[id] = mark_absent(self.known(id), kind, self.seq + 1, self.horizons)
    return self._changed[id]


def _teach_twice(self: SqliteLog) -> None:
    """After opening, the last lessons count as not learnt."""
    _open(self)
    self._counters = self._counters._replace(learnt_proxies=0)


def _pairs_missed(lessons: Iterable[Lesson], previous: int) -> tuple[list[Lesson], list[Lesson]]:
    """An outcome does not meet the proxy that came after it in the same batch."""
    all_of = list(lessons)
    proxies = [each for each in all_of if each.kind == EntryKind.PROXY]
    told = [each if 0 < each.y_seq < previous else replace(each, y_seq=0) for each in proxies]
    return told, [each for each in all_of if each.kind == EntryKind.OUTCOME]


def _always_learn(counters: Any, model_position: int) -> bool:
    return bool(counters.waiting)


def _no_bins(self: CommitGroup, before: Any) -> Any:
    return before._replace(open=before.open + len(self.entries))


def _unchecked(entry: Entry, salt: bytes) -> bytes:
    """A digest that does not bind the body."""
    return body_digest(entry._replace(body=b""), salt)


def _overlook(self: SqliteLog) -> None:
    """The head marker is not looked at."""


def _clock_of_today(self: CommitGroup, event: LogEvent, now: int) -> EventResult:
    """Events are dated by the clock of whoever joins them, not by their own."""
    return _take(self, replace(event, at=0), now)


def _trust_what_is_found(self: SqliteLog) -> None:
    """What a killed process left is answered for, though it may be in memory only."""
    with patch.object(SqliteLog, "_move"), patch.object(HeadMarker, "write"):
        _open(self)


def _shifting(self: CommitGroup, event: LogEvent, now: int) -> EventResult:
    self.at = 0
    return _take(self, event, now)


PATCHES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "answers before the commit": lambda: patch.object(sys.modules["__main__"], "_answered", _answer_then_commit),
    "answers before the commit, in the writer": lambda: patch.object(Writer, "_append", _answer_then_write),
    "the marker before the commit": lambda: patch.object(SqliteLog, "commit", _mark_then_commit),
    "two transactions": lambda: patch.object(SqliteLog, "_transact", _commit_twice),
    "commits not synced": lambda: patch.object(
        connection, "PRAGMAS", tuple(each.replace("FULL", "NORMAL") for each in PRAGMAS)
    ),
    "what is found not synced": lambda: patch.object(SqliteLog, "_open", _trust_what_is_found),
    "the marker not synced": lambda: patch.object(HeadMarker, "write", _mark_without_sync),
    "ids forgotten after a while": lambda: patch.object(SqliteLog, "find", _forget),
    "parked feedback lost": lambda: patch("presage.journal.appender.join", _lose_parked),
    "the last value wins": lambda: patch("presage.journal.appender.join", _last_value_wins),
    "a resend appended": lambda: patch("presage.journal.appender.join", _repeats_count),
    "late feedback trained": lambda: patch("presage.journal.appender.join", _late_trains),
    "late only if somebody looked": lambda: patch("presage.journal.appender.overdue", _never_overdue),
    "absences without entries": lambda: patch.object(CommitGroup, "miss", _decided_silently),
    "expiry by the wall clock": lambda: patch.object(CommitGroup, "take", _clock_of_today),
    "time goes back": lambda: patch.object(CommitGroup, "take", _shifting),
    "lessons learnt again after opening": lambda: patch.object(SqliteLog, "_open", _teach_twice),
    "pairs missed": lambda: patch("tests.journal.events.in_learning_order", _pairs_missed),
    "learning that nobody used": lambda: patch("presage.journal.appender.learning_is_due", _always_learn),
    "bins not counted": lambda: patch.object(CommitGroup, "_bins", _no_bins),
    "bodies outside the chain": lambda: patch("presage.joining.hash_chain.body_digest", _unchecked),
    "the marker overlooked": lambda: patch.object(SqliteLog, "_check", _overlook),
}
"""What is wrong, and how to make it so."""


def bug(name: str) -> AbstractContextManager[Any]:
    """A bug for as long as it is entered."""
    return PATCHES[name]()


def plant(name: str) -> None:
    """A bug until the process ends."""
    if name:
        bug(name).__enter__()
