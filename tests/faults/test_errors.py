"""Disks that err or are full: nothing acknowledged is lost, and only a full one is gone on with."""

import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from presage.errors import StoreFullError
from presage.joining.join import Decision
from presage.journal.appender import EventResult
from presage.journal.sqlite import SqliteLog
from presage.journal.writer import Writer
from tests.faults.checker import violations
from tests.faults.counts import COUNTS
from tests.faults.ledger import Asked, Reply
from tests.faults.power import cannot, disk
from tests.faults.processes import module
from tests.faults.script import HORIZONS, asked, play
from tests.faults.tracing import failing_at, points, syncs_of_names
from tests.journal.events import TASK, prediction

Record = Callable[[str, object], None]
ERRORS = ("EIO", "ENOSPC")
EACH = 50
"""Events in a request."""


@pytest.mark.long
@pytest.mark.usefixtures("strace")
def test_an_error_of_any_write_or_sync_loses_nothing_acknowledged(quick_folder: Path, record_property: Record) -> None:
    """A failure ends the service; where the disk was full it went on; both are told from success by the exit code."""
    ends: Counter[tuple[str, str, str]] = Counter()
    overlooked = syncs_of_names(quick_folder / "named")
    assert overlooked
    for number, point in enumerate(points(quick_folder / "counted", COUNTS.errors)):
        for error in ERRORS:
            folder = quick_folder / f"{number} {error}"
            done = failing_at(point, error, module("tests.faults.script", folder))
            requests = asked(done.stdout)
            assert violations(folder, requests, HORIZONS) == [], (point, error)
            end = done.stderr.strip().splitlines()[-1].split(":")[0] if done.returncode else "went on"
            assert end.split(".")[-1] in ("went on", "StoreFailedError", "StoreFullError", "OutputError"), done.stderr
            if error == "EIO" and point[0] in ("fdatasync", "fsync") and point not in overlooked:
                assert done.returncode, f"{point} failed, and it went on"
            ends[point[0], error, end.split(".")[-1]] += 1
            for _ in play(folder):  # what is left is a log that can be gone on with
                pass
            shutil.rmtree(folder)
    record_property("errors of system calls", dict(ends))


@contextmanager
def small_disk(kind: str, place: Path) -> Iterator[Path]:
    """A disk that is soon full."""
    if os.geteuid():
        pytest.skip("a small disk needs root")
    if kind == "ext4":
        if why := cannot(kind):
            pytest.skip(why)
        with disk(kind, place) as made:
            yield made.folder
        return
    folder = place / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


class Filling:
    """A writer on a disk that gets full, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.requests = folder, list[Asked]()
        self.writer = Writer(SqliteLog(folder, TASK), HORIZONS, lambda: 1, lambda *_: None)

    def ask(self, name: str) -> list[EventResult]:
        events = [prediction(f"{name} {place}") for place in range(EACH)]
        try:
            answers = self.writer.submit(events).result(60)
        except StoreFullError:
            self.requests.append(Asked(events, "refused", []))
            raise
        replies = [Reply(each.decision.value, each.seq, each.bin) for each in answers]
        self.requests.append(Asked(events, "ok", replies))
        return answers

    def fill(self) -> int:
        """How many requests were answered before the disk was full."""
        for number in range(100_000):
            try:
                self.ask(str(number))
            except StoreFullError:
                return number
        raise AssertionError("the disk was never full")

    def ask_until_there_is_room(self, name: str) -> list[EventResult]:
        """A file system may need a moment to give back what was freed."""
        for _ in range(200):
            with suppress(StoreFullError):
                return self.ask(name)
            time.sleep(0.05)
        return self.ask(name)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["tmpfs", "ext4"])
def test_a_full_disk_refuses_and_goes_on_by_itself_when_there_is_room(
    kind: str, tmp_path: Path, record_property: Record
) -> None:
    with small_disk(kind, tmp_path) as place:
        ballast = place / "ballast"
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(place).free - (1 << 20))
        filling = Filling(place / "log")
        try:
            last = filling.fill()
            head = filling.writer.head
            with pytest.raises(StoreFullError):
                filling.ask(str(last))
            assert filling.writer.head == head, "something was appended"
            ballast.unlink()
            answers = filling.ask_until_there_is_room(str(last))
            assert {each.decision for each in answers} == {Decision.ACCEPTED}, "a refused event was there already"
        finally:
            filling.writer.close()
        assert filling.writer.failed is None
        assert violations(filling.folder, filling.requests, HORIZONS) == []
    record_property(f"full disk ({kind})", f"full after {EACH * last} events; 0 lost; went on when there was room")
