"""What the dashboard is made of: who is given what, and a stream that ends when it should."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.datastructures import State

from presage.service.dashboard.page import PARTS, VIEWERS, FrameStream
from presage.service.http.access import Access
from presage.service.http.app import create_app
from presage.service.interface import FeedbackRequest
from tests.service.asking import Asking
from tests.service.fake import FakeService, books
from tests.service.running import PATIENCE, Running, running, until

ROOT = Path(__file__).parents[2]
TOKEN = "right-right-right"


@contextmanager
def streaming(server: Running) -> Iterator[Iterator[str]]:
    """The lines of a stream."""
    with (
        httpx.Client(base_url=server.url, trust_env=False, timeout=PATIENCE) as client,
        client.stream("GET", "/dashboard/stream") as stream,
    ):
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        yield stream.iter_lines()


def measured(server: Running) -> str:
    return httpx.get(f"{server.url}/metrics", trust_env=False, timeout=PATIENCE).text


def test_the_page_and_its_parts_are_for_all_and_what_it_shows_is_not() -> None:
    ask = Asking(create_app(FakeService(books()), books(), access=Access(TOKEN)))
    page = ask.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for part in PARTS:
        answer = ask.get(f"/dashboard/{part}")
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"] == page.headers["content-security-policy"]
    assert ask.get("/dashboard/stream").status_code == 401
    for path in ("/dashboard", "/dashboard/", "/dashboard/../app.py", "/dashboard/parts.py", "/dashboard/page.html"):
        assert ask.get(path).status_code in (401, 404)


def test_nothing_is_fetched_from_elsewhere_and_every_part_is_used() -> None:
    folder = ROOT / "src/presage/service/dashboard"
    text = "".join((folder / name).read_text() for name in ("page.html", *PARTS))
    assert re.findall(r"https?://[^\s\"']+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"@import|url\((?!#)|<style| style=|\bon\w+=", text)
    for part in PARTS:
        assert re.search(rf"""["/]{part}["']""", text), part


def test_frames_come_as_events_and_a_sign_of_life_when_nothing_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presage.service.dashboard.page.EVERY", 0.001)
    service, state = FakeService(books()), State({"stopping": False})
    stream = FrameStream(service, state)

    async def look() -> list[bytes]:
        found: list[bytes] = []
        async for each in stream.frames():
            found.append(each)
            assert stream.viewers == 1
            if len(found) == 3:
                service.log.append(FeedbackRequest("a", "proxy", "some"))
            state.stopping = len(found) == 4
        return found

    assert asyncio.run(look()) == [
        b"retry: 2000\n\n",
        b'id: 0\ndata: {"number":0}\n\n',
        b": still there\n\n",
        b'id: 1\ndata: {"number":1}\n\n',
    ]
    assert stream.viewers == 0


@pytest.mark.long
def test_a_stream_ends_when_the_service_stops_or_its_reader_goes() -> None:
    with running() as server:
        with streaming(server) as lines:
            assert next(lines) == "retry: 2000"
            under_way = "presage_http_requests_under_way"
            assert f"{under_way} 2.0" in measured(server)
        until(lambda: f"{under_way} 1.0" in measured(server))
        with streaming(server) as lines:
            next(lines)
            server.server.should_exit = True
            assert all(not line.startswith("data") for line in lines), "it ends without being cut off"


@pytest.mark.long
def test_a_stream_is_refused_when_too_many_look(monkeypatch: pytest.MonkeyPatch) -> None:
    assert VIEWERS >= 10
    monkeypatch.setattr("presage.service.dashboard.page.VIEWERS", 1)
    with running() as server, streaming(server) as lines:
        next(lines)
        answer = httpx.get(f"{server.url}/dashboard/stream", trust_env=False, timeout=PATIENCE)
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "10"
