"""The log on disk: what comes back from it, and what it refuses to open."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import apsw.sqlite_extra
import pytest
from hypothesis import settings
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from presage.errors import LogDamagedError, OtherTaskError, OutputError, StoreFailedError, StoreInUseError
from presage.joining.entries import EntryKind, LogEvent
from presage.joining.hash_chain import SEED, chain_start, seal
from presage.joining.join import Horizons
from presage.journal import connection
from presage.journal.appender import Appender
from presage.journal.interface import LogStore
from presage.journal.sqlite import FILE, SqliteLog
from presage.journal.verify import verify_log
from tests.faults.counts import COUNTS
from tests.journal.events import TASK, CountingTable, outcome, prediction, proxy
from tests.journal.machine import JoinMachine
from tests.journal.memory import MemoryLog

HORIZONS = Horizons(proxy=10, outcome=100, absent_proxy=0, absent_outcome=0)


def appended(store: LogStore, *groups: list[LogEvent]) -> CountingTable:
    table = CountingTable()
    appender = Appender(store, HORIZONS, lambda: 1, table.feed)
    for group in groups:
        appender.append(group)
    return table


def groups(count: int = 20) -> list[list[LogEvent]]:
    """Groups of different sizes, of which the first names ids that the last ones settle."""
    ids = [f"id {number}" for number in range(count)]
    return [
        [prediction(id, at=place + 1) for place, id in enumerate(ids)],
        [proxy("early", 2)],
        *[[proxy(id, 1), outcome(id, 0)] for id in ids[:7]],
        [prediction("early"), *(outcome(id, 1) for id in ids[7:])],
    ]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteLog]:
    log = SqliteLog(tmp_path, TASK)
    yield log
    log.close()


@pytest.mark.parametrize("format", [1, 2])
def test_the_log_on_disk_is_the_log_in_memory(tmp_path: Path, format: int) -> None:
    """Every question to both is answered alike, before and after opening it again."""
    memory, log = MemoryLog(TASK, format), SqliteLog(tmp_path, TASK, format=format, draw=bytes)
    lessons = [appended(store, *groups()).lessons for store in (memory, log)]
    assert lessons[0] == lessons[1]
    for again in (False, True):
        if again:
            log.close()
            log = SqliteLog(tmp_path, TASK)
        assert log.format == format
        assert (log.head, log.counters) == (memory.head, memory.counters)
        ids = [*memory.known, "nobody"]
        assert log.find(ids) == memory.find(ids)
        for after in range(memory.head.seq + 2):
            for limit in (1, 7, 1000):
                assert log.read(after, limit) == memory.read(after, limit)
        assert {seq: log.chain_at(seq) for seq in range(memory.head.seq + 1)} == {
            seq: memory.chains.get(seq) for seq in range(memory.head.seq + 1)
        }
        assert log.entries([5, 1, 5]) == memory.entries([5, 1, 5])
        for kind in (EntryKind.PROXY, EntryKind.OUTCOME):
            for before in (0, 5, 12, 1000):
                for limit in (1, 3, 1000):
                    assert log.due(kind, before, limit) == memory.due(kind, before, limit)
    log.close()


@pytest.mark.parametrize("format", [1, 2])
def test_the_chain_binds_every_field_of_every_entry(tmp_path: Path, format: int) -> None:
    log = SqliteLog(tmp_path, TASK, format=format)
    appended(log, *groups())
    read = log.read(0, 10)
    log.close()
    before, seed = b"\0" * 32, b"seed" * 4
    for place, entry in enumerate(read):
        others = [
            entry._replace(seq=entry.seq + 1),
            entry._replace(at=entry.at + 1),
            entry._replace(kind=entry.kind % 6 + 1),
            entry._replace(id=entry.id + "a"),
            entry._replace(id=entry.id[:-1], body=entry.id[-1:].encode() + entry.body),
            entry._replace(body=entry.body + b"\0"),
        ]
        if format == 2:
            others += [
                entry._replace(version=2),
                entry._replace(envelope=entry.envelope + b"\0"),
                entry._replace(envelope=b"", id=entry.envelope.decode("latin-1") + entry.id),
            ]
        for other in others:
            if other != entry:
                assert seal(format, before, [entry], seed) != seal(format, before, [other], seed)
                altered = [*read[:place], other, *read[place + 1 :]]  # the place of all but the first follows from it
                assert other.seq != entry.seq or seal(format, before, read, seed) != seal(format, before, altered, seed)
    assert len({chain_start(task, format) for task in (b"one task", b"another") for format in (1, 2)}) == 4
    assert seal(2, before, read, seed) != seal(2, before, read, bytes(SEED))


def test_a_folder_is_for_one_process(tmp_path: Path, log: SqliteLog) -> None:
    with pytest.raises(StoreInUseError, match="another process"):
        SqliteLog(tmp_path, TASK)


def test_a_folder_is_for_one_task(tmp_path: Path) -> None:
    SqliteLog(tmp_path, TASK).close()
    with pytest.raises(OtherTaskError, match="another task"):
        SqliteLog(tmp_path, b"another")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="the log cannot be opened or created in this folder"):
        SqliteLog(tmp_path / "file" / "log", TASK)


def test_a_log_that_stopped_in_order_is_one_file_and_its_marker(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path, TASK)
    appended(log, *groups())
    head = log.head
    log.close()
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (FILE, "head"):
        shutil.copy(tmp_path / name, copy)
    log = SqliteLog(copy, TASK)
    assert log.head == head
    log.close()


def test_every_commit_is_synced_and_every_page_checked(log: SqliteLog) -> None:
    pragmas = {name: log._db.execute(f"PRAGMA {name}").get for name in ("journal_mode", "synchronous", "locking_mode")}
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "locking_mode": "exclusive"}
    assert log._db.execute("PRAGMA checksum_verification").get == "1"
    assert not list(log.path.parent.glob("*-shm"))


def test_an_sqlite_that_could_damage_its_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    connection._page_checks.cache_clear()
    with pytest.raises(StoreFailedError, match=r"too old: found '3\.51\.2'"):
        SqliteLog(tmp_path, TASK)


def test_an_sqlite_that_cannot_check_its_pages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw.sqlite_extra, "has", lambda name: None)
    connection._page_checks.cache_clear()
    with pytest.raises(StoreFailedError, match="cannot check pages"):
        SqliteLog(tmp_path, TASK)


def test_a_file_cannot_make_us_run_what_it_says(tmp_path: Path) -> None:
    """A trigger planted in the file would forge a counter whenever an entry is appended; it does nothing."""
    SqliteLog(tmp_path, TASK).close()
    planted = apsw.Connection(str(tmp_path / FILE), vfs="cksmvfs")
    planted.execute("CREATE TRIGGER forge AFTER INSERT ON log BEGIN UPDATE known SET proxy = 7; END")
    planted.close()
    log = SqliteLog(tmp_path, TASK)
    appended(log, [prediction("a")])
    assert log.find(["a"])["a"].proxy == -1
    log.close()


def test_the_store_imports_neither_jax_nor_numpy() -> None:
    script = (
        "import sys; import presage.journal.writer, presage.journal.sqlite, presage.journal.verify;"
        "sys.exit(bool({'jax', 'numpy', 'pickle'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


class DurableJoinMachine(JoinMachine):
    """The same on disk, where the log may also be closed and opened at any time."""

    folder: Path

    def open(self) -> LogStore:
        shutil.rmtree(self.folder, ignore_errors=True)
        return SqliteLog(self.folder, TASK)

    def compare(self) -> None:
        super().compare()
        assert isinstance(self.store, SqliteLog)
        verify_log(self.store, self.horizons)

    @precondition(lambda self: not self.group)
    @rule()
    def open_again(self) -> None:
        model_position, refused = self.appender.model_position, self.appender.refused
        self.store.close()
        self.store = SqliteLog(self.folder, TASK)
        self.appender = Appender(self.store, self.horizons, lambda: self.now, self.table.feed)
        self.appender.model_position, self.appender.refused = model_position, refused


@pytest.mark.long
def test_any_course_of_events_is_kept_as_the_reference_says(tmp_path: Path) -> None:
    memory = Path("/dev/shm")  # where there is one: power cuts are tried elsewhere
    with TemporaryDirectory(dir=memory if memory.exists() else tmp_path) as folder:
        DurableJoinMachine.folder = Path(folder) / "log"
        steps = settings(max_examples=COUNTS.examples, stateful_step_count=COUNTS.steps, deadline=None)
        run_state_machine_as_test(DurableJoinMachine, settings=steps)


def test_a_log_whose_end_is_gone_is_refused_by_the_entry_that_is_missing(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path, TASK)
    appended(log, *groups()[:2])
    kept, length = tmp_path / "kept", log.head.seq
    log.close()
    shutil.copy(tmp_path / FILE, kept)
    log = SqliteLog(tmp_path, TASK)
    appended(log, *groups()[2:])
    log.close()
    kept.replace(tmp_path / FILE)
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(LogDamagedError, match=f"entry {length + 1} of the log is missing"):
        SqliteLog(tmp_path, TASK)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize("gone", ["head", FILE])
def test_a_log_without_its_marker_or_its_file_is_refused(tmp_path: Path, gone: str) -> None:
    log = SqliteLog(tmp_path, TASK)
    appended(log, *groups())
    log.close()
    (tmp_path / gone).unlink()
    with pytest.raises(LogDamagedError, match="missing"):
        SqliteLog(tmp_path, TASK)
    assert not (tmp_path / gone).exists()


def test_a_log_of_which_an_older_part_was_rewritten_is_refused_by_reading_it(tmp_path: Path) -> None:
    """Somebody who knows SQLite changes an old value, checksums of pages and all; the chain tells."""
    log = SqliteLog(tmp_path, TASK)
    appended(log, *groups())
    log.close()
    forger = apsw.Connection(str(tmp_path / FILE), vfs="cksmvfs")
    forger.execute("UPDATE log SET body = x'9100' WHERE seq = (SELECT min(seq) FROM log WHERE body = x'9101')")
    forger.close()
    with pytest.raises(LogDamagedError, match="was altered"):
        SqliteLog(tmp_path, TASK)


@pytest.mark.parametrize(
    "damage", ["UPDATE known SET proxy_bin = 99", "ALTER TABLE known ADD COLUMN more INTEGER NOT NULL DEFAULT 0"]
)
def test_what_cannot_be_known_of_an_id_is_refused(log: SqliteLog, damage: str) -> None:
    appended(log, [prediction("a")])
    log._db.execute(damage)
    with pytest.raises(LogDamagedError, match="the state of an id cannot be read"):
        log.find(["a"])
