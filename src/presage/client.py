"""A client of the service: every call is safe to repeat, and is repeated until it gets a response."""

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from presage.errors import ConflictError, InputError, RefusedError, SettingError, UnansweredError
from presage.service.replies import BulkReply, FeedbackReply, PredictionReply, PredictionsReply, StateReply
from presage.settings import positive, whole

T = TypeVar("T")
Features = Mapping[str, Any]

LONGEST_WAIT = 30.0
"""Seconds between two tries, whatever the server asks for."""


class Event(NamedTuple):
    """A line of a bulk request: a prediction with its features, or a proxy or outcome with its value."""

    kind: str
    id: str
    features: Features | None = None
    value: str | None = None
    at: int | None = None


class Client:
    """A client of the service at `url`, which can be used in a `with` statement.

    After a 5xx response or none it sends the same bytes again, up to `tries` times in all, waiting 0.1 s, 0.2 s, 0.4 s
    and so on; after 429 it waits as long as the server says. That is safe: the service records each event once.

        with Client("http://127.0.0.1:8000") as client:
            reply = client.predict("visit-1", {"title": "Emma"})
            client.proxy("visit-1", "some")
            client.outcome("visit-1", "finished")
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        tries: int = 6,
        timeout: float = 10.0,
        batch: int = 1000,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise SettingError("the address of a service must begin with http:// or https://", url, "give all of it")
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=positive("timeout", timeout), transport=transport, trust_env=False
        )
        self._tries, self._batch, self._sleep = whole("tries", tries), whole("batch", batch), sleep

    def predict(self, id: str, features: Features, *, at: int | None = None) -> PredictionReply:
        """The prediction for an instance, under an id that you choose; the same id gets the same prediction again."""
        return self._post("/v1/predictions", _prediction(id, features, at), PredictionReply)

    def predict_many(
        self, candidates: Mapping[str, Features], *, rank: str | None = None, at: int | None = None
    ) -> list[PredictionReply]:
        """The predictions for candidates by id: in their order, or the most probable of the outcome `rank` first.

        One whose id is in the log with other features has the status "conflict", and no probabilities.
        """
        body: dict[str, Any] = {"candidates": [_prediction(id, features, at) for id, features in candidates.items()]}
        body |= {} if rank is None else {"rank": True, "outcome": rank}
        return self._post("/v1/predictions", body, PredictionsReply).predictions

    def proxy(self, id: str, value: str | float, *, at: int | None = None) -> FeedbackReply:
        """Record a proxy: one of its values, or a number that the task cuts into one."""
        return self._post("/v1/proxies", _feedback(id, value, at), FeedbackReply)

    def outcome(self, id: str, value: str | float, *, at: int | None = None) -> FeedbackReply:
        """Record an outcome, as a proxy is."""
        return self._post("/v1/outcomes", _feedback(id, value, at), FeedbackReply)

    def events(self, events: Iterable[Event]) -> BulkReply:
        """Record many events, sent in bulk requests; conflicts are listed by the event's number, from 1.

        A bulk request with an invalid event is refused as a whole; those before it stay recorded.
        """
        total = BulkReply(0, 0, 0, [])
        sent = 0
        for lines in _bulks(events, self._batch):
            try:
                reply = self._send("POST", "/v1/events", b"\n".join(lines), "application/x-ndjson", BulkReply)
            except RefusedError as error:
                raise type(error)(
                    f"{error.wrong} (after {sent} events were recorded)", error.found, error.remedy
                ) from error
            for each in reply.conflicting:
                each.line += sent
            total.accepted += reply.accepted
            total.repeated += reply.repeated
            total.conflicts += reply.conflicts
            total.conflicting += reply.conflicting
            sent += len(lines)
        return total

    def look_up(self, id: str) -> StateReply:
        """The state of an id: its prediction and its feedback."""
        # Dots are escaped, too: "." and ".." would be taken for parts of the path.
        path = quote(id, safe="").replace(".", "%2E")
        return self._send("GET", f"/v1/predictions/{path}", None, None, StateReply)

    def model(self) -> dict[str, Any]:
        """The model in use."""
        return self._send("GET", "/v1/model", None, None, dict[str, Any])

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _post(self, path: str, body: Mapping[str, Any], reply: type[T]) -> T:
        return self._send("POST", path, _bytes(body), "application/json", reply)

    def _send(self, method: str, path: str, body: bytes | None, media: str | None, reply: type[T]) -> T:
        """The answer to a request, tried again while it is unknown whether it was recorded."""
        request = self._http.build_request(method, path, content=body, headers={"content-type": media} if media else {})
        trouble: object = None
        for attempt in range(self._tries):
            if attempt:
                self._sleep(_wait(attempt, trouble))
            try:
                trouble = answer = self._http.send(request)
            except httpx.TransportError as error:
                trouble = error
                continue
            if answer.is_success:
                return msgspec.json.decode(answer.content, type=reply)
            if answer.status_code < 500 and answer.status_code not in (408, 429):
                raise _refused(answer)
        if isinstance(trouble, httpx.Response) and trouble.status_code < 500:
            raise _refused(trouble)
        raise _unanswered(trouble, self._tries)


def _prediction(id: str, features: Features, at: int | None) -> dict[str, Any]:
    return {"id": id, "features": features} | ({} if at is None else {"at": at})


def _feedback(id: str, value: str | float, at: int | None) -> dict[str, Any]:
    return {"id": id, "value": value} | ({} if at is None else {"at": at})


def _bytes(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, TypeError) as error:
        raise InputError("this cannot be sent as JSON", str(error), "send text, finite numbers, true, false") from error


def _bulks(events: Iterable[Event], most: int) -> Iterator[Sequence[bytes]]:
    lines: list[bytes] = []
    for event in events:
        lines.append(_bytes({name: value for name, value in event._asdict().items() if value is not None}))
        if len(lines) == most:
            yield lines
            lines = []
    if lines:
        yield lines


def _wait(attempt: int, trouble: object) -> float:
    """Seconds to wait: what the server asks for, otherwise twice as long each time, give or take a fifth."""
    seconds = trouble.headers.get("retry-after", "") if isinstance(trouble, httpx.Response) else ""
    if seconds.isdigit():
        return min(float(seconds), LONGEST_WAIT)
    return min(0.1 * 2.0 ** (attempt - 1), LONGEST_WAIT) * random.uniform(0.8, 1.2)


def _refused(answer: httpx.Response) -> RefusedError:
    made = ConflictError if answer.status_code == 409 else RefusedError
    try:
        problem = msgspec.json.decode(answer.content, type=dict[str, Any])
    except ValueError:
        return made(f"the service refused the request ({answer.status_code})", answer.text, "check the address")
    lines = "".join(f"; line {each['line']}: {each['what']} at {each['where']}" for each in problem.get("lines", []))
    what = f"{problem.get('what', 'refused')} at {problem.get('where', 'request')} ({answer.status_code}){lines}"
    return made(what, problem.get("value"), str(problem.get("remedy", "check the request")))


def _unanswered(trouble: object, tries: int) -> UnansweredError:
    found = f"{trouble.status_code} {trouble.text}" if isinstance(trouble, httpx.Response) else repr(trouble)
    what = f"the service did not answer after {tries} tries"
    return UnansweredError(what, found, "send the same again later: no event is recorded twice")
