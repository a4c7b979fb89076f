"""Problems: `application/problem+json` with what is wrong, where, the value found, and the remedy."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from presage.errors import (
    LONGEST,
    BusyError,
    InputError,
    NotFiniteError,
    PresageError,
    StoreError,
    StoreFailedError,
    StoreFullError,
)

MEDIA_TYPE = "application/problem+json"
SHOWN = 100
"""How many of the wrong lines of a bulk request a problem lists."""


class ProblemKind(NamedTuple):
    """A kind of problem: its name, its HTTP status, and its title."""

    name: str
    status: int
    title: str


MALFORMED_HTTP = ProblemKind("malformed-http", 400, "Invalid HTTP")
MALFORMED = ProblemKind("malformed", 400, "Malformed request")
ORIGIN = ProblemKind("origin", 403, "Wrong origin")
TOKEN = ProblemKind("token", 401, "Wrong token")
NOT_FOUND = ProblemKind("not-found", 404, "Not found")
METHOD = ProblemKind("method", 405, "Method not allowed")
SLOW = ProblemKind("slow", 408, "Request timeout")
CONFLICT = ProblemKind("conflict", 409, "Conflict with the log")
TOO_LARGE = ProblemKind("too-large", 413, "Request too large")
MEDIA = ProblemKind("media-type", 415, "Unsupported content type")
HOST = ProblemKind("host", 421, "Wrong host")
INVALID = ProblemKind("invalid", 422, "Invalid request")
BUSY = ProblemKind("busy", 429, "Retry shortly")
HEADERS = ProblemKind("headers", 431, "Request headers too large")
BUG = ProblemKind("bug", 500, "Internal error, see the server log")
NOT_FINITE = ProblemKind("not-finite", 500, "The answer is no finite number")
FAILED = ProblemKind("failed", 503, "The service is shutting down")
FULL = ProblemKind("full", 507, "The disk is full")

KINDS = (MALFORMED_HTTP, MALFORMED, TOKEN, ORIGIN, NOT_FOUND, METHOD, SLOW, CONFLICT, TOO_LARGE, MEDIA, HOST, INVALID,
         BUSY, HEADERS, BUG, NOT_FINITE, FAILED, FULL)  # fmt: skip


class ProblemLine(msgspec.Struct):
    """The problem with one line of a bulk request."""

    line: int
    what: str
    where: str
    value: str | None
    remedy: str


class Problem(msgspec.Struct, omit_defaults=True):
    """The body of a problem."""

    type: str
    title: str
    status: int
    what: str
    where: str
    value: str | None
    remedy: str
    refused: int = 0  # lines of a bulk request
    lines: list[ProblemLine] = []  # the first of them


class RefusalError(Exception):
    """A request that is refused with a problem."""

    def __init__(self, kind: ProblemKind, what: str, remedy: str, where: str = "request", value: object = None) -> None:
        super().__init__(what)
        self.kind, self.what, self.remedy, self.where = kind, what, remedy, where
        self.value = value
        self.lines: list[ProblemLine] = []
        self.headers: Mapping[str, str] = {}

    def problem(self) -> Problem:
        """The body of the response."""
        kind, lines = self.kind, self.lines
        shown = None if self.value is None else short(self.value)
        about = (f"urn:presage:{kind.name}", kind.title, kind.status)
        return Problem(*about, self.what, self.where, shown, self.remedy, len(lines), lines[:SHOWN])

    def line(self, number: int) -> ProblemLine:
        """The same as the problem with one line of a bulk request."""
        shown = None if self.value is None else short(self.value)
        return ProblemLine(number, self.what, self.where, shown, self.remedy)


def refused(error: Exception, where: str, retry_seconds: int) -> RefusalError:
    """The refusal that stands for an error of the service."""
    if isinstance(error, RefusalError):
        return error
    for family, kind in ANSWERS.items():
        if isinstance(error, family) and isinstance(error, PresageError):
            value = None if isinstance(error, StoreError) else error.found  # it may be a path of the server
            found = RefusalError(kind, error.wrong, error.remedy, where, value)
            if kind in (BUSY, FULL):
                found.headers = {"retry-after": str(retry_seconds)}
            return found
    return RefusalError(
        BUG, "internal error", "send the same again; if it fails again, report what the server log says", where
    )


ANSWERS = {
    BusyError: BUSY,
    StoreFullError: FULL,
    StoreFailedError: FAILED,
    InputError: INVALID,
    NotFiniteError: NOT_FINITE,
}


def answer(refusal: RefusalError) -> Response:
    """The response with the problem of a refusal."""
    headers = dict(refusal.headers)
    return Response(msgspec.json.encode(refusal.problem()), refusal.kind.status, headers, MEDIA_TYPE)


def short(value: Any) -> str:
    """A value as text of bounded length that any encoding can carry."""
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}... ({len(text):,} characters)"
