"""Load on a server over HTTP: requests written beforehand, sent as fast as they are answered or at a steady pace."""

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, cast

import numpy as np
import uvloop


class Measured(NamedTuple):
    """Answers per second, and how long they took, in milliseconds."""

    rate: float
    p50: float
    p99: float


class Pace(NamedTuple):
    """Requests that are sent beside, over a connection of their own: one every so many seconds."""

    requests: Iterator[bytes]
    every: float


def load(port: int, requests: list[bytes], connections: int, beside: Pace | None = None) -> Measured:
    """How a server answered these requests, sent over some connections, each as soon as the one before is answered."""
    left, times = deque(requests), list[float]()

    async def go() -> float:
        loop = asyncio.get_running_loop()
        other = asyncio.ensure_future(_keep_pace(port, beside)) if beside else None
        ends = [loop.create_future() for _ in range(connections)]
        started = time.perf_counter()
        for end in ends:
            await loop.create_connection(partial(_Sender, left, times, end), "127.0.0.1", port)
        await asyncio.gather(*ends)
        took = time.perf_counter() - started
        if other:
            other.cancel()
            await asyncio.wait([other])
            if not other.cancelled():
                other.result()
        return took

    took = uvloop.run(go())
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1000
    return Measured(len(requests) / took, float(p50), float(p99))


def post(path: str, media: str, body: bytes) -> bytes:
    """A request as it goes over the wire."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class _Sender(asyncio.Protocol):
    def __init__(self, left: deque[bytes], times: list[float], end: "asyncio.Future[None]") -> None:
        self.left, self.times, self.end = left, times, end
        self.read, self.sent = b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self.read += data
        head, found, body = self.read.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        assert head.startswith(b"HTTP/1.1 200 "), self.read
        self.times.append(time.perf_counter() - self.sent)
        self.read = b""
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.end.done():
            self.end.set_exception(exc or ConnectionError("the server hung up"))

    def _send(self) -> None:
        if self.left:
            self.sent = time.perf_counter()
            self.transport.write(self.left.popleft())
        else:
            self.end.set_result(None)
            self.transport.close()


async def _keep_pace(port: int, pace: Pace) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    due = time.perf_counter()
    try:
        for request in pace.requests:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head))
            assert head.startswith(b"HTTP/1.1 200 "), head + body
            due += pace.every
            await asyncio.sleep(due - time.perf_counter())
    finally:
        writer.close()


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
