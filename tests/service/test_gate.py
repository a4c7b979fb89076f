"""Who is answered at all: media types, tokens, hosts and addresses."""

import json

import pytest

from presage.errors import SettingError
from presage.service.http.access import Access, read_origins
from presage.service.http.app import create_app
from tests.service.asking import Asking
from tests.service.fake import EMMA, FakeService, books


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/json; charset=latin-1"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        ({"content-type": "application/json", "content-encoding": "gzip"}, 415),
        ({"content-type": "application/json", "content-encoding": "deflate, br"}, 415),
        ({"content-type": "application/json; charset=UTF-8"}, 200),
        ({"content-type": "Application/JSON", "content-encoding": "identity"}, 200),
    ],
)
def test_only_plain_json_is_taken(ask: Asking, service: FakeService, headers: dict[str, str], status: int) -> None:
    answer = ask.post("/v1/predictions", content=json.dumps(EMMA).encode(), headers=headers)
    assert answer.status_code == status
    assert service.head == (status == 200)


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"authorization": "Bearer wrong-wrong-wrong"}, {"authorization": "Bearer "}, {"authorization": "Bearer"},
        {"authorization": "Basic right-right-right"}, {"authorization": "right-right-right"},
        {"authorization": "Bearer right-right-righ"}, {"authorization": "Bearer right-right-rightx"},
        {"authorization": "Bearer right-right-right right-right-right"}, {"cookie": "token=right-right-right"},
    ],
)  # fmt: skip
def test_without_the_right_token_nothing_is_told_and_nothing_changes(
    service: FakeService, headers: dict[str, str]
) -> None:
    ask = Asking(create_app(service, books(), access=Access("right-right-right")), headers)
    for path in ("/v1/model", "/metrics", "/openapi.json", "/v1/predictions", "/v1/predictions/a", "/v1/events", "/x"):
        answer = ask.post(path, EMMA)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert "right" not in answer.text
    assert [ask.get(path).status_code for path in ("/", "/healthz", "/readyz")] == [200, 200, 200]
    assert service.head == 0


@pytest.mark.parametrize("written", ["Bearer right-right-right", "bearer  right-right-right"])
def test_with_the_right_token_all_is_answered(service: FakeService, written: str) -> None:
    ask = Asking(create_app(service, books(), access=Access("right-right-right")), {"authorization": written})
    assert ask.post("/v1/predictions", EMMA).status_code == 200
    assert ask.get("/metrics").status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evil.example:8000", "localhost@evil.example", "", "127.0.0.1.nip.io",
     "[::2]", "localhost:80:80", "0.0.0.0", "evil-localhost", "evil.localhost", "evil127.0.0.1"],
)  # fmt: skip
def test_a_request_for_another_host_is_refused(ask: Asking, service: FakeService, host: str) -> None:
    answer = ask.post("/v1/predictions", EMMA, headers={"host": host})
    assert answer.status_code == 421
    assert service.head == 0


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:1", "[::1]:8000", "[::1]"])
def test_a_request_for_this_machine_is_answered(ask: Asking, host: str) -> None:
    assert ask.post("/v1/predictions", EMMA, headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "", "http://localhost:81", "http://127.0.0.1", "localhost", "file://", "http://localhost/",
     "https://localhost:80", "ftp://localhost", "http://localhost@evil.example", "https://allowed.example:8443"],
)  # fmt: skip
def test_a_page_of_another_origin_is_refused_whatever_it_asks_for(service: FakeService, origin: str) -> None:
    ask = Asking(create_app(service, books(), access=Access(origins=("https://allowed.example",))))
    for method, path in (("POST", "/v1/predictions"), ("GET", "/v1/model"), ("GET", "/healthz"), ("GET", "/")):
        answer = ask(method, path, json=EMMA, headers={"origin": origin})
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:presage:origin")
        assert "access-control-allow-origin" not in answer.headers
    assert service.head == 0


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost", "http://localhost"), ("localhost", "https://localhost"), ("localhost:443", "https://localhost"),
        ("localhost:8000", "http://localhost:8000"), ("LOCALHOST:8000", "http://localhost:8000"),
        ("[::1]:8000", "http://[::1]:8000"), ("localhost", "https://allowed.example"),
    ],
)  # fmt: skip
def test_a_page_of_its_own_or_an_allowed_origin_is_answered(service: FakeService, host: str, origin: str) -> None:
    ask = Asking(create_app(service, books(), access=Access(origins=("https://allowed.example",))))
    assert ask.post("/v1/predictions", EMMA, headers={"host": host, "origin": origin}).status_code == 200


def test_two_origins_are_refused(ask: Asking) -> None:
    headers = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")]
    assert ask.get("/v1/model", headers=headers).status_code == 403


@pytest.mark.parametrize("origin", ["shop.example", "https://shop.example/", "https://Shop.example", "*", "null"])
def test_what_is_no_origin_cannot_be_allowed(origin: str) -> None:
    with pytest.raises(SettingError, match="not the origin of a page"):
        read_origins([origin])


def test_a_query_is_refused(ask: Asking, service: FakeService) -> None:
    assert ask.post("/v1/predictions?rank=true", EMMA).status_code == 400
    assert service.head == 0


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/predictions", 405), ("DELETE", "/v1/predictions/emma", 405), ("PUT", "/v1/events", 405),
        ("GET", "/v1/predictions%0A", 404), ("POST", "/v1/proxies%0A", 404), ("POST", "/v1/proxies/", 404),
        ("GET", "/v1", 404), ("GET", "/../etc/passwd", 404), ("OPTIONS", "/v1/events", 405),
        ("HEAD", "/healthz", 200),
    ],
)  # fmt: skip
def test_only_the_addresses_there_are_answer(ask: Asking, method: str, path: str, status: int) -> None:
    answer = ask(method, path)
    assert answer.status_code == status
    assert ("allow" in answer.headers) == (status == 405)
    assert "location" not in answer.headers
