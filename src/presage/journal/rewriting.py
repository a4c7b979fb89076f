"""A log made from another one, without what poisoned it: the same entries, joined and counted again.

Answers stay as they were served. LEARN entries stay where something is left to learn and the one before was used: so
the learner folds the rest as if what was left out had never come. A prediction names the last LEARN entry left of
those its model had learnt. Notes are about the old log and are left out.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Set
from typing import NamedTuple

from msgspec.structs import replace

from presage.errors import DataError, LogDamagedError
from presage.joining.entries import Entry, EntryKind, LogEvent, RewrittenNote, feedback_in, predicted_in
from presage.joining.join import Decision, Horizons
from presage.journal.appender import CommitGroup
from presage.journal.interface import Head, LogStore
from presage.journal.sqlite import SqliteLog

GROUP = 1000
"""Entries in a commit of the new log, unless a LEARN entry ends it before."""

_SIGNALS = {EntryKind.ABSENT_PROXY: EntryKind.PROXY, EntryKind.ABSENT_OUTCOME: EntryKind.OUTCOME}


class Rewriting(NamedTuple):
    """What to leave out: all entries after a position, and all of some ids."""

    until: int
    excluded: Set[str] = frozenset()


class RewrittenLog(NamedTuple):
    """The head of the new log, and how many entries with an id it lacks."""

    head: Head
    left_out: int


def rewrite_log(
    source: SqliteLog, target: LogStore, horizons: Horizons, what: Rewriting, progress: Callable[[int], None]
) -> RewrittenLog:
    """Write a log into an empty one; `progress` is called with the number of further entries read."""
    unknown = sorted(what.excluded - source.find(what.excluded).keys())
    if unknown:
        raise DataError("the log has no such id", unknown[0], "give ids that are in it")
    if not 1 <= what.until <= source.head.seq:
        raise DataError("the log has no such position", what.until, f"give one from 1 to {source.head.seq}")
    models = _Models()
    left_out = 0
    note = RewrittenNote(source.format, source.head.seq, source.head.chain, what.until, len(what.excluded))
    for entries in _groups(source, what.until):
        named = [entry for entry in entries if entry.id and entry.id not in what.excluded]
        left_out += sum(bool(entry.id) for entry in entries) - len(named)
        group = CommitGroup(target, horizons, {entry.id for entry in named})
        if not target.head.seq:
            group.note(EntryKind.REWRITTEN, note, entries[0].at)
        for entry in named:
            _take(group, entry, models)
        learns = entries[-1].kind == EntryKind.LEARN
        commit = group.finish(target.counters.learn if learns else -1)
        if commit.entries:
            target.commit(commit)
            target.tidy()
        if learns:
            models.add(entries[-1].seq, target.counters.learn)
        progress(len(entries))
    return RewrittenLog(target.head, left_out + _after(source, what))


class _Models:
    """Positions of LEARN entries in the new log, by those in the old one."""

    def __init__(self) -> None:
        self._old, self._new = [0], [0]

    def add(self, old: int, new: int) -> None:
        self._old.append(old)
        self._new.append(new)

    def new(self, old: int) -> int:
        return self._new[bisect_right(self._old, old) - 1]


def _groups(source: SqliteLog, until: int) -> Iterator[list[Entry]]:
    """The entries up to a position, in parts that end with a LEARN entry or are as long as a commit may be."""
    group: list[Entry] = []
    for entries, _ in source.commits(0, until):
        for entry in entries:
            if entry.seq > until:
                break
            group.append(entry)
            if entry.kind == EntryKind.LEARN or len(group) >= GROUP:
                yield group
                group = []
    if group:
        yield group


def _take(group: CommitGroup, entry: Entry, models: _Models) -> None:
    """Join an entry of the old log into a group of the new one."""
    kind = EntryKind(entry.kind)
    if kind in _SIGNALS:
        group.at = max(group.at, entry.at)
        group.miss(_SIGNALS[kind], entry.id)
        return
    if kind is EntryKind.PREDICTED:
        body = predicted_in(entry)
        event = LogEvent(kind, entry.id, replace(body, model=models.new(body.model)), entry.at)
    else:
        event = LogEvent(kind, entry.id, feedback_in(entry), entry.at)
    if group.take(event, entry.at).decision is not Decision.ACCEPTED:
        wrong = f"entry {entry.seq} of the log does not follow from those before it"
        raise LogDamagedError(wrong, entry.id, "restore the folder from a backup")


def _after(source: SqliteLog, what: Rewriting) -> int:
    """How many entries with an id come after the last one that is taken over."""
    return int(next(source.rows(f"SELECT count(*) FROM log WHERE seq > {what.until:d} AND id != ''"))[0])
