"""The head marker: either of its slots may be spoilt, but not both."""

import os
import shutil
from pathlib import Path

import pytest

from presage.errors import LogDamagedError, StoreFailedError
from presage.joining.join import Horizons
from presage.journal.appender import Appender
from presage.journal.head_marker import HeadMarker, Marked, start_marker
from presage.journal.sqlite import SqliteLog
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


def test_closing_twice_closes_once(tmp_path: Path) -> None:
    start_marker(tmp_path, bytes(32))
    marker = HeadMarker(tmp_path)
    marker.close()
    with (tmp_path / "other").open("wb") as other:  # which gets the number of the file that was closed
        marker.close()
        other.write(b"kept")
        other.flush()
    assert (tmp_path / "other").read_bytes() == b"kept"
