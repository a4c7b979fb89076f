"""The description of the service: valid, complete, and true of whatever is generated from it."""

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection
from starlette.applications import Starlette
from starlette.routing import Route

from presage.service.http.access import Access
from presage.service.http.app import create_app
from presage.service.http.openapi import openapi
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from tests.service.asking import Asking
from tests.service.corpus import PLACES, Place, malformed
from tests.service.fake import TASK, FakeService, books

CASES = 300


class Late:
    """An application that is replaced once tests run: to be described it needs no log."""

    def __init__(self) -> None:
        self.app = create_app(FakeService(books()), books(), access=Access(hosts=("*",)))

    async def __call__(self, *asgi: Any) -> None:
        await self.app(*asgi)


APP = Late()
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP)


class Served(NamedTuple):
    """A service on a real log, and the application in front of it."""

    service: LiveService
    app: Any

    @property
    def head(self) -> dict[str, Any]:
        """The end of the log."""
        found: dict[str, Any] = self.service.describe()["log"]
        return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "books.toml").write_text(TASK)
    service = open_service(folder / "books.toml", folder / "data", Limits(), lambda: time.time_ns() // 1000)
    APP.app = create_app(service, books(), access=Access(hosts=("*",)))
    yield Served(service, APP)
    service.close()


@schemathesis.serializer("application/x-ndjson")
def one_a_line(_: Any, value: Any) -> bytes:
    return "\n".join(json.dumps(each) for each in (value if isinstance(value, list) else [value])).encode()


@pytest.mark.long
@SCHEMA.parametrize()
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_made_from_the_description_is_answered_otherwise_or_by_5xx(case: Any, served: Served) -> None:
    head = served.head
    response = case.call()
    assert response.status_code < 500
    too_large = response.status_code == 413  # which refuses as well as any other, but is not expected for wrong data
    case.validate_response(response, excluded_checks=[negative_data_rejection] if too_large else [])
    assert served.head == head or response.status_code == 200


@pytest.mark.long
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_whatever_is_malformed_leaves_a_real_log_as_it_was(served: Served, place: Place) -> None:
    head, ask = served.head, Asking(served.app)
    for name, body in malformed(place):
        answer = ask.post(place.path, content=body, headers={"content-type": place.media})
        assert 400 <= answer.status_code < 500, name
        assert served.head == head, name


def test_every_address_is_described_and_every_description_has_an_address() -> None:
    app = create_app(FakeService(books()), books())
    assert isinstance(app, Starlette)
    there = {(route.path.replace(":path", ""), method.lower()) for route in app.routes if isinstance(route, Route)
             for method in route.methods or () if method != "HEAD"}  # fmt: skip
    told = {(path, method) for path, about in openapi(books(), Limits())["paths"].items() for method in about}
    assert there == told


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
@pytest.mark.parametrize("clock", ["wall", "events"])
def test_the_schema_of_a_body_takes_what_the_service_takes(place: Any, clock: str) -> None:
    described = openapi(books(), Limits(clock=clock))
    schema = described["paths"][place.path]["post"]["requestBody"]["content"][place.media]["schema"]
    body = [json.loads(line) for line in place.body.splitlines()] if place.lines else json.loads(place.body)
    valid = jsonschema_rs.is_valid(schema | {"components": described["components"]}, body)
    ask = Asking(create_app(FakeService(books()), books(), Limits(clock=clock)))
    answer = ask.post(place.path, content=place.body, headers={"content-type": place.media})
    assert valid == (answer.status_code == 200) == (clock == "wall")
