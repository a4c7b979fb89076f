"""The server process: its sockets, its signals and its exit code."""

import contextlib
import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import cast

import uvicorn
from starlette.applications import Starlette

from presage.errors import SettingError
from presage.service.http.access import check_reach
from presage.service.http.admission import Admission
from presage.service.http.deadlines import PunctualProtocol
from presage.service.limits import Limits

STOPPED, FAILED, INTERRUPTED = 0, 3, 130
"""Exit codes: stopped (SIGTERM), the store or the learner failed, interrupted (SIGINT)."""

BACKLOG = 2048
EVERY = 5
"""Deadlines are checked in each fifth turn of the server's loop, twice a second."""


REQUESTS = 0.3
"""The part of the grace that requests get to finish; the rest is for the log and the learner."""


class Grace:
    """The time from the first signal to stop to the end of the process, which this ends if it is still there then.

    Whatever is unfinished by then, what was answered is in the log: it is as after a kill, without damage.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._timer: threading.Timer | None = None

    def __enter__(self) -> "Grace":
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()

    def begin(self, code: int) -> None:
        """Let the time run, at the end of which the process ends with this code; only the first call counts."""
        if self._timer is None:
            self._timer = threading.Timer(self.seconds, self._end, [code])
            self._timer.daemon = True
            self._timer.start()

    def _end(self, code: int) -> None:
        line = f"Stopped after {self.seconds:g} seconds (--grace) with work unfinished: the next start takes longer\n"
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(line)
            sys.stderr.flush()
        os._exit(code)


class Server(uvicorn.Server):
    """A server that closes late connections, and exits with a code instead of a signal."""

    def __init__(self, app: Starlette, config: uvicorn.Config, grace: Grace | None = None) -> None:
        super().__init__(config)
        self.app, self.ended, self.grace = app, STOPPED, grace

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop; called ten times a second."""
        if counter % EVERY == 0:
            self.check_deadlines(time.monotonic())
        if self.app.state.failed():
            self.ended, self.should_exit = FAILED, True
            self._begin_grace(FAILED)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the dashboard streams, which have no end of their own, then all other connections."""
        self.app.state.stopping = True
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop."""
        self._begin_grace(INTERRUPTED if sig == signal.SIGINT else STOPPED)
        super().handle_exit(sig, frame)

    def _begin_grace(self, code: int) -> None:
        if self.grace:
            self.grace.begin(code)

    def check_deadlines(self, now: float) -> None:
        """Close overdue connections."""
        for connection in list(self.server_state.connections):
            cast(PunctualProtocol, connection).check(now)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal. uvicorn's own handler would raise the same signal again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
        if signal.SIGINT in self._captured_signals and self.ended == STOPPED:
            self.ended = INTERRUPTED


def create_server(app: Starlette, limits: Limits, proxies: Iterable[str] = (), grace: Grace | None = None) -> Server:
    """A server for an application, with its deadlines and limits; those per address do not bind these proxies."""
    own = {"limits": limits, "admission": Admission(limits, proxies)}
    protocol = type("Protocol", (PunctualProtocol,), own)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=[("x-content-type-options", "nosniff"), ("cache-control", "no-store")],
        backlog=BACKLOG,
        timeout_keep_alive=3600,  # the protocol's own deadline comes first
        timeout_graceful_shutdown=max(1, int(REQUESTS * limits.grace)),
    )
    return Server(app, config, grace)


def bind(host: str, port: int, token: str | None) -> list[socket.socket]:
    """Sockets bound to a host, not yet listening. Without a token, every address must be a loopback address."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise SettingError("the host is unknown", host, "give --host 127.0.0.1, or a name of this machine") from error
    addresses = list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))
    check_reach((address for _, address in addresses), token)
    made: list[socket.socket] = []
    for family, address in addresses:
        try:
            made.append(_bound(family, address, port))
        except OSError as error:
            if made and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                continue  # a name may have an address of a family that this machine lacks
            where = f"{address}:{port}"
            raise SettingError(f"the address cannot be used ({error.strerror})", where, "choose another") from error
        port = int(made[0].getsockname()[1])  # port 0 means any, but the same one for all
    return made


def _bound(family: int, address: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    return made


def listen(sockets: list[socket.socket]) -> list[str]:
    """The addresses that accept connections from now on; requests are served once the server runs."""
    found = []
    for made in sockets:
        made.listen(BACKLOG)
        address, port = made.getsockname()[:2]
        found.append(f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}")
    return found


def serve(
    app: Starlette,
    limits: Limits,
    sockets: list[socket.socket],
    proxies: Iterable[str] = (),
    grace: Grace | None = None,
) -> int:
    """The exit code of a server, once it has stopped; a signal to stop starts the time of the grace."""
    server = create_server(app, limits, proxies, grace)
    gc.collect()
    gc.freeze()  # imported modules stay: a collector that visits them would delay requests
    gc.set_threshold(10_000, 20, 20)  # a bulk makes thousands of objects, none of them in cycles
    try:
        server.run(sockets)
    finally:
        gc.unfreeze()  # or libraries in C report at exit what was never collected as their leaks
    return server.ended
