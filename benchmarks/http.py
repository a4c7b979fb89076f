"""What HTTP costs: single posts and bulks to a service in memory, against endpoints that do nothing.

The servers run in processes of their own, and this one loads them. A bare FastAPI endpoint is measured, too, where
PRESAGE_FASTAPI_PYTHON names an interpreter that has FastAPI and uvicorn.
"""

import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.blocks import Tell, alternate, ratios, spread
from benchmarks.figures import HEADER, Figure, short
from benchmarks.load import Measured, load, post
from presage.service.http.app import create_app
from presage.service.http.server import bind, create_server, listen
from presage.service.limits import Limits
from tests.service.fake import FEATURES, FakeService, books

POSTS = 5_000
"""Posts of a block."""
CONNECTIONS = 16
BULK = 1_000
"""Lines of a bulk."""

FASTAPI = """
import sys, fastapi, uvicorn
app = fastapi.FastAPI()
@app.post("/v1/predictions")
async def nothing(): return {}
uvicorn.run(app, port=int(sys.argv[1]), access_log=False, log_level="error")
"""


def figures(tell: Tell) -> Iterator[Figure]:
    """The rate and the times of single posts, and the rate of a bulk."""
    with ExitStack() as stack:
        ports = {name: stack.enter_context(bare(name)) for name in _names()}
        posts = _posts()
        for connections in (CONNECTIONS, 1):
            yield from _single(ports, posts, connections, tell)
        yield from _bulks(ports["presage"], tell)


def main() -> None:
    """Print the figures."""
    print(HEADER)
    for figure in figures(lambda words: print(words, file=sys.stderr, flush=True)):
        print(figure.line(), flush=True)


def _single(ports: dict[str, int], posts: Iterator[bytes], connections: int, tell: Tell) -> Iterator[Figure]:
    kept: dict[str, list[Measured]] = {name: [] for name in ports}

    def block(name: str) -> Callable[[], float]:
        def measure() -> float:
            found = load(ports[name], list(itertools.islice(posts, POSTS)), connections)
            kept[name].append(found)
            return found.rate

        return measure

    about = f"http/post/{connections}"
    rates = alternate({name: block(name) for name in ports}, tell, about)
    for name in ports:
        if name == "presage":
            continue
        against = f"a bare {name} endpoint, {short(spread(rates[name]).median)} a second"
        yield Figure(
            f"{about}/{name}", spread(rates["presage"]), "posts/s", against, ratios(rates["presage"], rates[name])
        )
    for name, found in kept.items():
        yield Figure(f"{about}/p50/{name}", spread([each.p50 for each in found[1:]]), "ms")
        yield Figure(f"{about}/p99/{name}", spread([each.p99 for each in found[1:]]), "ms")


def _bulks(port: int, tell: Tell) -> Iterator[Figure]:
    numbers = itertools.count()

    def measure() -> float:
        bulks = [_bulk(numbers) for _ in range(20)]
        return load(port, bulks, 2).rate * BULK

    rates = alternate({"bulk": measure}, tell, "http/bulk")["bulk"]
    yield Figure("http/bulk", spread(rates), "events/s", f"bulks of {BULK} lines, half of them predictions")


def _posts() -> Iterator[bytes]:
    for number in itertools.count():
        body = json.dumps({"id": f"visit-{number}", "features": FEATURES}).encode()
        yield post("/v1/predictions", "application/json", body)


def _bulk(numbers: Iterator[int]) -> bytes:
    lines = []
    for number in itertools.islice(numbers, BULK // 2):
        lines.append(json.dumps({"kind": "prediction", "id": f"bulk-{number}", "features": FEATURES}))
        lines.append(json.dumps({"kind": "proxy", "id": f"bulk-{number}", "value": "some"}))
    return post("/v1/events", "application/x-ndjson", "\n".join(lines).encode())


def _names() -> list[str]:
    return ["presage", "starlette"] + (["fastapi"] if os.environ.get("PRESAGE_FASTAPI_PYTHON") else [])


@contextmanager
def bare(name: str) -> Iterator[int]:
    """The port of a server in a process of its own: presage in memory, or an endpoint that does nothing."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "benchmarks.http", name, str(port)]
    if name == "fastapi":
        command = [os.environ["PRESAGE_FASTAPI_PYTHON"], "-c", FASTAPI, str(port)]
    process = subprocess.Popen(command)
    try:
        _wait_for(port)
        yield port
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise TimeoutError(f"nobody listens on port {port}")


def _serve(name: str, port: int) -> None:
    if name == "presage":
        sockets = bind("127.0.0.1", port, None)
        listen(sockets)
        create_server(create_app(FakeService(books()), books()), Limits()).run(sockets)
        return

    async def nothing(_: Request) -> Response:
        return Response(b"{}", media_type="application/json")

    app = Starlette(routes=[Route("/v1/predictions", nothing, methods=["POST"])])
    uvicorn.run(app, port=port, access_log=False, log_level="error")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _serve(sys.argv[1], int(sys.argv[2]))
    else:
        main()
