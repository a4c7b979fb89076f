"""Verification of the whole log: every entry against the chain, and all derived state against the entries."""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from presage.errors import LogDamagedError
from presage.joining.counters import Bins, Counters, bins_of
from presage.joining.entries import Entry, EntryKind, Learn, decode_feedback, decode_learn, decode_predicted
from presage.joining.join import Bin, Decision, Horizons, Known, join_feedback, join_prediction, mark_absent, overdue
from presage.journal.interface import Head
from presage.journal.sqlite import SqliteLog

_DECIDES = {EntryKind.ABSENT_PROXY: EntryKind.PROXY, EntryKind.ABSENT_OUTCOME: EntryKind.OUTCOME}


def known_from_entries(entries: Iterable[Entry], horizons: Horizons) -> Known:
    """The state of an id from its entries, in order.

    Raise LogDamagedError for an entry that the rules of joining would have refused, or an absence decided too soon.
    """
    known = Known()
    for entry in entries:
        kind = EntryKind(entry.kind)
        if kind in _DECIDES:
            signal = _DECIDES[kind]
            fits = overdue(known, signal, entry.at, horizons)
            known = mark_absent(known, signal, entry.seq, horizons)
        elif kind is EntryKind.PREDICTED:
            joined = join_prediction(known, decode_predicted(entry.body), entry.seq, entry.at)
            fits, known = joined.decision is Decision.ACCEPTED, joined.known
        else:
            late = overdue(known, kind, entry.at, horizons)
            joined = join_feedback(known, kind, decode_feedback(entry.body).symbol, entry.seq)
            fits, known = not late and joined.decision is Decision.ACCEPTED, joined.known
        if not fits:
            wrong = f"entry {entry.seq} of the log does not follow from those before it"
            raise LogDamagedError(wrong, entry.id, "restore the folder from a backup")
    return known


PAGE = 1000
"""How many entries, or ids, are checked together."""


class Verified(NamedTuple):
    """A log that passed verification."""

    head: Head
    ids: int
    counters: Counters


def verify(folder: Path, task: bytes, horizons: Horizons) -> Verified:
    """The contents of the log of a folder; raise LogDamagedError for what is damaged.

    Memory does not grow with the log.
    """
    log = SqliteLog(folder, task)
    try:
        return verify_log(log, horizons)
    finally:
        log.close()


def verify_log(log: SqliteLog, horizons: Horizons) -> Verified:
    """The same for a log that is open."""
    found = [row[0] for row in log.rows("PRAGMA integrity_check")]
    _same("the file", found, ["ok"])
    for _ in _pages(log):
        pass  # check the chain before decoding anything
    ids = _check_known(log, horizons)
    _same("the number of ids", _number(log, "SELECT count(*) FROM ids"), ids)
    _same("the number of ids known", _number(log, "SELECT count(*) FROM known"), ids)
    counters = _counted(log)
    _same("the counters", log.counters, counters)
    return Verified(log.head, ids, counters)


def _check_known(log: SqliteLog, horizons: Horizons) -> int:
    """How many ids there are; raise LogDamagedError if the state of one does not follow from its entries."""
    rows = log.rows(f"SELECT id, seq FROM log WHERE kind != {EntryKind.LEARN:d} ORDER BY id, seq")
    each = ((id, [seq for _, seq in named]) for id, named in groupby(rows, itemgetter(0)))
    count = 0
    while some := dict(islice(each, PAGE)):
        count += len(some)
        kept = log.find(some)
        for id, seqs in some.items():
            _same(f"what is known of {id!r}", kept.get(id, Known()), known_from_entries(log.entries(seqs), horizons))
    return count


def _counted(log: SqliteLog) -> Counters:
    """The counters, counted again from the entries and the states."""
    counters, at = Counters(bins=_bins(log)), 0
    for entry, known in _all(log):
        if entry.at < at:
            raise _wrong(f"the time of entry {entry.seq}", entry.at, at)
        at = entry.at
        if entry.kind == EntryKind.LEARN:
            counters = _learnt(counters, entry)
            continue
        predicted = entry.kind == EntryKind.PREDICTED
        used = predicted and 0 < counters.learn == decode_predicted(entry.body).model
        counters = counters._replace(
            predictions=counters.predictions + predicted,
            proxies=counters.proxies + (known.proxy_seq == entry.seq),
            outcomes=counters.outcomes + (known.outcome_seq == entry.seq),
            used=counters.used + used,
        )
    return counters


def _learnt(counters: Counters, entry: Entry) -> Counters:
    """The counters after a LEARN entry."""
    if counters.learn and not counters.used:
        raise _wrong(f"entry {entry.seq}, as no prediction used the LEARN entry before it", counters.learn, "another")
    body = Learn(counters.proxies - counters.learnt_proxies, counters.outcomes - counters.learnt_outcomes)
    _same(f"the lessons of entry {entry.seq}", decode_learn(entry.body), body)
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


def _all(log: SqliteLog) -> Iterator[tuple[Entry, Known]]:
    """Every entry, with the state of its id."""
    for entries in _pages(log):
        found = log.find({entry.id for entry in entries})
        yield from ((entry, found.get(entry.id, Known())) for entry in entries)


def _pages(log: SqliteLog) -> Iterator[list[Entry]]:
    """Every entry, checked against the chain."""
    seq = 0
    while entries := log.read(seq, PAGE):
        yield entries
        seq = entries[-1].seq
    _same("the length of the log", seq, log.head.seq)


def _number(log: SqliteLog, query: str) -> int:
    return int(next(log.rows(query))[0])


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise _wrong(what, found, expected)


def _wrong(what: str, found: object, expected: object) -> LogDamagedError:
    wrong = f"{what} does not match the log, which says {expected!r:.200}"
    return LogDamagedError(wrong, found, "restore the folder from a backup")
