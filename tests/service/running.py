"""A server on a real socket, in a thread of the tests, and raw connections to it."""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from presage.service.http.access import Access
from presage.service.http.app import create_app
from presage.service.http.server import Server, bind, create_server, listen
from presage.service.limits import Limits
from tests.service.fake import FakeService, books

PATIENCE = 60.0
"""Seconds after which a test gives up waiting for what should have happened."""


class Running(NamedTuple):
    """A server that runs, and the service behind it."""

    server: Server
    service: FakeService
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """A connection to it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as made:
            yield made


@contextmanager
def running(
    limits: Limits | None = None,
    access: Access | None = None,
    service: FakeService | None = None,
    proxies: Iterable[str] = (),
) -> Iterator[Running]:
    """A server with a service in memory, until the end of the block."""
    service = service or FakeService(books())
    limits = limits or Limits()
    server = create_server(create_app(service, books(), limits, access), limits, proxies)
    sockets = bind("127.0.0.1", 0, None)
    listen(sockets)
    port = int(sockets[0].getsockname()[1])
    thread = threading.Thread(target=server.run, args=(sockets,))
    thread.start()
    try:
        until(lambda: server.started)
        yield Running(server, service, port)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def read_all(made: socket.socket) -> bytes:
    """Everything that comes until the server closes the connection."""
    found = b""
    try:
        while chunk := made.recv(65536):
            found += chunk
    except ConnectionResetError:
        pass
    return found


def posted(path: str, body: bytes, media: str = "application/json", length: int | None = None) -> bytes:
    """A request as it goes over the wire."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n"
    return f"{head}Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body
