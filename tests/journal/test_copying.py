"""Copies of a log that is being written: whole, and with everything acknowledged before."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from presage.errors import DataError, StoreInUseError
from presage.joining.join import Horizons
from presage.journal import copying, sqlite
from presage.journal.copying import copy_log
from presage.journal.sqlite import FILE, SqliteLog
from presage.journal.verify import verify_log
from presage.journal.writer import Writer
from tests.journal.events import TASK, CountingTable, outcome, prediction, proxy

HORIZONS = Horizons(proxy=10**6, outcome=10**6, absent_proxy=0, absent_outcome=0)
COPIES = 12


@contextmanager
def written(folder: Path, acknowledged: list[int]) -> Iterator[Writer]:
    """A writer whose events never pause until the end of the block."""
    writer, stopping = Writer(SqliteLog(folder, TASK), HORIZONS, lambda: 1, CountingTable().feed), threading.Event()

    def send() -> None:
        number = 0
        while not stopping.is_set():
            id, number = f"event {number}", number + 1
            answers = writer.submit([prediction(id), proxy(id), outcome(id)]).result()
            acknowledged.append(answers[-1].seq)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        while len(acknowledged) < 100:
            assert thread.is_alive()
        yield writer
    finally:
        stopping.set()
        thread.join()
        writer.close()


def test_a_copy_of_a_log_that_is_written_is_whole_and_has_all_that_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PAGES", 20)  # so that the write-ahead log is moved and begun again all the time
    acknowledged: list[int] = []
    heads = []
    with written(tmp_path / "log", acknowledged):
        for turn in range(COPIES):
            target, before = tmp_path / f"copy {turn}", acknowledged[-1]
            target.mkdir()
            copy_log(tmp_path / "log", target)
            copy = SqliteLog(target, TASK)
            assert verify_log(copy, HORIZONS).head.seq >= before
            heads.append(copy.head)
            copy.close()
    source = SqliteLog(tmp_path / "log", TASK)
    assert [source.chain_at(head.seq) for head in heads] == [head.chain for head in heads], "the very same history"
    assert heads[0].seq < heads[-1].seq < source.head.seq
    source.close()


def test_while_a_log_is_copied_it_is_not_moved_unless_it_grows_without_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PAGES", 1)
    log = SqliteLog(tmp_path, TASK)
    moved: list[int] = []
    monkeypatch.setattr(log, "_move", lambda *_: moved.append(1))
    log._pages = 5
    with copying._held(tmp_path):
        log.tidy()
        assert moved == []
        log._pages = sqlite.MOST_PAGES
        log.tidy()
        assert moved == [1]
    log._pages = 5
    log.tidy()
    assert moved == [1, 1]
    monkeypatch.undo()
    log.close()


def test_a_copy_during_which_the_log_was_moved_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that starts, stops or cannot wait moves all the same."""
    folder, target = tmp_path / "log", tmp_path / "copy"
    times: list[Path] = []
    log = SqliteLog(folder, TASK)
    writer = Writer(log, HORIZONS, lambda: 1, CountingTable().feed)
    writer.submit([prediction("a")]).result()
    copy = copying._copy

    def moved_meanwhile(path: Path, *rest: object) -> None:
        copy(path, *rest)  # type: ignore[arg-type]
        if path.name == FILE and len(times) < 3:
            times.append(path)
            writer.submit([prediction(f"b{len(times)}")]).result()
            writer.ask(lambda _: log._move()).result()
            os.utime(folder / FILE, ns=(1, len(times)))  # whatever the clock of the file system can tell apart

    monkeypatch.setattr(copying, "_copy", moved_meanwhile)
    target.mkdir()
    copy_log(folder, target)
    assert len(times) == 3
    again = SqliteLog(target, TASK)
    assert again.head == writer.head
    again.close()
    monkeypatch.setattr(copying, "TRIES", 0)
    with pytest.raises(StoreInUseError, match="the log changed too often while it was copied"):
        copy_log(folder, target)
    writer.close()


def test_a_write_ahead_log_that_was_begun_again_meanwhile_is_noticed(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path, TASK)
    writer = Writer(log, HORIZONS, lambda: 1, CountingTable().feed)
    writer.submit([prediction("a")]).result()
    writer.ask(lambda _: log._move()).result()
    before = copying._standing(tmp_path)
    writer.submit([prediction("b")]).result()
    assert copying._standing(tmp_path) != before
    before = copying._standing(tmp_path)
    writer.submit([prediction("c")]).result()
    assert copying._standing(tmp_path) == before, "a commit is added at the end"
    writer.close()


def test_a_folder_without_a_log_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no log"):
        copy_log(tmp_path, tmp_path)
