"""What the bodies of requests mean: predictions asked for, feedback, and bulks of both."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from presage.service.http.problems import INVALID, TOO_LARGE, ProblemLine, RefusalError
from presage.service.http.strict_json import EXACT, check_keys, decode, decode_features
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.service.limits import Limits
from presage.task.task import Task

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class CandidateBody(msgspec.Struct, forbid_unknown_fields=True):
    """A prediction that is asked for: an id that nobody else uses, and the features of the instance."""

    id: str
    features: msgspec.Raw
    at: int | UnsetType = UNSET


class PredictionsBody(msgspec.Struct, forbid_unknown_fields=True):
    """One prediction, or a batch of candidates."""

    id: str | UnsetType = UNSET
    features: msgspec.Raw | UnsetType = UNSET
    at: int | UnsetType = UNSET
    candidates: list[CandidateBody] | UnsetType = UNSET
    rank: bool | UnsetType = UNSET
    outcome: str | UnsetType = UNSET


class FeedbackBodyJson(msgspec.Struct, forbid_unknown_fields=True):
    """A proxy or an outcome that became known."""

    id: str
    value: str
    at: int | UnsetType = UNSET


class PredictionEvent(CandidateBody, forbid_unknown_fields=True, tag_field="kind", tag="prediction"):
    """A prediction in a bulk."""


class ProxyEvent(FeedbackBodyJson, forbid_unknown_fields=True, tag_field="kind", tag="proxy"):
    """A proxy in a bulk."""


class OutcomeEvent(FeedbackBodyJson, forbid_unknown_fields=True, tag_field="kind", tag="outcome"):
    """An outcome in a bulk."""


class Request(NamedTuple):
    """Predictions that are asked for, as one or as a batch, and the outcome to rank them by."""

    asked: list[PredictionRequest]
    batch: bool
    rank_by: str | None


_PREDICTIONS = msgspec.json.Decoder(PredictionsBody)
_FEEDBACK = msgspec.json.Decoder(FeedbackBodyJson | list[FeedbackBodyJson])
_EVENT = msgspec.json.Decoder(PredictionEvent | ProxyEvent | OutcomeEvent)


class Reader:
    """What bodies mean for a task, within limits."""

    def __init__(self, task: Task, limits: Limits) -> None:
        self.limits = limits
        self.values = {"proxy": task.proxy().values, "outcome": task.outcome.values}

    def predictions(self, body: bytes) -> Request:
        """The predictions that a body asks for."""
        sent = decode(_PREDICTIONS, body)
        if sent.candidates is UNSET:
            return self._one(sent, body)
        for name in ("id", "features", "at"):
            if getattr(sent, name) is not UNSET:
                raise _refuse(f"{name} beside candidates", "give each candidate its own", f"$.{name}")
        self._count(len(sent.candidates), self.limits.candidates, "candidates", "$.candidates")
        asked = [self._asked(each, f"$.candidates[{place}]") for place, each in enumerate(sent.candidates)]
        keys = sum(map(_fields, sent.candidates)) + sum(len(each.values) for each in asked)
        check_keys(body, keys + 1 + (sent.rank is not UNSET) + (sent.outcome is not UNSET))
        return Request(asked, True, self._rank_by(sent))

    def feedback(self, kind: str, body: bytes) -> tuple[list[FeedbackRequest], bool]:
        """The proxies or outcomes of a body, and whether they came as a list."""
        sent = decode(_FEEDBACK, body)
        if isinstance(sent, FeedbackBodyJson):
            fed = [self._fed(kind, sent, "$")]
            check_keys(body, _fields(sent))
            return fed, False
        self._count(len(sent), self.limits.bulk_events, "a list", "$")
        fed = [self._fed(kind, each, f"$[{place}]") for place, each in enumerate(sent)]
        check_keys(body, sum(map(_fields, sent)))
        return fed, True

    def event(self, line: bytes) -> PredictionRequest | FeedbackRequest:
        """The event of a line."""
        sent = decode(_EVENT, line)
        if isinstance(sent, PredictionEvent):
            asked = self._asked(sent, "$")
            check_keys(line, 1 + _fields(sent) + len(asked.values))
            return asked
        fed = self._fed("proxy" if isinstance(sent, ProxyEvent) else "outcome", sent, "$")
        check_keys(line, 1 + _fields(sent))
        return fed

    def lines(self, body: bytes) -> list[tuple[int, bytes]]:
        """The lines of a bulk that are not blank, with their numbers, which count from 1."""
        found = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line and not line.isspace()]
        self._count(len(found), self.limits.bulk_events, "a bulk", "request")
        return found

    def id(self, id: str, where: str) -> str:
        """An id, if it can be one: any text but control characters, compared byte by byte."""
        size = len(id) if id.isascii() else len(id.encode())
        if not 1 <= size <= self.limits.id_bytes:
            remedy = f"give 1 to {self.limits.id_bytes} bytes of UTF-8"
            raise _refuse(f"an id of {size} bytes", remedy, where, id)
        if not id.isprintable() and _CONTROL.search(id):
            raise _refuse("an id with a control character", "leave out line ends, tabs and NUL", where, id)
        return id

    def _one(self, sent: PredictionsBody, body: bytes) -> Request:
        for name in ("rank", "outcome"):
            if getattr(sent, name) is not UNSET:
                raise _refuse(f"{name} without candidates", "give candidates to rank", f"$.{name}")
        if sent.id is UNSET or sent.features is UNSET:
            name = "id" if sent.id is UNSET else "features"
            raise _refuse(f"object missing required field {name}", "give id and features, or candidates", "$")
        asked = self._asked(CandidateBody(sent.id, sent.features, sent.at), "$")
        check_keys(body, 2 + (sent.at is not UNSET) + len(asked.values))
        return Request([asked], False, None)

    def _asked(self, sent: CandidateBody, where: str) -> PredictionRequest:
        features = bytes(sent.features)
        if len(features) > self.limits.features_bytes:
            remedy = f"send at most {self.limits.features_bytes} bytes (the limit features_bytes)"
            raise RefusalError(TOO_LARGE, f"features of {len(features)} bytes", remedy, f"{where}.features")
        id = self.id(sent.id, f"{where}.id")
        return PredictionRequest(id, features, decode_features(features, f"{where}.features"), self._at(sent.at, where))

    def _fed(self, kind: str, sent: FeedbackBodyJson, where: str) -> FeedbackRequest:
        if sent.value not in self.values[kind]:
            remedy = f"give one of {', '.join(self.values[kind][:20])}"
            raise _refuse(f"no value of the task's {kind}", remedy, f"{where}.value", sent.value)
        return FeedbackRequest(self.id(sent.id, f"{where}.id"), kind, sent.value, self._at(sent.at, where))

    def _at(self, at: int | UnsetType, where: str) -> int | None:
        if (at is UNSET) == (self.limits.clock == "events"):
            remedy = (
                "give it in microseconds since 1970 UTC" if at is UNSET else "leave it out: the clock is the server's"
            )
            raise _refuse("no moment" if at is UNSET else "a moment", remedy, f"{where}.at")
        if at is not UNSET and not 0 <= at <= EXACT:
            raise _refuse("a moment out of range", "give microseconds since 1970 UTC", f"{where}.at", at)
        return None if at is UNSET else at

    def _rank_by(self, sent: PredictionsBody) -> str | None:
        if sent.rank is not True:
            if sent.outcome is not UNSET:
                raise _refuse("an outcome, but no rank", "add rank: true", "$.outcome", sent.outcome)
            return None
        if sent.outcome is UNSET or sent.outcome not in self.values["outcome"]:
            remedy = f"give outcome as one of {', '.join(self.values['outcome'][:20])}"
            found = None if sent.outcome is UNSET else sent.outcome
            raise _refuse("no outcome to rank by", remedy, "$.outcome", found)
        return sent.outcome

    def _count(self, found: int, most: int, of: str, where: str) -> None:
        if not found:
            raise _refuse(f"{of} without anything in it", "send at least one", where)
        if found > most:
            raise RefusalError(TOO_LARGE, f"{of} of {found}", f"send at most {most} at once", where)


def refuse_lines(lines: Iterable[ProblemLine]) -> RefusalError:
    """The refusal of a bulk with these lines wrong; nothing of it was taken."""
    found = list(lines)
    wrong = "1 line is wrong" if len(found) == 1 else f"{len(found)} lines are wrong"
    refusal = _refuse(wrong, "correct what is wrong and send all of it again: nothing was taken", "lines")
    refusal.lines = found
    return refusal


def _refuse(what: str, remedy: str, where: str, value: Any = None) -> RefusalError:
    return RefusalError(INVALID, what, remedy, where, value)


def _fields(sent: CandidateBody | FeedbackBodyJson) -> int:
    """How many fields were sent, not counting the kind."""
    return 2 + (sent.at is not UNSET)
