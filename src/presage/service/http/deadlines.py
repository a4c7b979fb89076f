"""Deadlines of connections: uvicorn's protocol with a limit on every wait for a client, and on what it may send ahead.

It uses members of uvicorn that are not public; the upper bound on its version in pyproject.toml is for that.
"""

import asyncio
import time
from typing import cast

import msgspec
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from presage.service.http.admission import HEALTH, Admission
from presage.service.http.problems import BUSY, HEADERS, MALFORMED_HTTP, MEDIA_TYPE, SLOW, ProblemKind, RefusalError
from presage.service.limits import Limits

AHEAD = 8
"""Requests that may wait behind the one that is being answered before nothing more is parsed."""

PIECE = 1024
"""Bytes that are parsed at once outside of a body of known length; no piece has more than some 50 requests."""

LINGER = 1.0
"""Seconds for which a refused client may go on sending, so that it gets to read the answer; and that a connection
which may ask about the health only may wait."""


class JoinedWrites:
    """A transport that sends the head and the body of an answer in one piece, which halves the system calls."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.transport, self.loop = transport, loop
        self.kept: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Hold `data` until the answer is complete, or this turn of the loop ends."""
        if not self.kept:
            self.loop.call_soon(self.flush)
        self.kept.append(data)

    def flush(self) -> None:
        """Send what is held."""
        if self.kept and not self.transport.is_closing():
            self.transport.write(b"".join(self.kept))
        self.kept.clear()

    def close(self) -> None:
        """Send what is held, then close."""
        self.flush()
        self.transport.close()

    def is_closing(self) -> bool:
        """Whether the transport is closing."""
        return self.transport.is_closing()


class HeldFlow(FlowControl):
    """Flow control that reads no more while what was read is not parsed, whatever uvicorn says."""

    held = False

    def resume_reading(self) -> None:
        """Read again, unless what was read is not parsed yet."""
        if not self.held:
            super().resume_reading()

    def hold(self, held: bool) -> None:
        """Stop reading, or go on."""
        if held != self.held:
            self.held = held
            (self.pause_reading if held else self.resume_reading)()


class PunctualProtocol(HttpToolsProtocol):
    """One connection, closed if the client is too slow.

    It waits for a request, from its start or from the last answer until the whole request is there; and for the client
    to read, while unread data piles up. What a client sends ahead is read once, and parsed as its turn comes: uvicorn
    would parse all of it, and read as much again after each answer.
    """

    limits: Limits
    admission: Admission
    admitted = False  # whether it is one of the connections that may make any request
    waiting: float | None = None  # since when; None while it is the service's turn
    unread: float | None = None  # since when what was written piles up
    arriving = False  # whether a request has begun to arrive
    heading = True  # whether a head is due, or arriving
    ended = False  # whether a request ended in what was just read
    head = 0  # bytes of complete headers and trailers of this request
    headless = 0  # bytes read without the end of a head
    body = 0  # bytes that are due of a body of known length
    refused = False  # whether whatever else comes is thrown away
    answering: RequestResponseCycle | None = None  # the request whose turn it is

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait; a connection beyond the limits may ask about the service's health only."""
        super().connection_made(cast(asyncio.Transport, transport))
        self.flow = self.held_flow = HeldFlow(self.transport)
        self.joined, self.unparsed = JoinedWrites(self.transport, self.loop), bytearray()
        self.waiting = time.monotonic()
        self.address = self.client[0] if self.client else ""
        if not self._admit():
            self.admission.keep_spare(self)

    def cut(self) -> None:
        """Close the connection at once."""
        self._hang_up()
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the request that is being answered; uvicorn itself stops only the last of several."""
        if self.admitted:
            self.admission.leave(self.address)
        self.admission.spare.pop(self, None)
        self._hang_up()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless enough requests wait already."""
        self.unparsed += data
        self._parse()

    def _parse(self) -> None:
        """Parse what was read, piece by piece, until enough requests wait; read no more before all is parsed."""
        while self.unparsed and len(self.pipeline) < AHEAD:
            if self.refused or self.transport.is_closing():
                self.unparsed.clear()
                break
            size = self.body or PIECE
            piece = bytes(self.unparsed[:size])
            del self.unparsed[:size]
            self._parse_piece(piece)
        if not self.transport.is_closing():
            self.held_flow.hold(bool(self.unparsed))

    def _parse_piece(self, data: bytes) -> None:
        """Parse on; refuse a head that does not end."""
        self.ended = False
        super().data_received(data)
        if self.heading and not self.ended and not self.refused:
            self.headless += len(data)
            if self.headless > self.limits.header_bytes:
                self._refuse_head()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self.arriving, self.heading, self.head, self.headless = True, True, 0, 0
        if self._idle:
            self.waiting = time.monotonic()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer after the body."""
        super().on_header(name, value)
        self.head += len(name) + len(value)
        if self.head > self.limits.header_bytes:
            self._refuse_head()
            raise ValueError("the headers are too large")

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self.heading = False
        if not self._admit() and self.url.partition(b"?")[0] not in HEALTH:
            self._refuse(BUSY, "too many connections", "send the same again shortly, over fewer connections")
            raise ValueError("too many connections")
        self.body = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
        super().on_headers_complete()
        self.cycle.keep_alive = self.cycle.keep_alive and self.admitted

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        self.body = max(0, self.body - len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete: it is the service's turn."""
        super().on_message_complete()
        self.body = 0
        self.arriving, self.heading, self.ended, self.headless = False, True, True, 0
        self.waiting = time.monotonic() if self._idle else None

    def on_response_complete(self) -> None:
        """The answer is sent: the client's turn, unless its next request is there already."""
        self.joined.flush()
        super().on_response_complete()
        self._parse()
        self.waiting = time.monotonic() if self._idle or self.cycle.more_body else None

    def pause_writing(self) -> None:
        """Unread data piles up."""
        super().pause_writing()
        self.unread = time.monotonic()

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self.unread = None

    def check(self, now: float) -> None:
        """Close the connection if it is overdue; abort it if it does not close."""
        most = self.limits.request_seconds if self.arriving else self.limits.idle_seconds
        hurried = self.refused or not self.admitted
        late = self.waiting is not None and now - self.waiting > (min(LINGER, most) if hurried else most)
        unread = self.unread is not None and now - self.unread > self.limits.request_seconds
        if unread or (late and (self.refused or self.transport.is_closing())):
            self.cut()
        elif late and self.arriving:
            most = self.limits.request_seconds
            self._refuse(SLOW, "the request did not arrive in time", f"send it within {most:g} seconds")
        elif late:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP and close the connection."""
        if not self.refused:
            self._refuse(MALFORMED_HTTP, msg, "use HTTP/1.1")

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.answering = cycle
        cycle.transport = cast(asyncio.Transport, self.joined)
        super()._start_asgi_task(cycle, app)

    def _admit(self) -> bool:
        """Whether the connection may make any request; one that was spare may once there is room."""
        if not self.admitted and self.admission.admit(self.address):
            self.admitted = True
            self.admission.spare.pop(self, None)
        return self.admitted

    def _hang_up(self) -> None:
        if self.answering is not None and not self.answering.response_complete:
            self.answering.disconnected = True
            self.answering.message_event.set()

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _refuse_head(self) -> None:
        self._refuse(HEADERS, "the headers are too large", f"send at most {self.limits.header_bytes} bytes of headers")

    def _refuse(self, kind: ProblemKind, what: str, remedy: str) -> None:
        """Answer with a problem and read no more; but let an unfinished answer go out instead.

        The client would take a problem for the answer to that earlier request, which may well be in the log.
        """
        self.refused = True
        earlier = self.answering
        if earlier is not None and not earlier.response_complete and not earlier.more_body:
            earlier.keep_alive = False
            return
        self.waiting = time.monotonic()
        if earlier is None or earlier.response_complete or not earlier.response_started:
            body = msgspec.json.encode(RefusalError(kind, what, remedy).problem())
            retry = f"retry-after: {self.limits.retry_seconds}\r\n" if kind is BUSY else ""
            head = f"content-type: {MEDIA_TYPE}\r\n{retry}content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[kind.status] + head.encode() + body)
        self._hang_up()
        # To close while the client still sends would make its system throw the answer away.
        self.transport.write_eof()
