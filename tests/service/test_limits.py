"""Limits and deadlines, over real sockets: nobody holds the service up, or makes it hold more than it should."""

import json
import re
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from presage.errors import SettingError
from presage.service.http.access import called, read_token
from presage.service.http.admission import Admission
from presage.service.http.deadlines import AHEAD, PIECE, PunctualProtocol
from presage.service.http.server import bind
from presage.service.limits import Limits, limits
from tests.service.running import PATIENCE, Running, posted, read_all, running, until

SMALL = Limits(header_bytes=4000, body_bytes=10_000, connections=5)
QUICK = Limits(request_seconds=0.4)
PROXY = b'{"id":"a","value":"some"}'


@pytest.fixture(scope="module")
def quick() -> Iterator[Running]:
    with running(QUICK) as made:
        yield made


@pytest.fixture(scope="module")
def small() -> Iterator[Running]:
    with running(SMALL) as made:
        yield made


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def pour(made: socket.socket) -> None:
    while True:
        made.sendall(b"a" * 100_000)


def problem(answer: bytes) -> dict[str, object]:
    found: dict[str, object] = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert b"application/problem+json" in answer
    assert set(found) >= {"type", "title", "status", "what", "where", "value", "remedy"}
    return found


@pytest.mark.parametrize(
    "begun",
    [
        b"P",
        b"POST /v1/proxies HTTP/1.1\r\nHost: localhost\r\n",
        posted("/v1/proxies", b'{"id"', length=100),
        b"POST /v1/proxies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
    ids=["first byte", "head", "body", "chunk"],
)
def test_a_request_that_does_not_end_is_answered_408_and_cut_off(quick: Running, begun: bytes) -> None:
    head = quick.service.head
    with quick.connection() as made:
        made.sendall(begun)
        answer = read_all(made)
    assert status(answer) == problem(answer)["status"] == 408
    assert quick.service.head == head


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_client_that_drips_is_cut_off_however_busy_it_looks(quick: Running, part: str) -> None:
    with quick.connection() as made:
        made.sendall(b"GET / HTTP/1.1\r\nX: " if part == "head" else posted("/v1/proxies", b"", length=5000))
        made.settimeout(0.05)
        answer = b""
        for _ in range(200):
            try:
                answer = made.recv(65536)
                break
            except TimeoutError:
                made.sendall(b" ")
    assert status(answer) == 408


def test_a_connection_without_a_request_is_closed_without_a_word() -> None:
    with running(Limits(idle_seconds=1.0)) as made, made.connection() as used:
        used.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with made.connection() as silent:
            assert status(used.recv(65536)) == 200
            assert read_all(used) == read_all(silent) == b""


def test_a_client_that_does_not_read_is_cut_off(quick: Running) -> None:
    with quick.connection() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.settimeout(0.5)
        asked = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500
        with pytest.raises((TimeoutError, ConnectionError)):
            made.sendall(asked * 1000)
        until(lambda: not quick.server.server_state.connections)


def test_the_default_deadlines_cut_off_within_10_seconds() -> None:
    checked_every = 0.5
    assert Limits().request_seconds + checked_every < 10
    assert Limits().idle_seconds + checked_every < 10


@pytest.mark.parametrize(
    "head",
    [
        b"X: " + b"a" * 100_000,
        b"X: a\r\n" * 2000,
        b"\r\n".join(b"X%d: %b" % (each, b"a" * 100) for each in range(300)),
    ],
    ids=["one", "many", "names"],
)
def test_a_head_beyond_the_limit_is_answered_431(small: Running, head: bytes) -> None:
    with small.connection() as made:
        made.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + head)
        answer = read_all(made)
    assert status(answer) == problem(answer)["status"] == 431


def test_a_head_without_an_end_is_cut_off_while_it_comes(small: Running) -> None:
    with small.connection() as made:
        made.sendall(b"GET / HTTP/1.1\r\nX: ")
        with pytest.raises(ConnectionError):
            pour(made)


def test_trailers_are_limited_like_headers(small: Running) -> None:
    head = b"POST /v1/proxies HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with small.connection() as made:
        made.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"T: abcdefghij\r\n" * 1000)
        assert status(read_all(made)) == 431


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_beyond_the_limit_is_answered_413(small: Running, chunked: bool) -> None:
    head = small.service.head
    body = b'{"id":"a","value":"' + b"x" * 20_000 + b'"}'
    request = posted("/v1/proxies", body)
    if chunked:
        start, _, _ = request.partition(b"Content-Length")
        request = start + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with small.connection() as made:
        made.sendall(request)
        answer = read_all(made)
    assert status(answer) == problem(answer)["status"] == 413
    assert small.service.head == head


def test_a_client_that_waits_for_leave_to_send_too_much_gets_none(small: Running) -> None:
    request = posted("/v1/proxies", b"", length=20_000).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
    with small.connection() as made:
        made.sendall(request)
        assert read_all(made).startswith(b"HTTP/1.1 413 ")


def ask(made: socket.socket, path: str) -> bytes:
    """All that is answered to one request, after which the connection is closed."""
    made.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())
    return read_all(made)


def test_idle_connections_of_one_address_leave_room_for_others_and_health_is_always_answered() -> None:
    with running(Limits(connections=9, connections_per_address=3)) as made, ExitStack() as idle:
        connections = made.server.server_state.connections
        for _ in range(50):
            idle.enter_context(made.connection())
        until(lambda: len(connections) == 50)
        for path in ("/healthz", "/readyz"):
            with made.connection() as probe:
                assert status(ask(probe, path)) == 200
        with made.connection() as refused:
            answer = ask(refused, "/v1/model")
        assert status(answer) == problem(answer)["status"] == 429
        assert b"retry-after: 1\r\n" in answer
        with socket.create_connection(("127.0.0.1", made.port), PATIENCE, ("127.0.0.2", 0)) as other:
            assert status(ask(other, "/v1/model")) == 200


def test_a_declared_proxy_may_use_every_connection_and_only_these() -> None:
    limits = Limits(connections=5, connections_per_address=1)
    with running(limits, proxies=["127.0.0.0/30"]) as made, ExitStack() as kept:
        held = [kept.enter_context(made.connection()) for _ in range(5)]
        until(lambda: len(made.server.server_state.connections) == 5)
        with made.connection() as refused:
            assert status(ask(refused, "/v1/model")) == 429
        for each in held:
            each.sendall(b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert [status(each.recv(65536)) for each in held] == [200] * 5
        kept.close()
        until(lambda: not made.server.server_state.connections)
        with made.connection() as admitted:
            assert status(ask(admitted, "/v1/model")) == 200


def test_connections_beyond_the_limits_are_closed_and_those_within_stay() -> None:
    with running(Limits(connections_per_address=1)) as made, made.connection() as first:
        until(lambda: made.server.server_state.connections)
        with made.connection() as spare:
            assert read_all(spare) == b""
        assert status(ask(first, "/v1/model")) == 200


def test_beyond_what_may_wait_for_a_probe_the_oldest_connection_is_closed() -> None:
    class Kept:
        closed = False

        def cut(self) -> None:
            self.closed = True

    admission = Admission(Limits(connections=1))
    assert [admission.admit(address) for address in ("192.0.2.1", "192.0.2.2")] == [True, False]
    kept = [Kept() for _ in range(admission.spare_most + 3)]
    for each in kept:
        admission.keep_spare(each)
    assert [each.closed for each in kept] == [True] * 3 + [False] * admission.spare_most


def test_addresses_of_one_ipv6_network_count_as_one() -> None:
    admission = Admission(Limits(connections_per_address=1))
    assert admission.admit("2001:db8::1")
    assert not admission.admit("2001:db8::ffff:2")
    assert admission.admit("2001:db8:0:1::1")
    admission.leave("2001:db8::1")
    assert admission.admit("2001:db8::ffff:2")


def test_what_is_no_address_of_a_proxy_is_refused_in_words() -> None:
    with pytest.raises(SettingError, match="not the address of a proxy: found 'nginx'"):
        Admission(Limits(), ["nginx"])


def test_requests_sent_ahead_are_read_once_and_parsed_as_their_turn_comes() -> None:
    """What one connection may make the service hold, however much it sends: one read, and some 60 requests."""
    request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    ahead, answers, held = bytearray(request * (4_000_000 // len(request))), 0, [(0, 0)]
    with running() as made, made.connection() as client:
        until(lambda: made.server.server_state.connections)
        (connection,) = cast(set[PunctualProtocol], made.server.server_state.connections)
        client.setblocking(False)
        while answers < 3000:
            _, writable, _ = select.select([], [client], [], 0)
            if writable and ahead:
                del ahead[: client.send(ahead[:100_000])]
            readable, _, _ = select.select([client], [], [], 0)
            if readable:
                answers += client.recv(1 << 20).count(b"HTTP/1.1 ")
            held.append((len(connection.pipeline), len(connection.unparsed)))
        with made.connection() as probe:
            assert status(ask(probe, "/healthz")) == 200
        assert connection in made.server.server_state.connections, "it was answered among them"
    assert 0 < max(requests for requests, _ in held) <= AHEAD + PIECE // len(request) + 1
    assert 0 < max(size for _, size in held) <= 512 * 1024


def test_bodies_that_are_too_much_together_are_answered_429() -> None:
    generous = Limits(bulk_bytes=10_000_000, held_bytes=1_000_000, retry_seconds=7)
    with running(generous) as made, made.connection() as one, made.connection() as other:
        one.sendall(posted("/v1/events", b" " * 900_000, "application/x-ndjson", length=2_000_000))
        other.sendall(posted("/v1/events", b" " * 900_000, "application/x-ndjson", length=2_000_000))
        answered, _, _ = select.select([one, other], [], [], PATIENCE)
        (refused,) = [each.recv(65536) for each in answered]
        assert status(refused) == 429
        assert b"retry-after: 7\r\n" in refused


@pytest.mark.parametrize(
    "garbage",
    [
        b"HELLO\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"CONNECT example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        posted("/v1/proxies", PROXY).replace(b"Content-Length: 25", b"Content-Length: -1"),
        posted("/v1/proxies", PROXY).replace(b"Content-Length: 25", b"Content-Length: 25\r\nContent-Length: 24"),
        posted("/v1/proxies", PROXY).replace(b"Content-Length", b"Transfer-Encoding: chunked\r\nContent-Length"),
        posted("/v1/proxies", PROXY).replace(b"Content-Length: 25", b"Transfer-Encoding: chunked").replace(b"{", b"zz"),
    ],
    ids=["words", "tls", "version", "connect", "negative length", "two lengths", "length and chunks", "bad chunk"],
)
def test_what_is_not_http_is_answered_400_and_closed(small: Running, garbage: bytes) -> None:
    head = small.service.head
    with small.connection() as made:
        made.sendall(garbage)
        answer = read_all(made)
    assert status(answer) == problem(answer)["status"] == 400
    assert small.service.head == head


def test_a_refusal_is_never_sent_in_place_of_the_answer_to_an_earlier_request() -> None:
    with running() as made, made.connection() as client:
        made.service.seconds = 0.3
        client.sendall(posted("/v1/proxies", PROXY) + b"garbage\r\n\r\n")
        answer = read_all(client)
        assert status(answer) == 200
        assert answer.count(b"HTTP/1.1") == made.service.head == 1


def test_a_length_that_is_too_short_leaves_a_rest_that_is_refused() -> None:
    with running() as made, made.connection() as client:
        client.sendall(posted("/v1/proxies", PROXY + b" rest", length=len(PROXY)))
        answer = read_all(client)
    assert status(answer) == 200
    assert made.service.head == 1


def test_a_client_is_not_blamed_for_a_slow_service_and_pipelined_requests_are_answered_in_order() -> None:
    with running(Limits(request_seconds=0.4, idle_seconds=0.4)) as made, made.connection() as client:
        made.service.seconds = 1.2
        client.sendall(b"".join(posted("/v1/proxies", b'{"id":"%d","value":"some"}' % each) for each in range(2)))
        answer = read_all(client)
    assert re.findall(rb'"id":"(\d)"', answer) == [b"0", b"1"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_without_a_token_only_the_loopback_is_served(host: str) -> None:
    with pytest.raises(SettingError, match="this machine only"):
        bind(host, 0, None)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_the_loopback_is_served_without_a_token_under_any_of_its_names(host: str) -> None:
    for made in bind(host, 0, None):
        made.close()


def test_with_a_token_any_address_is_served() -> None:
    for made in bind("0.0.0.0", 0, "secret"):
        made.close()


def test_an_address_that_cannot_be_used_is_refused_in_words() -> None:
    with running() as made, pytest.raises(SettingError, match="address cannot be used"):
        bind("127.0.0.1", made.port, None)
    with pytest.raises(SettingError, match="host is unknown"):
        bind("no.such.host.invalid", 0, None)


def test_a_service_on_all_addresses_must_be_told_its_names() -> None:
    with pytest.raises(SettingError, match="names"):
        called("0.0.0.0", ())
    assert "shop.example" in called("0.0.0.0", ("Shop.Example",))
    assert "10.0.0.7" in called("10.0.0.7", ())


@pytest.mark.parametrize("content", ["", "short", "with a space in it!", "x" * 501, "\x00" * 20, "pässwörd-pässwörd"])
def test_a_token_file_without_a_token_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    (tmp_path / "token").chmod(0o600)
    with pytest.raises(SettingError, match="token"):
        read_token(tmp_path / "token")


def test_limits_are_checked_and_described() -> None:
    for limit in limits():
        assert limit.about
        assert getattr(Limits(), limit.name) == limit.default
        wrong: Any = {limit.name: 0}
        with pytest.raises(SettingError, match=limit.name):
            Limits(**wrong)
    with pytest.raises(SettingError, match="clock"):
        Limits(clock="sundial")
