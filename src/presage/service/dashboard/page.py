"""The addresses of the dashboard: the page, its files, and the stream of frames it draws."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files

from starlette.datastructures import State
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route

from presage.service.http.problems import BUSY, RefusalError
from presage.service.interface import Service

TYPES = {".css": "text/css", ".js": "text/javascript"}
PARTS = ("style.css", "draw.js", "panels.js", "live.js")
"""The files of the page; they hold no data, and need no token."""


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"content-security-policy": POLICY, "referrer-policy": "no-referrer"}

EVERY = 1.0
"""Seconds between two frames."""

QUIET = 5
"""Turns without a new frame before a comment keeps the stream alive."""

VIEWERS = 50
"""Streams at once."""


def dashboard_routes(service: Service, state: State) -> list[BaseRoute]:
    """The page at the root and what belongs to it; streams end when `state.stopping` is set."""
    stream = FrameStream(service, state)
    parts = [Route(f"/{name}", _part(name)) for name in PARTS]
    return [Route("/", _part("page.html")), Mount("/dashboard", routes=[*parts, Route("/stream", stream.answer)])]


class FrameStream:
    """Frames as server-sent events."""

    def __init__(self, service: Service, state: State) -> None:
        self.viewers = 0
        self._service, self._state = service, state

    async def answer(self, _: Request) -> Response:
        """GET /dashboard/stream."""
        if self.viewers >= VIEWERS:
            refusal = RefusalError(BUSY, "too many open dashboards", "close another one", "request", self.viewers)
            refusal.headers = {"retry-after": "10"}
            raise refusal
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(self.frames(), media_type="text/event-stream", headers=headers)

    async def frames(self) -> AsyncIterator[bytes]:
        """Events, about one a second; a comment if nothing has changed for some time."""
        self.viewers += 1
        try:
            yield b"retry: 2000\n\n"
            await self._freshen()
            sent, quiet = -1, 0
            while not self._state.stopping:
                number, frame = self._service.watched()
                if number != sent:
                    sent, quiet = number, 0
                    yield b"id: %d\ndata: %b\n\n" % (number, frame)
                elif (quiet := quiet + 1) % QUIET == 0:
                    yield b": still there\n\n"
                await asyncio.sleep(EVERY)
        finally:
            self.viewers -= 1

    async def _freshen(self) -> None:
        """Wait a little for a new frame: the last one may be old."""
        number, _ = self._service.watched()
        for _ in range(20):
            if self._state.stopping or self._service.watched()[0] != number:
                return
            await asyncio.sleep(EVERY / 20)


def _part(name: str) -> Callable[[Request], Awaitable[Response]]:
    """The handler that serves one of the files."""
    content = files(__package__).joinpath(name).read_bytes()
    media = TYPES.get(name[name.rfind(".") :], "text/html")

    async def answer(_: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=media)

    return answer
