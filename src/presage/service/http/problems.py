"""Answers that say what is wrong: `application/problem+json` with what, where, value and remedy."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from presage.errors import LONGEST, BusyError, InputError, PresageError, StoreFailedError, StoreFullError

MEDIA_TYPE = "application/problem+json"
SHOWN = 100
"""How many of the wrong lines of a bulk are told."""


class ProblemKind(NamedTuple):
    """A kind of problem: its name, the status it is answered with, and its title."""

    name: str
    status: int
    title: str


MALFORMED_HTTP = ProblemKind("malformed-http", 400, "The request is not HTTP")
MALFORMED = ProblemKind("malformed", 400, "The request cannot be read")
TOKEN = ProblemKind("token", 401, "The token is missing or wrong")
NOT_FOUND = ProblemKind("not-found", 404, "There is nothing here")
METHOD = ProblemKind("method", 405, "The method is not one of this address")
SLOW = ProblemKind("slow", 408, "The request took too long to arrive")
CONFLICT = ProblemKind("conflict", 409, "Something else is in the log under this id")
TOO_LARGE = ProblemKind("too-large", 413, "The request is larger than the limit")
MEDIA = ProblemKind("media-type", 415, "The body is of another type or encoded")
HOST = ProblemKind("host", 421, "The request is meant for another host")
INVALID = ProblemKind("invalid", 422, "The request can be read but not be right")
BUSY = ProblemKind("busy", 429, "There is too much to do")
HEADERS = ProblemKind("headers", 431, "The head of the request is larger than the limit")
BUG = ProblemKind("bug", 500, "The service failed on this request")
FAILED = ProblemKind("failed", 503, "The service cannot go on")
FULL = ProblemKind("full", 507, "The disk is full")

KINDS = (MALFORMED_HTTP, MALFORMED, TOKEN, NOT_FOUND, METHOD, SLOW, CONFLICT, TOO_LARGE, MEDIA, HOST, INVALID, BUSY,
         HEADERS, BUG, FAILED, FULL)  # fmt: skip


class ProblemLine(msgspec.Struct):
    """What is wrong with one line of a bulk."""

    line: int
    what: str
    where: str
    value: str | None
    remedy: str


class Problem(msgspec.Struct, omit_defaults=True):
    """A problem as it is answered."""

    type: str
    title: str
    status: int
    what: str
    where: str
    value: str | None
    remedy: str
    refused: int = 0  # lines of a bulk
    lines: list[ProblemLine] = []  # the first of them


class RefusalError(Exception):
    """A request that is answered with a problem."""

    def __init__(self, kind: ProblemKind, what: str, remedy: str, where: str = "request", value: object = None) -> None:
        super().__init__(what)
        self.kind, self.what, self.remedy, self.where = kind, what, remedy, where
        self.value = value
        self.lines: list[ProblemLine] = []
        self.headers: Mapping[str, str] = {}

    def problem(self) -> Problem:
        """The problem that is answered."""
        kind, lines = self.kind, self.lines
        shown = None if self.value is None else short(self.value)
        about = (f"urn:presage:{kind.name}", kind.title, kind.status)
        return Problem(*about, self.what, self.where, shown, self.remedy, len(lines), lines[:SHOWN])

    def line(self, number: int) -> ProblemLine:
        """The same as what is wrong with one line of a bulk."""
        shown = None if self.value is None else short(self.value)
        return ProblemLine(number, self.what, self.where, shown, self.remedy)


def refused(error: Exception, where: str, retry_seconds: int) -> RefusalError:
    """What the service raised, as it is answered."""
    if isinstance(error, RefusalError):
        return error
    for family, kind in ANSWERS.items():
        if isinstance(error, family) and isinstance(error, PresageError):
            found = RefusalError(kind, error.wrong, error.remedy, where, error.found)
            if kind in (BUSY, FULL):
                found.headers = {"retry-after": str(retry_seconds)}
            return found
    return RefusalError(
        BUG, "an error that nobody foresaw", "send the same again; tell us what the server's log says", where
    )


ANSWERS = {BusyError: BUSY, StoreFullError: FULL, StoreFailedError: FAILED, InputError: INVALID}


def answer(refusal: RefusalError) -> Response:
    """The response that carries a problem."""
    headers = dict(refusal.headers)
    return Response(msgspec.json.encode(refusal.problem()), refusal.kind.status, headers, MEDIA_TYPE)


def short(value: Any) -> str:
    """A value as text of bounded length that any encoding can carry."""
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}... ({len(text):,} characters)"
