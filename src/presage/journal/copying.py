"""A copy of a log as it is at one instant, taken while a service may be writing it.

A log is changed in two places only: commits go to the end of the write-ahead log, and now and then that is moved into
the file. A copier holds a lock on the head marker, for which the writer delays the move: so the file stands still, and
a write-ahead log copied after it holds every commit that was acknowledged before. A writer that starts, stops or cannot
wait longer moves all the same: the copier notices that afterwards, and copies again.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from presage.errors import DataError, StoreInUseError
from presage.journal import head_marker
from presage.journal.sqlite import FILE

WAL = f"{FILE}-wal"
TRIES = 10
"""How often a copy is begun again because the log was moved meanwhile."""

CHUNK = 1 << 20
_WAL_HEADER = 32


class _Standing(NamedTuple):
    """What changes when the write-ahead log is moved into the file, or begun from its start again."""

    file: tuple[int, int, int]
    header: bytes


def bytes_of(folder: Path) -> int:
    """How many bytes a copy of the log has, about."""
    return sum((folder / name).stat().st_size for name in (FILE, WAL) if (folder / name).exists())


def copy_log(folder: Path, target: Path, progress: Callable[[int], None] = lambda _: None) -> None:
    """Copy the log of a folder into another one; it holds everything acknowledged before the call.

    `progress` is called with the number of further bytes copied.
    """
    if not (folder / FILE).exists() or not (folder / head_marker.NAME).exists():
        raise DataError("there is no log in the data folder", str(folder), "give the folder that `presage serve` made")
    for _ in range(TRIES):
        with _held(folder):
            before = _standing(folder)
            for name in (head_marker.NAME, FILE, WAL):  # the marker first: the log may be longer than it, never shorter
                _copy(folder / name, target / name, progress)
            if _standing(folder) == before:
                return
    raise StoreInUseError("the log changed too often while it was copied", str(folder), "try again")


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold off the writer's moves; waits for one that is going on."""
    marker = os.open(folder / head_marker.NAME, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(marker, fcntl.LOCK_SH)
        yield
    finally:
        os.close(marker)


def _standing(folder: Path) -> _Standing:
    stat = (folder / FILE).stat()
    try:
        with (folder / WAL).open("rb") as file:
            header = file.read(_WAL_HEADER)
    except FileNotFoundError:
        header = b""
    return _Standing((stat.st_ino, stat.st_size, stat.st_mtime_ns), header)


def _copy(path: Path, target: Path, progress: Callable[[int], None]) -> None:
    """Copy a file durably, for this user alone; nothing is left of the target where there is no file."""
    target.unlink(missing_ok=True)
    try:
        source = path.open("rb")
    except FileNotFoundError:
        if path.name == WAL:
            return
        raise
    with source, open(target, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        while chunk := source.read(CHUNK):
            out.write(chunk)
            progress(len(chunk))
        out.flush()
        os.fsync(out.fileno())
