"""The log in SQLite: its tables, and rows as entries and state."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import apsw

from presage.errors import (
    LogDamagedError,
    OtherFormatError,
    OtherTaskError,
    OutputError,
    StoreFailedError,
    StoreFullError,
    StoreInUseError,
)
from presage.files import make_folder, sync_folder
from presage.joining.counters import Counters
from presage.joining.entries import FORMAT, OLDEST_FORMAT, VERSIONS, Entry, EntryKind
from presage.joining.hash_chain import CHAIN, SEED, chain_start, is_sealed, seal
from presage.joining.join import Known
from presage.journal import head_marker as head
from presage.journal.connection import connect, sqlite_errors_as_ours
from presage.journal.head_marker import EPOCH, HeadMarker, read_epoch, write_epoch
from presage.journal.interface import Commit, Head
from presage.journal.tables import (
    ABOUT,
    ADD,
    ADD_KIND,
    CHANGE,
    COUNTERS,
    DERIVED,
    DUE,
    FIND,
    KINDS,
    NAME,
    NOTE_PLACES,
    NOTES,
    STATEMENTS,
    Statements,
    counters_in,
    known_in,
)

FILE = "log.sqlite"

CHECKED = 1000
"""How many of the last entries are checked against the chain on opening; `verify` checks all."""

Draw = Callable[[int], bytes]
"""So many random bytes."""

NEWER = "use a newer version of Presage; `presage log verify --chain-only` checks the log as it is"

PAGES, MOST_PAGES = 4000, 64_000
"""How many pages the write-ahead log may hold before they are moved into the file, and while the log is copied."""


class SqliteLog:
    """The log of a task in a folder; missing ones are created."""

    def __init__(
        self,
        folder: Path,
        task: bytes,
        *,
        format: int = FORMAT,
        draw: Draw = os.urandom,
        only_chain: bool = False,
        synced: bool = True,
    ) -> None:
        """Open a log, or create one of a format; with `only_chain` it may have entries of kinds that are not known.

        Without `synced` it is durable only once it is closed: for a log that is written as a whole.
        """
        self.path, self.format, self._task = folder / FILE, format, task
        self._draw, self._only_chain, self._synced = draw, only_chain, synced
        self._start = chain_start(task, format)
        self._places: dict[Path, tuple[int, int] | None] = {}
        self._notes: list[int] = []  # positions of the notes
        self._kinds: set[tuple[int, int]] = set()  # kinds in the log, each with its version
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
            self._open()
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
            raise _unreadable(error) from error

    def commit(self, commit: Commit) -> Head:
        """The new head, once the entries are durable."""
        sealed = seal(self.format, self._head.chain, commit.entries, self._draw(SEED))
        self._sound = False  # until it is durable, or known to be undone
        with sqlite_errors_as_ours(self.path):
            self._transact(commit, sealed)
        last, chained = commit.entries[-1], sealed[:CHAIN]
        if self._synced:
            self._marker.write(last.seq, chained)
        self._head, self._counters, self._sound = Head(last.seq, chained, last.at), commit.counters, True
        return self._head

    def read(self, after: int, limit: int) -> list[Entry]:
        """The entries after a position, as many as there are up to a limit, checked against the chain."""
        commits = self.commits(after, after + limit)
        return [entry for entries, _ in commits for entry in entries if after < entry.seq <= after + limit]

    def entries(self, seqs: Sequence[int]) -> list[Entry]:
        """Single entries, in the given order."""
        with sqlite_errors_as_ours(self.path):
            found = [Entry(*row) for row in self._db.executemany(self._sql.entry, ((seq,) for seq in seqs))]
        if len(found) < len(seqs):
            raise self._missing(next(seq for seq in seqs if all(seq != entry.seq for entry in found)))
        return found

    def notes(self, kind: EntryKind) -> list[Entry]:
        """The notes of a kind, in order; a log of format 1 has none."""
        if self.format == OLDEST_FORMAT:
            return []
        with sqlite_errors_as_ours(self.path):
            return [Entry(*row) for row in self._db.execute(NOTES, (kind,))]

    def notes_before(self, seq: int) -> int:
        """How many notes of any kind lie before a position."""
        return bisect_left(self._notes, seq)

    def chain_at(self, seq: int) -> bytes | None:
        """The hash of the log up to an entry that ended a commit; None for any other position."""
        bound, chained = self._bound(seq)
        return chained if bound == seq else None

    def due(self, kind: EntryKind, before: int, limit: int) -> list[str]:
        """Ids predicted before a time that still lack their proxy or outcome, oldest first."""
        with sqlite_errors_as_ours(self.path):
            awaited = self._db.execute(DUE[kind], (limit,))
            return [id for id, _ in takewhile(lambda row: row[1] < before, awaited)]

    def tidy(self) -> None:
        """Move the write-ahead log into the file, if it is long; while the log is copied, only if it is very long."""
        if self._pages >= PAGES:
            with self._marker.alone() as alone:
                if alone or self._pages >= MOST_PAGES:
                    self._move()
                    write_epoch(self.path.parent, self._head.seq, self._head.chain)

    def check_files(self) -> None:
        """Raise StoreFailedError if a file of the log was deleted or replaced since it was opened."""
        for path, place in self._places.items():
            if _place(path) != place:
                wrong = "the log was deleted or replaced while it was in use"
                raise StoreFailedError(wrong, str(path), "put the folder back, or restore a backup, and restart")

    def close(self) -> None:
        """Close the log; a sound one is left in one file."""
        try:
            if self._sound:
                with suppress(StoreInUseError):  # by a query of our own that was not finished
                    self._move(apsw.SQLITE_CHECKPOINT_TRUNCATE)
                if not self._synced:
                    self._sync()
                write_epoch(self.path.parent, self._head.seq, self._head.chain)
        finally:
            self._marker.close()
            self._db.close(True)

    def rows(self, query: str) -> Iterator[Any]:
        """The rows that a query finds; for verification."""
        with sqlite_errors_as_ours(self.path):
            yield from self._db.execute(query)

    def commits(self, after: int, upto: int) -> Iterator[tuple[list[Entry], bytes]]:
        """Whole commits from the one with the entry after a position on, each with the hash of the log at its end.

        Raise LogDamagedError for entries that are missing or do not follow from those before them.
        """
        seq, chained = self._bound(after)
        for entries, _, after_them in self._sealed(self._sql.after, (seq,), seq, chained):
            yield entries, after_them
            if entries[-1].seq >= upto:
                return

    def commits_with_states(self) -> Iterator[tuple[list[Entry], list[Known | None]]]:
        """All commits, each entry with the state of its id; None where there is no id or no state."""
        for entries, rows, _ in self._sealed(self._sql.states, (), 0, self._start):
            try:
                yield entries, [known_in(row) if row[0] is not None else None for row in rows]
            except (IndexError, TypeError, ValueError) as error:
                raise _unreadable(error) from error

    def _sealed(
        self, query: str, values: tuple[int, ...], seq: int, chained: bytes
    ) -> Iterator[tuple[list[Entry], list[tuple[Any, ...]], bytes]]:
        """The commits after a position that a query finds, what it finds beside each entry, and the hash at the end."""
        with sqlite_errors_as_ours(self.path):
            entries: list[Entry] = []
            beside: list[tuple[Any, ...]] = []
            for row in self._db.execute(query, values):
                seq += 1
                if row[0] != seq:
                    raise self._missing(seq)
                entry, sealed = Entry._make(row[:7]), row[7]
                if None in entry:
                    raise self._altered(seq)
                entries.append(entry)
                beside.append(row[8:])
                if sealed is None:
                    continue
                if not is_sealed(self.format, chained, entries, sealed):
                    raise self._altered(entries[0].seq)
                chained = sealed[:CHAIN]
                yield entries, beside, chained
                entries, beside = [], []
            if entries:
                raise self._altered(entries[0].seq)

    def _bound(self, seq: int) -> tuple[int, bytes]:
        """The last position up to one at which a commit ended, and the hash of the log there."""
        with sqlite_errors_as_ours(self.path):
            bound, sealed = self._db.execute(self._sql.bound, (seq,)).get or (0, self._start)
        return bound, bytes(sealed[:CHAIN])

    @property
    def _sql(self) -> Statements:
        return STATEMENTS[self.format]

    def _open(self) -> None:
        with sqlite_errors_as_ours(self.path):
            self._db.set_wal_hook(self._count_pages)
            empty = self._db.execute("SELECT count(*) FROM sqlite_schema").get == 0
            # By now the write-ahead log has its name. SQLite would sync that with the first commit, and not tell if it
            # could not.
            self._sync_names()
            if empty:
                self._create()
            about, counters = self._db.execute(ABOUT).get, self._db.execute(COUNTERS).get
        if about is None or counters is None or None in (*about, *counters):
            wrong = "the log has lost the record of its format and task"
            raise LogDamagedError(wrong, str(self.path), "restore the folder from a backup")
        self._take_up(about)
        self._counters = counters_in(counters)
        self._check()
        # After a process was killed, some of the log may be in memory only: make it durable, then mark it, before any
        # of it is acknowledged.
        self._move()
        self._marker.write(self._head.seq, self._head.chain)
        write_epoch(self.path.parent, self._head.seq, self._head.chain)
        self._places = {path: _place(path) for path in self._files()}
        if not self._synced:
            with sqlite_errors_as_ours(self.path):
                self._db.execute("PRAGMA synchronous = OFF")
        self._sound = True

    def _take_up(self, about: Any) -> None:
        """Take up the format, the kinds and the head of the log; raise an error for what this version does not know."""
        self.format, digest, *derived = about
        if self.format not in STATEMENTS:
            raise OtherFormatError("the log has a format that this version does not know", self.format, NEWER)
        if digest != self._task:
            raise OtherTaskError(
                "the folder holds the log of another task", str(self.path.parent), "use another folder"
            )
        self._start = chain_start(self._task, self.format)
        with sqlite_errors_as_ours(self.path):
            last = self._db.execute(self._sql.last).get
            kinds = list(self._db.execute(KINDS)) if derived else []
            self._notes = [seq for (seq,) in self._db.execute(NOTE_PLACES)] if derived else []
        self._head = Head(last[0], bytes((last[1] or b"")[:CHAIN]), last[2]) if last else Head(0, self._start, 0)
        self._kinds = {(kind, version) for kind, version, _ in kinds}
        unknown = next((each for each in kinds if not 0 < each[1] <= VERSIONS.get(each[0], 0)), None)
        if unknown and not self._only_chain:
            wrong = "the log has entries of a kind that this version does not know"
            raise OtherFormatError(wrong, "kind {}, version {}, since entry {}".format(*unknown), NEWER)
        if derived and derived[0] != DERIVED and not self._only_chain:
            raise OtherFormatError("the log has tables that this version does not know", derived[0], NEWER)

    def _create(self) -> None:
        self._db.execute(f"BEGIN IMMEDIATE; {self._sql.create}")
        self._db.execute(self._sql.begin, (self.format, self._task))
        self._db.execute(self._sql.start, self._sql.counted(Counters()))
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
        for _ in self.commits(max(0, self._head.seq - CHECKED), self._head.seq):
            pass
        found = (
            [self.chain_at(marked.seq)] if marked.seq else [chain_start(self._task, format) for format in STATEMENTS]
        )
        if marked.chain not in found:
            raise self._altered(marked.seq)
        epoch = read_epoch(self.path.parent)
        if epoch and epoch.seq and (self._head.seq < epoch.seq or self.chain_at(epoch.seq) != epoch.chain):
            wrong = f"the log is not the one that this folder had when it ended at entry {epoch.seq}"
            remedy = f"put the newer log back; to go on from this one, delete {EPOCH} in the folder"
            raise LogDamagedError(wrong, f"{self._head.seq} entries", remedy)
        if self._counters.entries != self._head.seq:
            wrong = f"the bins add up to {self._counters.entries} entries"
            raise LogDamagedError(wrong, self._head.seq, "restore the folder from a backup")

    def _transact(self, commit: Commit, sealed: bytes) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._write(commit, sealed)
            self._db.execute("COMMIT")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._sound = isinstance(error, apsw.FullError) or not isinstance(error, apsw.Error)
            raise
        self._kinds.update((entry.kind, entry.version) for entry in commit.entries)
        if commit.counters.notes > self._counters.notes:
            self._notes += [entry.seq for entry in commit.entries if entry.kind > EntryKind.LEARN]

    def _write(self, commit: Commit, sealed: bytes) -> None:
        seq = self._head.seq
        self._db.executemany(self._sql.append, self._sql.rows(commit.entries, sealed))
        for kind in {(entry.kind, entry.version) for entry in commit.entries if entry.version} - self._kinds:
            first = next(entry.seq for entry in commit.entries if (entry.kind, entry.version) == kind)
            self._db.execute(ADD_KIND, (*kind, first))
        new = [(id, known) for id, known in commit.known.items() if known.first > seq]
        self._db.executemany(NAME, ((id, known.first) for id, known in new))
        self._db.executemany(ADD, (known for _, known in new))
        old = (known for known in commit.known.values() if known.first <= seq)
        self._db.executemany(CHANGE, ((*known[1:], known.first) for known in old))
        self._db.execute(self._sql.count, self._sql.counted(commit.counters))

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

    def _files(self) -> tuple[Path, ...]:
        return self.path, self.path.with_name(f"{FILE}-wal"), self._marker.path

    def _sync(self) -> None:
        """Make all that was written without syncing durable, and mark it."""
        try:
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
        except OSError as error:
            wrong = f"the log could not be synced ({error.strerror})"
            raise StoreFailedError(wrong, str(self.path), "check the disk and restart") from error
        self._marker.write(self._head.seq, self._head.chain)

    def _count_pages(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def _missing(self, seq: int) -> LogDamagedError:
        wrong = f"entry {seq} of the log is missing; the log had {self._marker.marked.seq} entries"
        return LogDamagedError(wrong, str(self.path), "restore the folder from a backup")

    def _altered(self, seq: int) -> LogDamagedError:
        wrong = f"entry {seq} of the log, or one soon after it, was altered"
        return LogDamagedError(wrong, str(self.path), "restore the folder from a backup")


def _place(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one at the same path; None if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


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


def _unreadable(error: Exception) -> LogDamagedError:
    return LogDamagedError("the state of an id cannot be read", repr(error), "restore a backup")
