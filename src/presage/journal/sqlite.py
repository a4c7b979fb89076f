"""The log in SQLite: its tables, and rows as entries and state."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import apsw

from presage.errors import (
    LogDamagedError,
    OtherTaskError,
    OutputError,
    StoreFailedError,
    StoreFullError,
    StoreInUseError,
)
from presage.files import make_folder, sync_folder
from presage.joining.counters import Bins, Counters
from presage.joining.entries import Entry, EntryKind, chain, chain_start
from presage.joining.join import Bin, Known
from presage.journal import head_marker as head
from presage.journal.connection import connect, sqlite_errors_as_ours
from presage.journal.head_marker import HeadMarker
from presage.journal.interface import Commit, Head

FORMAT = 1

_NUMBERS = (*Bins._fields, *Counters._fields[1:])
_KNOWN = ", ".join(f"{name} {'BLOB' if name == 'features' else 'INTEGER'} NOT NULL" for name in Known._fields[1:])

TABLES = f"""
CREATE TABLE about (format INTEGER NOT NULL, task BLOB NOT NULL) STRICT;
CREATE TABLE log (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  id TEXT NOT NULL,
  body BLOB NOT NULL,
  chain BLOB  -- of the last entry of each commit
) STRICT;
CREATE TABLE ids (id TEXT PRIMARY KEY, first INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE known (first INTEGER PRIMARY KEY, {_KNOWN}) STRICT;
CREATE INDEX awaits_proxy ON known (predicted) WHERE proxy_bin = 0 AND predicted > 0;
CREATE INDEX awaits_outcome ON known (predicted) WHERE outcome_bin = 0 AND predicted > 0;
CREATE TABLE counters ({", ".join(f"{name} INTEGER NOT NULL" for name in _NUMBERS)}) STRICT;
"""
# Ids are random, so a row found by its id is on a page of its own. What is known of an id changes with its feedback,
# and lies where its neighbours in time are: most pages that a commit touches are touched by many of its events.

APPEND = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)"
NAME = "INSERT INTO ids VALUES (?, ?)"
ADD = f"INSERT INTO known VALUES ({', '.join('?' * len(Known._fields))})"
CHANGE = f"UPDATE known SET {', '.join(f'{name} = ?' for name in Known._fields[1:])} WHERE first = ?"
COUNT = f"UPDATE counters SET {', '.join(f'{name} = ?' for name in _NUMBERS)}"
START = f"INSERT INTO counters VALUES ({', '.join('?' * len(_NUMBERS))})"

FIND = "SELECT ids.id, known.* FROM ids JOIN known USING (first) WHERE ids.id = ?"
ENTRY = "SELECT seq, at, kind, id, body FROM log WHERE seq = ?"
AFTER = "SELECT seq, at, kind, id, body, chain FROM log WHERE seq > ? ORDER BY seq"
LAST = "SELECT seq, chain, at FROM log ORDER BY seq DESC LIMIT 1"
BOUND = "SELECT seq, chain FROM log WHERE seq <= ? AND chain IS NOT NULL ORDER BY seq DESC LIMIT 1"
COUNTERS = "SELECT * FROM counters"
ABOUT = "SELECT format, task FROM about"

_DUE = (
    "SELECT log.id, predicted_at FROM known JOIN log ON log.seq = known.predicted "
    "WHERE {bin} = 0 AND known.predicted > 0 ORDER BY known.predicted LIMIT ?"
)
DUE = {EntryKind.PROXY: _DUE.format(bin="proxy_bin"), EntryKind.OUTCOME: _DUE.format(bin="outcome_bin")}

_BINS = tuple(Bin)


def known_in(row: Any) -> Known:
    """The state in a row of `known`."""
    first, predicted, at, features, z, z_bin, z_entry, z_seq, y, y_bin, y_entry, y_seq = row
    proxy, outcome = (z, _BINS[z_bin], z_entry, z_seq), (y, _BINS[y_bin], y_entry, y_seq)
    return Known._make((first, predicted, at, features, *proxy, *outcome))


def row_of(counters: Counters) -> tuple[int, ...]:
    """Counters as a row."""
    return (*counters.bins, *counters[1:])


def counters_in(row: Any) -> Counters:
    """The counters in their row."""
    return Counters(Bins(*row[: len(Bins._fields)]), *row[len(Bins._fields) :])


FILE = "log.sqlite"

CHECKED = 1000
"""How many of the last entries are checked against the chain on opening; `verify` checks all."""

PAGES = 4000
"""How many pages the write-ahead log may hold before they are moved into the file."""


class SqliteLog:
    """The log of a task in a folder; missing ones are created."""

    def __init__(self, folder: Path, task: bytes) -> None:
        self.path = folder / FILE
        self._start = chain_start(task)
        self._pages = 0
        self._sound = False
        self._head, self._counters = Head(0, self._start, 0), Counters()
        self._marker = _marker(folder, self.path, self._start)
        try:
            self._db = connect(self.path)
        except BaseException:
            self._marker.close()
            raise
        try:
            self._open(task)
        except BaseException:
            self.close()
            raise

    @property
    def head(self) -> Head:
        """The last entry; seq 0 if there is none."""
        return self._head

    @property
    def counters(self) -> Counters:
        """Counts of the entries and lessons of the log."""
        return self._counters

    def find(self, ids: Iterable[str]) -> dict[str, Known]:
        """The states of ids; unknown ones are left out."""
        with sqlite_errors_as_ours(self.path):
            rows = list(self._db.executemany(FIND, ((id,) for id in ids)))
        try:
            return {row[0]: known_in(row[1:]) for row in rows}
        except (IndexError, TypeError, ValueError) as error:
            raise LogDamagedError("the state of an id cannot be read", repr(error), "restore a backup") from error

    def commit(self, commit: Commit) -> Head:
        """The new head, once the entries are durable."""
        chained = self._head.chain
        for entry in commit.entries:
            chained = chain(chained, entry)
        self._sound = False  # until it is durable, or known to be undone
        with sqlite_errors_as_ours(self.path):
            self._transact(commit, chained)
        last = commit.entries[-1]
        self._marker.write(last.seq, chained)
        self._head, self._counters, self._sound = Head(last.seq, chained, last.at), commit.counters, True
        return self._head

    def read(self, after: int, limit: int) -> list[Entry]:
        """The entries after a position, as many as there are up to a limit, checked against the chain."""
        return [entry for entry, _ in self._chained(after, after + limit) if after < entry.seq <= after + limit]

    def entries(self, seqs: Sequence[int]) -> list[Entry]:
        """Single entries, in the given order."""
        with sqlite_errors_as_ours(self.path):
            found = [Entry(*row) for row in self._db.executemany(ENTRY, ((seq,) for seq in seqs))]
        if len(found) < len(seqs):
            raise self._missing(next(seq for seq in seqs if all(seq != entry.seq for entry in found)))
        return found

    def chain_at(self, seq: int) -> bytes:
        """The hash of the log up to an entry."""
        with sqlite_errors_as_ours(self.path):
            kept = self._db.execute(BOUND, (seq,)).get or (0, self._start)
        if kept[0] == seq:
            return bytes(kept[1])
        for entry, chained in self._chained(seq, seq):
            if entry.seq == seq:
                return chained
        raise self._missing(seq)

    def due(self, kind: EntryKind, before: int, limit: int) -> list[str]:
        """Ids predicted before a time that still lack their proxy or outcome, oldest first."""
        with sqlite_errors_as_ours(self.path):
            awaited = self._db.execute(DUE[kind], (limit,))
            return [id for id, _ in takewhile(lambda row: row[1] < before, awaited)]

    def tidy(self) -> None:
        """Move the write-ahead log into the file, if it is long."""
        if self._pages >= PAGES:
            self._move()

    def close(self) -> None:
        """Close the log; a sound one is left in one file."""
        try:
            if self._sound:
                with suppress(StoreInUseError):  # by a query of our own that was not finished
                    self._move(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            self._marker.close()
            self._db.close(True)

    def rows(self, query: str) -> Iterator[Any]:
        """The rows that a query finds; for verification."""
        with sqlite_errors_as_ours(self.path):
            yield from self._db.execute(query)

    def _open(self, task: bytes) -> None:
        with sqlite_errors_as_ours(self.path):
            self._db.set_wal_hook(self._count_pages)
            empty = self._db.execute("SELECT count(*) FROM sqlite_schema").get == 0
            # By now the write-ahead log has its name. SQLite would sync that with the first commit, and not tell if it
            # could not.
            self._sync_names()
            if empty:
                self._create(task)
            about, counters = self._db.execute(ABOUT).get, self._db.execute(COUNTERS).get
            last = self._db.execute(LAST).get
        if about is None or counters is None or None in (*about, *counters):
            wrong = "the log has lost the record of its format and task"
            raise LogDamagedError(wrong, str(self.path), "restore the folder from a backup")
        _check_task(self.path.parent, about, task)
        self._head = Head(*last) if last else self._head
        self._counters = counters_in(counters)
        self._check()
        # After a process was killed, some of the log may be in memory only: make it durable, then mark it, before any
        # of it is acknowledged.
        self._move()
        self._marker.write(self._head.seq, self._head.chain)
        self._sound = True

    def _create(self, task: bytes) -> None:
        self._db.execute(f"BEGIN IMMEDIATE; {TABLES}")
        self._db.execute("INSERT INTO about VALUES (?, ?)", (FORMAT, task))
        self._db.execute(START, row_of(Counters()))
        self._db.execute("COMMIT")
        self._sync_names()

    def _sync_names(self) -> None:
        try:
            sync_folder(self.path.parent)
        except OSError as error:
            wrong = f"the folder could not be synced ({error.strerror})"
            raise StoreFailedError(wrong, str(self.path.parent), "check the disk and restart") from error

    def _check(self) -> None:
        """Raise LogDamagedError unless the log is as long as its marker, its end is whole, and its counters add up."""
        marked = self._marker.marked
        if self._head.seq < marked.seq:
            raise self._missing(self._head.seq + 1)
        for _ in self._chained(max(0, self._head.seq - CHECKED), self._head.seq):
            pass
        if self.chain_at(marked.seq) != marked.chain:
            raise self._altered(marked.seq)
        if self._counters.entries != self._head.seq:
            wrong = f"the bins add up to {self._counters.entries} entries"
            raise LogDamagedError(wrong, self._head.seq, "restore the folder from a backup")

    def _chained(self, after: int, upto: int) -> Iterator[tuple[Entry, bytes]]:
        """The entries around those after a position, each with its hash; checked where a hash is kept."""
        with sqlite_errors_as_ours(self.path):
            seq, chained = self._db.execute(BOUND, (after,)).get or (0, self._start)
            waiting = []
            for *row, kept in self._db.execute(AFTER, (seq,)):
                entry = Entry(*row)
                if entry.seq != seq + 1:
                    raise self._missing(seq + 1)
                if None in row:
                    raise self._altered(seq + 1)
                seq, chained = entry.seq, chain(chained, entry)
                waiting.append((entry, chained))
                if kept is None:
                    continue
                if kept != chained:
                    raise self._altered(waiting[0][0].seq)
                yield from waiting
                waiting = []
                if seq >= upto:
                    return
            if waiting:
                raise self._altered(waiting[0][0].seq)

    def _transact(self, commit: Commit, chained: bytes) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._write(commit, chained)
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._sound = isinstance(error, apsw.FullError) or not isinstance(error, apsw.Error)
            raise

    def _write(self, commit: Commit, chained: bytes) -> None:
        seq, last = self._head.seq, len(commit.entries) - 1
        self._db.executemany(
            APPEND, ((*entry, chained if n == last else None) for n, entry in enumerate(commit.entries))
        )
        new = [(id, known) for id, known in commit.known.items() if known.first > seq]
        self._db.executemany(NAME, ((id, known.first) for id, known in new))
        self._db.executemany(ADD, (known for _, known in new))
        old = (known for known in commit.known.values() if known.first <= seq)
        self._db.executemany(CHANGE, ((*known[1:], known.first) for known in old))
        self._db.execute(COUNT, row_of(commit.counters))

    def _move(self, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> None:
        """Move the write-ahead log into the file; both are synced."""
        sound, self._sound = self._sound, False
        try:
            with sqlite_errors_as_ours(self.path):
                self._db.wal_checkpoint(mode=mode)
            self._pages = 0
        except StoreFullError:
            pass  # the commits stay in the write-ahead log, and are moved when there is space
        self._sound = sound

    def _count_pages(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def _missing(self, seq: int) -> LogDamagedError:
        wrong = f"entry {seq} of the log is missing; the log had {self._marker.marked.seq} entries"
        return LogDamagedError(wrong, str(self.path), "restore the folder from a backup")

    def _altered(self, seq: int) -> LogDamagedError:
        wrong = f"entry {seq} of the log, or one soon after it, was altered"
        return LogDamagedError(wrong, str(self.path), "restore the folder from a backup")


def _marker(folder: Path, path: Path, start: bytes) -> HeadMarker:
    """The marker of the folder; created only if there is no log either."""
    try:
        if not (folder / head.NAME).exists():
            if path.exists():
                remedy = "restore the folder from a backup"
                raise LogDamagedError("the head marker is missing", str(folder / head.NAME), remedy)
            make_folder(folder, private=True)
            sync_folder(folder.parent)  # for a folder made by another program
            head.start_marker(folder, start)
        marker = HeadMarker(folder)
    except OSError as error:
        remedy = f"choose another folder, or make it writable ({error.strerror})"
        raise OutputError("the log cannot be opened or created in this folder", str(folder), remedy) from error
    if marker.marked.seq and not (path.exists() and path.stat().st_size):  # SQLite would begin a new file
        marker.close()
        wrong = f"entry 1 of the log is missing; the log had {marker.marked.seq} entries"
        raise LogDamagedError(wrong, str(path), "restore the folder from a backup")
    return marker


def _check_task(folder: Path, about: Any, task: bytes) -> None:
    if about[0] != FORMAT:
        raise OtherTaskError("the log has another format", about[0], "use the version of Presage that wrote it")
    if about[1] != task:
        raise OtherTaskError("the folder holds the log of another task", str(folder), "use another folder")
