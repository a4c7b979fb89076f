"""The application: the addresses of the service, and what each returns."""

import asyncio
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from presage.errors import PresageError
from presage.joining.join import Decision
from presage.service.dashboard.page import dashboard_routes
from presage.service.http.access import Access, Gate
from presage.service.http.bodies import BodyReader
from presage.service.http.metrics import Metrics
from presage.service.http.openapi import openapi
from presage.service.http.problems import (
    BUG,
    CONFLICT,
    MALFORMED,
    METHOD,
    NOT_FOUND,
    RefusalError,
    answer,
    refused,
)
from presage.service.http.requests import PART, Reader, refuse_lines
from presage.service.interface import FeedbackRequest, PredictionRequest, Service
from presage.service.limits import Limits
from presage.service.replies import HealthReply, PredictionsReply, bulk_reply, feedback_reply, ranked
from presage.task.task import Task

JSON = ("application/json",)
NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")
METRICS = "text/plain; version=0.0.4; charset=utf-8"
SLICE = 256
"""How many lines of a bulk are read before other requests get a turn."""


def create_app(service: Service, task: Task, limits: Limits | None = None, access: Access | None = None) -> Starlette:
    """The application of a service; `app.state.failed()` says why its store has failed, once it has."""
    limits, metrics = limits or Limits(), Metrics(service)
    state = State()
    state.failed, state.stopping = service.failed, False
    routes = Routes(service, task, limits, metrics, state)
    app = Starlette(
        routes=routes.table(),
        middleware=[Middleware(Gate, access=access or Access(), metrics=metrics)],
        exception_handlers={
            RefusalError: routes.refuse,
            PresageError: routes.refuse,
            HTTPException: _refuse_address,
            ClientDisconnect: _answer_disconnected,
            Exception: routes.refuse,
        },
    )
    app.state = state
    app.router.redirect_slashes = False
    return app


class Routes:
    """The handler of each address."""

    def __init__(self, service: Service, task: Task, limits: Limits, metrics: Metrics, state: State) -> None:
        self.service, self.limits, self.metrics, self.state = service, limits, metrics, state
        self.reader, self.bodies = Reader(task, limits), BodyReader(limits.held_bytes, limits.retry_seconds)
        self.description = msgspec.json.encode(openapi(task, limits))

    def table(self) -> list[BaseRoute]:
        """The addresses."""
        return [
            Route("/v1/predictions", self.predict, methods=["POST"]),
            Route("/v1/proxies", self.proxies, methods=["POST"]),
            Route("/v1/outcomes", self.outcomes, methods=["POST"]),
            Route("/v1/events", self.events, methods=["POST"]),
            Route("/v1/predictions/{id:path}", self.look_up),
            Route("/v1/model", self.model),
            Route("/metrics", self.exposition),
            Route("/healthz", self.health),
            Route("/readyz", self.ready),
            Route("/openapi.json", self.describe),
            *dashboard_routes(self.service, self.state),
        ]

    async def predict(self, request: Request) -> Response:
        """POST /v1/predictions: one prediction, or those of a batch of candidates."""
        sent = self.reader.predictions(await self._body(request))
        replies = await self.service.predict(sent.requests)
        if sent.batch:
            return _json(PredictionsReply(ranked(replies, sent.rank_by) if sent.rank_by else replies))
        if replies[0].status == "conflict":
            raise _conflict(replies[0].id, replies[0].why)
        return _json(replies[0])

    async def proxies(self, request: Request) -> Response:
        """POST /v1/proxies: one, or a list."""
        return await self._feed("proxy", request)

    async def outcomes(self, request: Request) -> Response:
        """POST /v1/outcomes: one, or a list."""
        return await self._feed("outcome", request)

    async def events(self, request: Request) -> Response:
        """POST /v1/events: many lines; one wrong line refuses all of them."""
        body = await self.bodies.receive(request.scope, request.receive, self.limits.bulk_bytes, NDJSON)
        lines = []
        for part in self.reader.parts(body):
            lines += part
            await asyncio.sleep(0)
        events = await self._read(lines)
        results = await self.service.submit(events)
        return _json(bulk_reply((event.id for event in events), results, (number for number, _ in lines)))

    async def _read(self, lines: list[tuple[int, bytes]]) -> list[PredictionRequest | FeedbackRequest]:
        """The events of these lines; other requests get a turn in between."""
        events: list[PredictionRequest | FeedbackRequest] = []
        wrong = []
        size = 0
        for place, (number, line) in enumerate(lines):
            try:
                events.append(self.reader.event(line))
            except RefusalError as refusal:
                wrong.append(refusal.line(number))
            size += len(line)
            if place % SLICE == SLICE - 1 or size > PART:
                await asyncio.sleep(0)
                size = 0
        if wrong:
            raise refuse_lines(wrong)
        return events

    async def look_up(self, request: Request) -> Response:
        """GET /v1/predictions/{id}: its state."""
        id = self.reader.id(_id(request), "id")
        state = await self.service.look_up(id)
        if state is None:
            raise RefusalError(NOT_FOUND, "unknown id", "request a prediction for it first", "id", id)
        return _json(state)

    async def model(self, _: Request) -> Response:
        """GET /v1/model: the model in use."""
        return _json(self.service.describe())

    async def exposition(self, _: Request) -> Response:
        """GET /metrics: numbers for Prometheus."""
        return Response(self.metrics.exposition(), media_type=METRICS)

    async def health(self, _: Request) -> Response:
        """GET /healthz: whether the process is alive and its store has not failed."""
        return _health(self.service.failed())

    async def ready(self, _: Request) -> Response:
        """GET /readyz: whether the service takes predictions and feedback."""
        return _health(self.service.ready())

    async def describe(self, _: Request) -> Response:
        """GET /openapi.json: the OpenAPI description."""
        return Response(self.description, media_type="application/json")

    async def refuse(self, _: Request, error: Exception) -> Response:
        """The response to a request that raised an error."""
        refusal = refused(error, "request", self.limits.retry_seconds)
        if refusal.kind is BUG and isinstance(error, PresageError):
            raise RuntimeError("an error that should have been dealt with") from error
        return answer(refusal)

    async def _body(self, request: Request) -> bytes:
        return await self.bodies.receive(request.scope, request.receive, self.limits.body_bytes, JSON)

    async def _feed(self, kind: str, request: Request) -> Response:
        feedback, listed = self.reader.feedback(kind, await self._body(request))
        results = await self.service.feed(feedback)
        if listed:
            return _json(bulk_reply((each.id for each in feedback), results, range(1, len(results) + 1)))
        if results[0].decision is Decision.CONFLICT:
            raise _conflict(feedback[0].id, results[0].reason)
        return _json(feedback_reply(feedback[0].id, results[0]))


def _json(reply: Any) -> Response:
    return Response(msgspec.json.encode(reply), media_type="application/json")


def _health(why: str) -> Response:
    reply = HealthReply("unavailable" if why else "ok", why)
    return Response(msgspec.json.encode(reply), 503 if why else 200, media_type="application/json")


def _id(request: Request) -> str:
    """The id in the address, exactly as sent: Starlette decodes the path leniently."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    try:
        return unquote_to_bytes(raw.removeprefix(b"/v1/predictions/")).decode()
    except UnicodeDecodeError:
        raise RefusalError(MALFORMED, "the id is not UTF-8", "percent-encode its bytes in UTF-8", "id", raw) from None


def _conflict(id: str, why: str) -> RefusalError:
    return RefusalError(CONFLICT, why, "use another id, or send what was sent first", "id", id)


async def _refuse_address(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind, what = (METHOD, "unknown method") if error.status_code == 405 else (NOT_FOUND, "unknown address")
    value = f"{request.method} {request.scope['path']}"
    refusal = RefusalError(kind, what, "see /openapi.json", "path", value)
    refusal.headers = error.headers or {}
    return answer(refusal)


async def _answer_disconnected(_: Request, __: Exception) -> Response:
    return Response(status_code=400)
