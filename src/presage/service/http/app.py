"""The service over HTTP: its addresses, and what they answer."""

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

from presage.errors import InputError, PresageError
from presage.service.dashboard.page import dashboard_routes
from presage.service.features import feature_encoder
from presage.service.http.access import Access, Gate
from presage.service.http.bodies import BodyReader
from presage.service.http.metrics import Traffic, exposition
from presage.service.http.openapi import openapi
from presage.service.http.problems import (
    BUG,
    CONFLICT,
    INVALID,
    MALFORMED,
    METHOD,
    NOT_FOUND,
    RefusalError,
    answer,
    refused,
)
from presage.service.http.replies import (
    HealthReply,
    PredictionsReply,
    bulk_reply,
    feedback_reply,
    prediction_reply,
    ranked,
    state_reply,
)
from presage.service.http.requests import Reader, refuse_lines
from presage.service.interface import FeedbackRequest, PredictionRequest, Service
from presage.service.limits import Limits
from presage.task.task import Task

JSON = ("application/json",)
NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")
METRICS = "text/plain; version=0.0.4; charset=utf-8"
SLICE = 256
"""How many lines of a bulk are read before others are given a turn."""


def create_app(service: Service, task: Task, limits: Limits | None = None, access: Access | None = None) -> Starlette:
    """The application that answers for a service; `app.state.failed()` says why its store has failed, once it has."""
    limits, traffic = limits or Limits(), Traffic()
    state = State()
    state.failed, state.stopping = service.failed, False
    routes = Routes(service, task, limits, traffic, state)
    app = Starlette(
        routes=routes.table(),
        middleware=[Middleware(Gate, access=access or Access(), traffic=traffic)],
        exception_handlers={
            RefusalError: routes.refuse,
            PresageError: routes.refuse,
            HTTPException: _refuse_address,
            ClientDisconnect: _answer_nobody,
            Exception: routes.refuse,
        },
    )
    app.state = state
    app.router.redirect_slashes = False
    return app


class Routes:
    """What is answered at each address."""

    def __init__(self, service: Service, task: Task, limits: Limits, traffic: Traffic, state: State) -> None:
        self.service, self.limits, self.traffic, self.state = service, limits, traffic, state
        self.reader, self.bodies = Reader(task, limits), BodyReader(limits.held_bytes, limits.retry_seconds)
        self.encode, self.names = feature_encoder(task), task.outcome.values
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
            Route("/metrics", self.metrics),
            Route("/healthz", self.health),
            Route("/readyz", self.ready),
            Route("/openapi.json", self.describe),
            *dashboard_routes(self.service, self.state),
        ]

    async def predict(self, request: Request) -> Response:
        """POST /v1/predictions: one prediction, or those of a batch of candidates."""
        asked, batch, rank_by = self.reader.predictions(await self._body(request))
        try:
            answered = await self.service.predict(asked)
        except InputError as error:
            raise self._unfit(asked, batch) or error from None
        replies = [prediction_reply(each, self.names) for each in answered]
        if batch:
            return _json(PredictionsReply(ranked(replies, rank_by) if rank_by else replies))
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
        """POST /v1/events: a bulk of lines, all of which are right, or nothing is taken."""
        body = await self.bodies.receive(request.scope, request.receive, self.limits.bulk_bytes, NDJSON)
        lines = self.reader.lines(body)
        numbers = [number for number, _ in lines]
        events: list[PredictionRequest | FeedbackRequest] = []
        wrong = []
        for place, (number, line) in enumerate(lines):
            try:
                events.append(self.reader.event(line))
            except RefusalError as refusal:
                wrong.append(refusal.line(number))
            if place % SLICE == SLICE - 1:
                await asyncio.sleep(0)
        if wrong:
            raise refuse_lines(wrong)
        try:
            done = await self.service.submit(events)
        except InputError as error:
            unfit = self._unfit_places(events)
            raise refuse_lines(each.line(numbers[place]) for place, each in unfit) if unfit else error from None
        return _json(bulk_reply(done, numbers))

    async def look_up(self, request: Request) -> Response:
        """GET /v1/predictions/{id}: what is known of it."""
        id = self.reader.id(_id(request), "id")
        looked = await self.service.look_up(id)
        if looked is None:
            raise RefusalError(
                NOT_FOUND, "nothing is known of this id", "ask for a prediction under it first", "id", id
            )
        return _json(state_reply(looked, self.names))

    async def model(self, _: Request) -> Response:
        """GET /v1/model: what answers."""
        return _json(self.service.describe())

    async def metrics(self, _: Request) -> Response:
        """GET /metrics: numbers for Prometheus."""
        return Response(exposition(self.service.numbers(), self.traffic), media_type=METRICS)

    async def health(self, _: Request) -> Response:
        """GET /healthz: whether the process lives and its store has not failed."""
        return _health(self.service.failed())

    async def ready(self, _: Request) -> Response:
        """GET /readyz: whether predictions and feedback are taken."""
        return _health(self.service.ready())

    async def describe(self, _: Request) -> Response:
        """GET /openapi.json: what is answered where."""
        return Response(self.description, media_type="application/json")

    async def refuse(self, _: Request, error: Exception) -> Response:
        """The answer to a request that raised an error."""
        refusal = refused(error, "request", self.limits.retry_seconds)
        if refusal.kind is BUG and isinstance(error, PresageError):
            raise RuntimeError("an error that should have been dealt with") from error
        return answer(refusal)

    async def _body(self, request: Request) -> bytes:
        return await self.bodies.receive(request.scope, request.receive, self.limits.body_bytes, JSON)

    async def _feed(self, kind: str, request: Request) -> Response:
        fed, listed = self.reader.feedback(kind, await self._body(request))
        done = await self.service.feed(fed)
        if listed:
            return _json(bulk_reply(done, range(1, len(done) + 1)))
        if done[0].status == "conflict":
            raise _conflict(done[0].id, done[0].why)
        return _json(feedback_reply(done[0]))

    def _unfit(self, asked: list[PredictionRequest], batch: bool) -> RefusalError | None:
        """The refusal of the first prediction whose features do not fit the task."""
        for place, refusal in self._unfit_places(asked):
            refusal.where = f"$.candidates[{place}].features" if batch else "$.features"
            return refusal
        return None

    def _unfit_places(
        self, events: list[PredictionRequest] | list[PredictionRequest | FeedbackRequest]
    ) -> list[tuple[int, RefusalError]]:
        """The predictions whose features do not fit the task: which, and why."""
        found = []
        for place, event in enumerate(events):
            if isinstance(event, PredictionRequest):
                try:
                    self.encode(event.values)
                except InputError as error:
                    found.append((place, RefusalError(INVALID, error.wrong, error.remedy, "$.features", error.found)))
        return found


def _json(reply: Any) -> Response:
    return Response(msgspec.json.encode(reply), media_type="application/json")


def _health(why: str) -> Response:
    reply = HealthReply("unavailable" if why else "ok", why)
    return Response(msgspec.json.encode(reply), 503 if why else 200, media_type="application/json")


def _id(request: Request) -> str:
    """The id in the address, exactly as it was sent: the path of the scope is decoded leniently."""
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    try:
        return unquote_to_bytes(raw.removeprefix(b"/v1/predictions/")).decode()
    except UnicodeDecodeError:
        raise RefusalError(
            MALFORMED, "an id that is not UTF-8", "percent-encode its bytes in UTF-8", "id", raw
        ) from None


def _conflict(id: str, why: str) -> RefusalError:
    return RefusalError(CONFLICT, why, "use another id, or send what was sent first", "id", id)


async def _refuse_address(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind, what = (METHOD, "another method") if error.status_code == 405 else (NOT_FOUND, "no such address")
    value = f"{request.method} {request.scope['path']}"
    refusal = RefusalError(kind, what, "see /openapi.json", "path", value)
    refusal.headers = error.headers or {}
    return answer(refusal)


async def _answer_nobody(_: Request, __: Exception) -> Response:
    return Response(status_code=400)
