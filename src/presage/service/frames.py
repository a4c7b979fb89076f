"""Messages between processes: MessagePack in frames of known length, nothing that could run code."""

import struct
from typing import IO, Any

import msgspec

LENGTH = struct.Struct("<I")


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    body = msgspec.msgpack.encode(message)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message, or None at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return msgspec.msgpack.decode(body) if len(body) == length else None
