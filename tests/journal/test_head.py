"""The head marker: either of its slots may be spoilt, but not both."""

import os
import shutil
from pathlib import Path

import pytest

from presage.errors import LogDamagedError, StoreFailedError
from presage.joining.join import Horizons
from presage.journal.appender import Appender
from presage.journal.head_marker import HeadMarker, Marked, read_epoch, start_marker
from presage.journal.sqlite import FILE, SqliteLog
from tests.journal.events import TASK, prediction

START, ONE, TWO = b"s" * 32, b"1" * 32, b"2" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    start_marker(tmp_path, START)
    marker = HeadMarker(tmp_path)
    assert marker.marked == Marked(0, START)
    marker.write(1, ONE)
    marker.write(2, TWO)
    marker.close()
    return tmp_path / "head"


def read(path: Path) -> Marked:
    marker = HeadMarker(path.parent)
    marker.close()
    return marker.marked


def test_the_last_position_comes_back_and_the_file_never_grows(path: Path) -> None:
    assert read(path) == Marked(2, TWO)
    assert path.stat().st_size == 128


def test_a_write_cut_short_leaves_the_position_before_it(path: Path) -> None:
    content = path.read_bytes()
    newest = content.index(TWO) // 64
    for place in range(64):
        damaged = bytearray(content)
        damaged[64 * newest + place] ^= 1
        path.write_bytes(damaged)
        assert read(path) == Marked(1, ONE), place


def test_the_next_write_never_overwrites_the_newest_slot(path: Path) -> None:
    for seq in range(3, 9):
        before = read(path)
        marker = HeadMarker(path.parent)
        marker.write(seq, ONE)
        marker.close()
        content = path.read_bytes()
        assert before.chain in content
        assert read(path) == Marked(seq, ONE)


def test_a_marker_without_a_readable_slot_is_refused(path: Path) -> None:
    for content in (b"", bytes(128), path.read_bytes()[:63], bytes(64) + path.read_bytes()[:10]):
        path.write_bytes(content)
        with pytest.raises(LogDamagedError, match="cannot be read"):
            HeadMarker(path.parent)


def test_a_marker_that_cannot_be_synced_fails_the_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    marker = HeadMarker(path.parent)
    monkeypatch.setattr(os, "fdatasync", fail)
    with pytest.raises(StoreFailedError, match="Input/output error"):
        marker.write(3, ONE)
    marker.close()


def test_a_log_as_long_as_its_marker_says_but_with_another_history_is_refused(tmp_path: Path) -> None:
    for x, name in enumerate(("ours", "other")):
        log = SqliteLog(tmp_path / name, TASK)
        Appender(log, Horizons(10, 100), lambda: 1, lambda *_: None).append([prediction("one", x)])
        log.close()
    shutil.copy(tmp_path / "other" / "head", tmp_path / "ours" / "head")
    with pytest.raises(LogDamagedError, match="entry 1 of the log, or one soon after it, was altered"):
        SqliteLog(tmp_path / "ours", TASK)
    SqliteLog(tmp_path / "other", TASK).close()


def test_a_log_that_is_older_than_its_folder_is_refused_until_that_is_accepted(tmp_path: Path) -> None:
    """An old backup, put where a newer history was: log and marker agree, the epoch file does not."""
    folder, old = tmp_path / "log", tmp_path / "old"
    for number in range(3):
        log = SqliteLog(folder, TASK)
        Appender(log, Horizons(10, 100), lambda: 1, lambda *_: None).append([prediction(f"{number}")])
        log.close()
        if number == 0:
            shutil.copytree(folder, old)
    for name in (FILE, "head"):
        shutil.copy(old / name, folder / name)
    with pytest.raises(LogDamagedError, match=r"ended at entry 3: found '1 entries'; .* delete epoch in the folder"):
        SqliteLog(folder, TASK)
    (folder / "epoch").unlink()
    log = SqliteLog(folder, TASK)
    assert log.head.seq == 1
    log.close()


def test_another_history_of_the_same_length_is_refused_too(tmp_path: Path) -> None:
    for x, name in enumerate(("ours", "other")):
        log = SqliteLog(tmp_path / name, TASK)
        Appender(log, Horizons(10, 100), lambda: 1, lambda *_: None).append([prediction("one", x)])
        log.close()
    for name in (FILE, "head"):
        shutil.copy(tmp_path / "other" / name, tmp_path / "ours" / name)
    with pytest.raises(LogDamagedError, match="is not the one that this folder had"):
        SqliteLog(tmp_path / "ours", TASK)


def test_an_epoch_file_is_as_far_as_the_log_when_it_was_moved_or_closed(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path, TASK)
    appender = Appender(log, Horizons(10, 100), lambda: 1, lambda *_: None)
    assert read_epoch(tmp_path) == (0, log.head.chain)
    appender.append([prediction("a")])
    log.tidy()
    assert read_epoch(tmp_path) != (1, log.head.chain), "not at every commit"
    log._pages = 10**6
    log.tidy()
    assert read_epoch(tmp_path) == (1, log.head.chain)
    appender.append([prediction("b")])
    log.close()
    assert read_epoch(tmp_path) == (2, log.head.chain)


@pytest.mark.parametrize("content", [b"", b"0" * 64])
def test_an_epoch_file_that_cannot_be_read_is_told(tmp_path: Path, content: bytes) -> None:
    SqliteLog(tmp_path, TASK).close()
    (tmp_path / "epoch").write_bytes(content)
    with pytest.raises(LogDamagedError, match="the epoch file cannot be read"):
        SqliteLog(tmp_path, TASK)


@pytest.mark.parametrize("name", [FILE, f"{FILE}-wal", "head"])
@pytest.mark.parametrize("replaced", [True, False])
def test_a_log_that_is_deleted_or_replaced_while_it_is_used_is_noticed(
    name: str, tmp_path: Path, *, replaced: bool
) -> None:
    log = SqliteLog(tmp_path, TASK)
    appender = Appender(log, Horizons(10, 100), lambda: 1, lambda *_: None)
    appender.append([prediction("a")])
    log._pages = 10**6
    log.tidy()
    log.check_files()
    (tmp_path / name).rename(tmp_path / "away")
    if replaced:
        shutil.copy(tmp_path / "away", tmp_path / name)
    with pytest.raises(StoreFailedError, match="the log was deleted or replaced while it was in use"):
        log.check_files()
    (tmp_path / "away").replace(tmp_path / name)
    log.check_files()
    log.close()


def test_closing_twice_closes_once(tmp_path: Path) -> None:
    start_marker(tmp_path, bytes(32))
    marker = HeadMarker(tmp_path)
    marker.close()
    with (tmp_path / "other").open("wb") as other:  # which gets the number of the file that was closed
        marker.close()
        other.write(b"kept")
        other.flush()
    assert (tmp_path / "other").read_bytes() == b"kept"
