"""Notes: entries about the log itself, which teach nothing and change nothing of what is learnt."""

from pathlib import Path

from presage.joining.entries import EntryKind, SnapshotNote, snapshot_in
from presage.joining.join import Horizons
from presage.journal.appender import Appender
from presage.journal.readers import read_lessons, read_observed
from presage.journal.sqlite import SqliteLog
from presage.journal.verify import verify_log
from tests.journal.events import TASK, CountingTable, outcome, prediction, proxy
from tests.journal.memory import MemoryLog

HORIZONS = Horizons(10, 100)
NOTE = SnapshotNote(2, b"s" * 32)


def written(store: MemoryLog | SqliteLog, *, notes: bool) -> CountingTable:
    """The lessons of a log of ten predictions, between which a note lies or not."""
    table = CountingTable()
    appender = Appender(store, HORIZONS, lambda: 1, table.feed)
    for number in range(10):
        appender.append([prediction(f"{number}", model=appender.model_position)])
        if notes:
            assert appender.note(EntryKind.SNAPSHOT, NOTE) == store.head.seq
        appender.append([proxy(f"{number}"), outcome(f"{number}")])
        appender.model_position = store.counters.learn
    return table


def test_notes_change_nothing_of_what_is_learnt(tmp_path: Path) -> None:
    log, without = SqliteLog(tmp_path, TASK), MemoryLog(TASK)
    tables = [written(store, notes=bool(notes)) for store, notes in ((without, 0), (log, 1))]
    assert tables[0].counts == tables[1].counts
    for one, other in zip(tables[0].lessons, tables[1].lessons, strict=True):
        assert (one.kind, one.symbols, one.z, one.y, one.predicted) == (
            other.kind,
            other.symbols,
            other.z,
            other.y,
            other.predicted,
        )
    read = [lesson for lessons, _ in read_lessons(log, HORIZONS) for lesson in lessons]
    assert read == tables[1].lessons
    assert log.counters.notes == 10
    assert log.counters == verify_log(log, HORIZONS).counters
    assert [snapshot_in(entry) for entry in log.notes(EntryKind.SNAPSHOT)] == [NOTE] * 10
    places = [entry.seq for entry in log.notes(EntryKind.SNAPSHOT)]
    log.close()
    log = SqliteLog(tmp_path, TASK)
    assert [log.notes_before(seq) for seq in range(1, log.head.seq + 2)] == [
        sum(place < seq for place in places) for seq in range(1, log.head.seq + 2)
    ]
    assert sum(len(page) for page in read_observed(log, 0)) == log.head.seq
    log.close()


def test_a_log_of_format_1_holds_no_notes(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path, TASK, format=1)
    appender = Appender(log, HORIZONS, lambda: 1, lambda *_: None)
    appender.append([prediction("a")])
    assert appender.note(EntryKind.SNAPSHOT, NOTE) == 0
    assert (log.head.seq, log.notes(EntryKind.SNAPSHOT)) == (1, [])
    log.close()
