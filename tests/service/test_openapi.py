"""The description of the service: valid, complete, and true of whatever is generated from it."""

import json
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from starlette.applications import Starlette
from starlette.routing import Route

from presage.service.access import Access
from presage.service.app import create_app
from presage.service.limits import Limits
from presage.service.openapi import openapi
from tests.service.asking import Asking
from tests.service.corpus import PLACES
from tests.service.fake import FakeService, books

CASES = 300
SERVICE = FakeService(books())
APP = create_app(SERVICE, books(), access=Access(hosts=("*",)))
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP)


@schemathesis.serializer("application/x-ndjson")
def one_a_line(_: Any, value: Any) -> bytes:
    return "\n".join(json.dumps(each) for each in (value if isinstance(value, list) else [value])).encode()


@pytest.mark.long
@SCHEMA.parametrize()
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_made_from_the_description_is_answered_otherwise_or_by_5xx(case: Any) -> None:
    head = SERVICE.head
    response = case.call()
    assert response.status_code < 500
    case.validate_response(response)
    assert SERVICE.head == head or response.status_code == 200


def test_every_address_is_described_and_every_description_has_an_address() -> None:
    assert isinstance(APP, Starlette)
    there = {(route.path.replace(":path", ""), method.lower()) for route in APP.routes if isinstance(route, Route)
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
