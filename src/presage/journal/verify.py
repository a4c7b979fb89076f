"""Verification of a log: every entry against the chain, and all derived state against the entries.

One pass in the order of the log. Each entry is checked against the final state of its id, and there must be
as many entries of each kind as the states imply: together that is the same as joining all entries again, without
holding the ids in memory.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from presage.errors import LogDamagedError
from presage.joining.counters import Bins, Counters, bins_of
from presage.joining.entries import NOTHING, Entry, EntryKind, Learn, feedback_in, learn_in, predicted_in
from presage.joining.join import Bin, Horizons, Known, features_digest
from presage.journal.interface import Head
from presage.journal.sqlite import SqliteLog
from presage.journal.tables import EMPTY_STATES, IMPLIED, KINDS

_PREDICTED, _PROXY, _OUTCOME, _ABSENT_PROXY, _ABSENT_OUTCOME, _LEARN = list(EntryKind)[:6]
_LATE, _ABSENT, _TRAINED, _QUARANTINED, _PARKED = Bin.LATE, Bin.ABSENT, Bin.TRAINED, Bin.QUARANTINED, Bin.PARKED


class Verified(NamedTuple):
    """A log that passed verification."""

    head: Head
    ids: int
    counters: Counters


Progress = Callable[[int], None]
"""Called with the number of further entries checked."""


def verify(folder: Path, task: bytes, horizons: Horizons) -> Verified:
    """The contents of the log of a folder; raise LogDamagedError for what is damaged.

    Memory does not grow with the log.
    """
    log = SqliteLog(folder, task)
    try:
        return verify_log(log, horizons)
    finally:
        log.close()


def verify_chain(log: SqliteLog, progress: Progress = lambda _: None) -> Head:
    """The head of a log whose entries are all there and as they were written, whatever they mean."""
    seq = 0
    for entries, _ in log.commits(0, log.head.seq):
        seq = entries[-1].seq
        progress(len(entries))
    _same("the length of the log", seq, log.head.seq)
    return log.head


def verify_log(log: SqliteLog, horizons: Horizons, progress: Progress = lambda _: None) -> Verified:
    """The contents of a log that is open; raise LogDamagedError for what is damaged."""
    found = [row[0] for row in log.rows("PRAGMA integrity_check")]
    _same("the file", found, ["ok"])
    check = _Check(horizons)
    for entries, states in log.commits_with_states():
        for entry, known in zip(entries, states, strict=True):
            check.take(entry, known)
        progress(len(entries))
    _same("the length of the log", check.seq, log.head.seq)
    check.compare(log)
    return Verified(log.head, check.ids, log.counters)


class _Check:
    """What is counted on the way through a log."""

    def __init__(self, horizons: Horizons) -> None:
        self.horizons = horizons
        self.seq = self.at = self.ids = 0
        self.kinds: Counter[int] = Counter()
        self.first_of: dict[tuple[int, int], int] = {}  # seq of the first entry of each kind and version
        self.counters = Counters()
        self.key = os.urandom(16)
        self.absent: Counter[int] = Counter()  # a sum over the ids that are marked absent, by kind
        self._of: dict[int, tuple[int, int]] = {
            _PROXY: (horizons.proxy, horizons.absent_proxy),
            _OUTCOME: (horizons.outcome, horizons.absent_outcome),
        }

    def take(self, entry: Entry, known: Known | None) -> None:
        """Check an entry against the state of its id; None: there is none."""
        self.seq, kind = entry.seq, entry.kind
        if entry.at < self.at:
            raise _wrong(f"the time of entry {entry.seq}", entry.at, self.at)
        self.at = entry.at
        self.kinds[kind] += 1
        if (kind, entry.version) not in self.first_of:
            self.first_of[kind, entry.version] = entry.seq
        if kind == _LEARN:
            self.counters = _learnt(self.counters, entry)
            return
        if kind > _LEARN:
            _same(f"the id of entry {entry.seq}", entry.id, "")
            return
        if known is None:
            raise _wrong(f"entry {entry.seq}, whose id is not known", entry.id, "another")
        self.ids += known.first == entry.seq
        if kind == _PREDICTED:
            fits = self._prediction(entry, known)
        elif kind <= _OUTCOME:
            fits = self._signal(entry, known)
        else:
            fits = self._absence(entry, known)
        if not fits or entry.seq < known.first:
            wrong = f"entry {entry.seq} of the log does not follow from those before it"
            raise LogDamagedError(wrong, entry.id, "restore the folder from a backup")
        teaches = (known.proxy_seq == entry.seq, known.outcome_seq == entry.seq)
        if teaches[0] or teaches[1]:
            proxies, outcomes = self.counters.proxies + teaches[0], self.counters.outcomes + teaches[1]
            self.counters = self.counters._replace(proxies=proxies, outcomes=outcomes)

    def compare(self, log: SqliteLog) -> None:
        """Raise LogDamagedError if the tables say something else than the entries."""
        for name in ("ids", "known"):
            _same(f"the number of rows in {name}", next(log.rows(f"SELECT count(*) FROM {name}"))[0], self.ids)
        implied = next(log.rows(IMPLIED))
        for kind, count in zip((_PREDICTED, _PROXY, _OUTCOME, _ABSENT_PROXY, _ABSENT_OUTCOME), implied, strict=True):
            _same(f"the number of entries {kind.name}", count, self.kinds[kind])
        for kind, name in ((_ABSENT_PROXY, "proxy_bin"), (_ABSENT_OUTCOME, "outcome_bin")):
            rows = log.rows(f"SELECT first FROM known WHERE {name} IN ({Bin.ABSENT:d}, {Bin.LATE:d})")
            _same(f"the ids of entries {kind.name}", sum(self._mixed(first) for (first,) in rows), self.absent[kind])
        _same("the states without an entry", next(log.rows(EMPTY_STATES))[0], 0)
        kinds = (
            {(kind, version): first for kind, version, first in log.rows(KINDS)} if log.format > 1 else self.first_of
        )
        _same("the kinds of entries", kinds, self.first_of)
        notes = sum(count for kind, count in self.kinds.items() if kind > _LEARN)
        counters = self.counters._replace(bins=_bins(log), predictions=self.kinds[_PREDICTED], notes=notes)
        _same("the counters", log.counters, counters)

    def _prediction(self, entry: Entry, known: Known) -> bool:
        body = predicted_in(entry)
        if 0 < self.counters.learn == body.model:
            self.counters = self.counters._replace(used=self.counters.used + 1)
        return known[1:4] == (entry.seq, entry.at, features_digest(body))

    def _signal(self, entry: Entry, known: Known) -> bool:
        symbol, bin, place, learnable = known[4:8] if entry.kind == _PROXY else known[8:12]
        if place != entry.seq or symbol != feedback_in(entry).symbol:
            return False
        if not 0 < known.predicted < entry.seq:
            if symbol < 0:
                return (bin, learnable) == (_QUARANTINED, 0)
            return (bin, learnable) == ((_TRAINED, known.predicted) if known.predicted else (_PARKED, 0))
        if entry.at > known.predicted_at + self._of[entry.kind][0]:
            return bin is _LATE  # the entry that marks it absent tells the rest
        return (bin, learnable) == ((_QUARANTINED, 0) if symbol < 0 else (_TRAINED, entry.seq))

    def _absence(self, entry: Entry, known: Known) -> bool:
        is_proxy = entry.kind == _ABSENT_PROXY
        _, bin, place, learnable = known[4:8] if is_proxy else known[8:12]
        horizon, absent = self._of[_PROXY if is_proxy else _OUTCOME]
        self.absent[entry.kind] += self._mixed(known.first)
        due = 0 < known.predicted < entry.seq and entry.at > known.predicted_at + horizon
        comes_later = bin is _LATE and place > entry.seq
        fits = due and (bin is _ABSENT or comes_later)
        return fits and learnable == (entry.seq if absent != NOTHING else 0) and feedback_in(entry).symbol == absent

    def _mixed(self, first: int) -> int:
        """A number for an id; equal sums mean equal ids, whatever wrote the log: the key is drawn for each check."""
        return int.from_bytes(hashlib.blake2b(first.to_bytes(8, "little"), digest_size=16, key=self.key).digest())


def _learnt(counters: Counters, entry: Entry) -> Counters:
    """The counters after a LEARN entry."""
    if counters.learn and not counters.used:
        raise _wrong(f"entry {entry.seq}, as no prediction used the LEARN entry before it", counters.learn, "another")
    body = Learn(counters.proxies - counters.learnt_proxies, counters.outcomes - counters.learnt_outcomes)
    _same(f"the lessons of entry {entry.seq}", learn_in(entry), body)
    return counters._replace(
        learns=counters.learns + 1,
        learnt_proxies=counters.proxies,
        learnt_outcomes=counters.outcomes,
        learn=entry.seq,
        used=0,
    )


def _bins(log: SqliteLog) -> Bins:
    """The bins, counted again from the state of each id."""
    query = "SELECT predicted > 0, proxy_bin, outcome_bin, count(*) FROM known GROUP BY 1, 2, 3"
    total = [0] * len(Bins._fields)
    for predicted, proxy, outcome, count in log.rows(query):
        one = bins_of(Known(predicted=predicted, proxy_bin=Bin(proxy), outcome_bin=Bin(outcome)))
        total = [sum_ + count * number for sum_, number in zip(total, one, strict=True)]
    return Bins(*total)


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise _wrong(what, found, expected)


def _wrong(what: str, found: object, expected: object) -> LogDamagedError:
    wrong = f"{what} does not match the log, which says {expected!r:.200}"
    return LogDamagedError(wrong, found, "restore the folder from a backup")
