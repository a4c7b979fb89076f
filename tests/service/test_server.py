"""The process that serves: how it ends, what it answers when its store fails, and how much it holds."""

import signal
import socket
import threading
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen

import httpx
import pytest

from tests.service.running import posted, until
from tests.service.serving import serving

pytestmark = pytest.mark.long

PROXY = {"value": "some"}


def feed(url: str, id: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/proxies", json={"id": id} | PROXY, trust_env=False, timeout=60)


def listens(url: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)).close()
    except ConnectionError:
        return False
    return True


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_with_its_code_after_the_requests_under_way(sent: signal.Signals, code: int) -> None:
    with serving() as (process, url):
        assert feed(url, "a").status_code == 200
        answers: list[int] = []
        under_way = threading.Thread(target=lambda: answers.append(feed(url, "slow").status_code))
        under_way.start()
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            until(lambda: "presage_http_requests_under_way 2.0" in client.get("/metrics").text)  # it, and this one
            process.send_signal(sent)
            until(lambda: not listens(url))
            assert process.stdin
            process.stdin.write("now\n")
            process.stdin.flush()
            under_way.join(60)
        assert answers == [200]
        assert process.wait(60) == code
        assert process.stderr
        assert process.stderr.read() == ""


@pytest.mark.parametrize("unfinished", ["a request", "the rest"])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_when_its_grace_is_over_whatever_is_unfinished(
    sent: signal.Signals, code: int, unfinished: str
) -> None:
    with serving(1.5, "stuck" if unfinished == "the rest" else "") as (process, url), ExitStack() as open_until_the_end:
        assert feed(url, "a").status_code == 200
        if unfinished == "a request":
            asking = open_until_the_end.enter_context(socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)))
            asking.sendall(posted("/v1/proxies", b'{"id":"slow","value":"some"}'))
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
                until(lambda: "presage_http_requests_under_way 2.0" in client.get("/metrics").text)
        process.send_signal(sent)
        assert process.wait(60) == code
        assert process.stderr
        assert process.stderr.read().splitlines()[-1].startswith("Stopped after 1.5 seconds (--grace)")


def test_a_store_that_failed_is_answered_503_and_ends_the_process() -> None:
    with serving() as (process, url):
        answer = feed(url, "failed")
        assert answer.status_code == 503
        assert answer.json()["remedy"] == "replace the disk"
        assert process.wait(60) == 3


def test_after_its_store_failed_it_ends_when_its_grace_is_over_too() -> None:
    with serving(1.5, "stuck") as (process, url):
        assert feed(url, "failed").status_code == 503
        assert process.wait(60) == 3


def test_a_full_disk_is_answered_507_and_a_busy_service_429_and_both_go_on() -> None:
    with serving() as (process, url):
        for id, status in (("full", 507), ("busy", 429)):
            answer = feed(url, id)
            assert answer.status_code == answer.json()["status"] == status
            assert answer.headers["retry-after"] == "1"
        assert feed(url, "a").status_code == 200
        assert process.poll() is None


def test_an_error_that_nobody_foresaw_is_answered_500_without_details_and_told_on_stderr() -> None:
    with serving() as (process, url):
        answer = feed(url, "bug")
        assert answer.status_code == 500
        assert answer.headers["content-type"] == "application/problem+json"
        assert "ZeroDivisionError" not in answer.text
        assert feed(url, "a").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stderr
        assert "ZeroDivisionError: a mistake of ours" in process.stderr.read()


def resident(process: Popen[str]) -> int:
    """The most bytes that a process ever held."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="is not on this machine: /proc")
@pytest.mark.parametrize("part", ["body", "chunks", "head", "refused body"])
def test_what_is_sent_beyond_the_limits_is_not_held(part: str) -> None:
    head = "POST /v1/proxies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    length = "Content-Length: 1000000000\r\n\r\n"
    begin = {
        "body": head + length,
        "chunks": f"{head}Transfer-Encoding: chunked\r\n\r\n40000000\r\n",
        "head": f"{head}X: ",
        "refused body": head.replace("application/json", "text/plain") + length,
    }
    with serving() as (process, url):
        for warm in range(20):
            assert feed(url, str(warm)).status_code == 200
        before = resident(process)
        with socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0)) as made:
            made.sendall(begin[part].encode())
            try:
                for _ in range(200):
                    made.sendall(b"x" * 1_000_000)
            except ConnectionError:
                pass
        assert feed(url, "after").status_code == 200
        assert resident(process) - before < 16_000_000
