"""The server process: its sockets, its signals and its exit code."""

import contextlib
import errno
import gc
import logging
import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import cast

import uvicorn
from starlette.applications import Starlette

from presage.errors import SettingError
from presage.service.http.access import check_reach
from presage.service.http.deadlines import PunctualProtocol
from presage.service.limits import Limits

STOPPED, FAILED, INTERRUPTED = 0, 3, 130
"""Exit codes: stopped (SIGTERM), the store or the learner failed, interrupted (SIGINT)."""

BACKLOG = 2048
EVERY = 5
"""Deadlines are checked in each fifth turn of the server's loop, twice a second."""


class Server(uvicorn.Server):
    """A server that closes late connections, and exits with a code instead of a signal."""

    def __init__(self, app: Starlette, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.app, self.ended = app, STOPPED

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop; called ten times a second."""
        if counter % EVERY == 0:
            self.check_deadlines(time.monotonic())
        if self.app.state.failed():
            self.ended, self.should_exit = FAILED, True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the dashboard streams, which have no end of their own, then all other connections."""
        self.app.state.stopping = True
        await super().shutdown(sockets)

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


def create_server(app: Starlette, limits: Limits) -> Server:
    """A server for an application, with its deadlines."""
    protocol = type("Protocol", (PunctualProtocol,), {"limits": limits})
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
        timeout_graceful_shutdown=limits.shutdown_seconds,
    )
    return Server(app, config)


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


def serve(app: Starlette, limits: Limits, sockets: list[socket.socket]) -> int:
    """The exit code of a server, once it has stopped."""
    server = create_server(app, limits)
    gc.collect()
    gc.freeze()  # imported modules stay: a collector that visits them would delay requests
    gc.set_threshold(10_000, 20, 20)  # a bulk makes thousands of objects, none of them in cycles
    try:
        server.run(sockets)
    finally:
        gc.unfreeze()  # or libraries in C report at exit what was never collected as their leaks
    return server.ended
