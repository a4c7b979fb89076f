"""Messages between the service and the learner's process: MessagePack, each with its length before it."""

import os
import select
import struct
from collections.abc import Callable
from typing import IO, Any

import msgspec

LENGTH = struct.Struct("<I")
ROOM = 1 << 16
"""Bytes that are read from a pipe at once."""


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message, in one piece: a short one that two threads write at once stays whole in a pipe."""
    stream.write(_encoded(message))
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message, or None at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return msgspec.msgpack.decode(body) if len(body) == length else None


class MessageWriter:
    """Writes to a pipe whose reader may have stopped reading."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe, self._poll = pipe, select.poll()
        os.set_blocking(pipe.fileno(), False)
        self._poll.register(pipe, select.POLLOUT)

    def write(self, message: Any, ended: Callable[[], object], seconds: float) -> None:
        """Write one message, however long it takes; BrokenPipeError once `ended`, asked every so many seconds."""
        rest = memoryview(_encoded(message))
        while rest:
            if ended():
                raise BrokenPipeError
            if self._poll.poll(1000 * seconds):
                rest = rest[os.write(self._pipe.fileno(), rest) :]


class MessageReader:
    """Reads from a pipe whose writer may have stopped writing."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe, self._poll, self._held = pipe, select.poll(), bytearray()
        self._poll.register(pipe, select.POLLIN)

    def next(self, seconds: float) -> Any:
        """The next message, or None if nothing came for so long; EOFError at the end."""
        while (message := self._whole()) is None:
            if not self._poll.poll(1000 * seconds):
                return None
            part = os.read(self._pipe.fileno(), ROOM)
            if not part:
                raise EOFError
            self._held += part
        return message

    def _whole(self) -> Any:
        if len(self._held) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self._held)[0]
        if len(self._held) < end:
            return None
        message = msgspec.msgpack.decode(self._held[LENGTH.size : end])
        del self._held[:end]
        return message


def _encoded(message: Any) -> bytes:
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body
