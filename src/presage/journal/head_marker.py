"""Two small files beside the log with its length: the head marker, and the epoch file.

The head marker is written after every commit and before its acknowledgement.

A log that lost its end looks whole; the marker shows the loss. Two slots are written in turn, so that an interrupted
write leaves the other.

The epoch file is written now and then, and never copied: where log and marker were replaced by older ones, it shows.
"""

import errno
import fcntl
import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from presage.errors import LogDamagedError, StoreFailedError
from presage.files import write_file

NAME, EPOCH = "head", "epoch"

_SLOT = struct.Struct("<8sQ32s16s")
_MAGIC = b"presage1"


class Marked(NamedTuple):
    """A position that was durable, and the hash of the log up to it."""

    seq: int
    chain: bytes


class HeadMarker:
    """The marker of an existing folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        slots = [_marked(os.pread(self._file, _SLOT.size, place * _SLOT.size)) for place in (0, 1)]
        valid = [slot for slot in slots if slot]
        if not valid:
            os.close(self._file)
            raise LogDamagedError("the head marker cannot be read", str(self.path), "restore the folder from a backup")
        self.marked = max(valid)
        """The position that was written last."""
        self._next = 1 - slots.index(self.marked)

    def write(self, seq: int, chain: bytes) -> None:
        """Make a position durable."""
        try:
            os.pwrite(self._file, _slot(seq, chain), self._next * _SLOT.size)
            os.fdatasync(self._file)
        except OSError as error:
            wrong = f"the head marker could not be written ({error.strerror})"
            raise StoreFailedError(wrong, str(self.path), "check the disk and restart") from error
        self.marked = Marked(seq, chain)
        self._next = 1 - self._next

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether nothing copies the log, and nothing begins to until the end of the block."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            yield not isinstance(error, BlockingIOError)  # or a file system without locks: then nothing copies the log
            return
        try:
            yield True
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file; more than once does no harm."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def start_marker(folder: Path, chain: bytes) -> None:
    """Mark an empty log, in both slots, so that no later write makes the file grow."""
    write_file(folder / NAME, _slot(0, chain) * 2, private=True)


def write_epoch(folder: Path, seq: int, chain: bytes) -> None:
    """Note beside the log how far it has come; unlike the head marker this is no part of a backup."""
    try:
        write_file(folder / EPOCH, _slot(seq, chain), private=True)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return  # it is written again when there is space
        wrong = f"the epoch file could not be written ({error.strerror})"
        raise StoreFailedError(wrong, str(folder / EPOCH), "check the disk and restart") from error


def read_epoch(folder: Path) -> Marked | None:
    """How far the log of a folder had come when it was noted last; None if there is no note."""
    try:
        found = _marked((folder / EPOCH).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        wrong = f"the epoch file cannot be read ({error.strerror})"
        raise StoreFailedError(wrong, str(folder / EPOCH), "check the disk and restart") from error
    if found is None:
        raise LogDamagedError("the epoch file cannot be read", str(folder / EPOCH), "delete it, and verify the log")
    return found


def _slot(seq: int, chain: bytes) -> bytes:
    return _SLOT.pack(_MAGIC, seq, chain, _checksum(seq, chain))


def _marked(slot: bytes) -> Marked | None:
    if len(slot) < _SLOT.size:
        return None
    magic, seq, chain, checksum = _SLOT.unpack(slot)
    return Marked(seq, chain) if (magic, checksum) == (_MAGIC, _checksum(seq, chain)) else None


def _checksum(seq: int, chain: bytes) -> bytes:
    return hashlib.blake2b(seq.to_bytes(8, "little") + chain, digest_size=16, person=b"presage head").digest()
