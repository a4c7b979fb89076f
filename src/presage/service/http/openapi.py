"""The OpenAPI description of a service, for its task and its limits."""

from importlib.metadata import version
from typing import Any

import msgspec

from presage.service.http.problems import KINDS, MEDIA_TYPE, Problem
from presage.service.http.schemas import request_schemas
from presage.service.limits import Limits
from presage.service.replies import (
    BulkReply,
    FeedbackReply,
    HealthReply,
    PredictionReply,
    PredictionsReply,
    StateReply,
)
from presage.task.task import Task

REFERENCE = "#/components/schemas/{name}"
REPLIES = (PredictionReply, PredictionsReply, FeedbackReply, BulkReply, StateReply, HealthReply, Problem)
ANY = (400, 401, 403, 408, 421, 429, 431, 500)
"""Statuses that any request may get."""
POSTED = (*ANY, 413, 415, 422, 503, 507)

Schema = dict[str, Any]


def openapi(task: Task, limits: Limits) -> Schema:
    """The description: paths, request bodies and responses."""
    _, replies = msgspec.json.schema_components(REPLIES, ref_template=REFERENCE)
    about = (
        "Predictions, proxies and outcomes, each recorded once. 2xx: it is in the log and stays there. "
        "4xx: nothing changed. 5xx or a broken connection: unknown, so send the same again."
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Presage: {task.name}", "version": version("presage"), "description": about},
        "security": [{"token": []}, {}],
        "paths": _posts() | _gets(),
        "components": {
            "schemas": replies | request_schemas(task, limits),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _posts() -> Schema:
    predictions = {"oneOf": [_ref("Candidate"), _ref("Candidates"), _ref("RankedCandidates")]}
    proxies, outcomes = ({"oneOf": [_ref(name), _list(name)]} for name in ("Proxy", "Outcome"))
    bulk = {"type": "array", "items": _ref("Event"), "minItems": 1}
    return {
        "/v1/predictions": _post(
            "Predict", predictions, {"oneOf": [_ref("PredictionReply"), _ref("PredictionsReply")]}, 409
        ),
        "/v1/proxies": _post("Record proxies", proxies, {"oneOf": [_ref("FeedbackReply"), _ref("BulkReply")]}, 409),
        "/v1/outcomes": _post("Record outcomes", outcomes, {"oneOf": [_ref("FeedbackReply"), _ref("BulkReply")]}, 409),
        "/v1/events": _post(
            "Record events in bulk, one per line", bulk, _ref("BulkReply"), media="application/x-ndjson"
        ),
    }


def _gets() -> Schema:
    text, page = {"type": "string"}, "text/html; charset=utf-8"
    parameter = {"name": "id", "in": "path", "required": True, "schema": _ref("Id")}
    known = _get("State of an id", _ref("StateReply"), 404, 422)
    known["get"]["parameters"] = [parameter]
    health = {"503": _answer("Unavailable.", _ref("HealthReply"), "application/json")}
    alive, ready = (
        _get("Liveness", _ref("HealthReply")),
        _get("Readiness", _ref("HealthReply")),
    )
    for each in (alive, ready):
        each["get"]["responses"] |= health
        each["get"]["security"] = []
    first = _get("Dashboard", text, media=page)
    first["get"]["security"] = []
    return {
        "/v1/predictions/{id}": known,
        "/v1/model": _get("Model in use", {"type": "object"}),
        "/metrics": _get("Metrics for Prometheus", text, media="text/plain"),
        "/healthz": alive,
        "/readyz": ready,
        "/openapi.json": _get("OpenAPI description", {"type": "object"}),
        "/": first,
    }


def _post(summary: str, schema: Schema, reply: Schema, *further: int, media: str = "application/json") -> Schema:
    body = {"required": True, "content": {media: {"schema": schema}}}
    responses = {"200": _answer("Recorded.", reply, "application/json")} | _problems(*POSTED, *further)
    return {"post": {"summary": summary, "requestBody": body, "responses": responses}}


def _get(summary: str, reply: Schema, *further: int, media: str = "application/json") -> Schema:
    responses = {"200": _answer("OK.", reply, media)} | _problems(*ANY, *further)
    return {"get": {"summary": summary, "responses": responses}}


def _problems(*statuses: int) -> Schema:
    titles: dict[int, list[str]] = {}
    for kind in KINDS:
        titles.setdefault(kind.status, []).append(kind.title)
    return {
        str(status): _answer("; or: ".join(titles[status]) + ".", _ref("Problem"), MEDIA_TYPE)
        for status in sorted(statuses)
    }


def _answer(description: str, schema: Schema, media: str) -> Schema:
    return {"description": description, "content": {media: {"schema": schema}}}


def _ref(name: str) -> Schema:
    return {"$ref": REFERENCE.format(name=name)}


def _list(name: str) -> Schema:
    return {"type": "array", "items": _ref(name), "minItems": 1}
