"""Bodies of requests, decoded and encoded: predictions, feedback, and bulk requests of both."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from presage.errors import FeatureError
from presage.service.features import feature_encoder
from presage.service.http.problems import INVALID, TOO_LARGE, ProblemLine, RefusalError
from presage.service.http.strict_json import EXACT, Value, check_keys, count_keys, decode, decode_features
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.service.limits import Limits
from presage.task.task import Task

PART = 65_536
"""Bytes of a bulk request that are read before other requests get a turn."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class CandidateBody(msgspec.Struct, forbid_unknown_fields=True):
    """A request for a prediction: an id of its own, and the features of the instance."""

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
    """A proxy or an outcome that became known: one of its values, or a number that the task cuts into one."""

    id: str
    value: str | int | float
    at: int | UnsetType = UNSET


class LabelBody(FeedbackBodyJson, forbid_unknown_fields=True):
    """The same for a task that cuts no numbers."""

    value: str


class PredictionEvent(CandidateBody, forbid_unknown_fields=True, tag_field="kind", tag="prediction"):
    """A prediction in a bulk request."""


class ProxyEvent(FeedbackBodyJson, forbid_unknown_fields=True, tag_field="kind", tag="proxy"):
    """A proxy in a bulk request."""


class OutcomeEvent(FeedbackBodyJson, forbid_unknown_fields=True, tag_field="kind", tag="outcome"):
    """An outcome in a bulk request."""


class ProxyLabelEvent(ProxyEvent, forbid_unknown_fields=True, tag_field="kind", tag="proxy"):
    """A proxy in a bulk, for a task that cuts no numbers."""

    value: str


class OutcomeLabelEvent(OutcomeEvent, forbid_unknown_fields=True, tag_field="kind", tag="outcome"):
    """An outcome in a bulk, for a task that cuts no numbers."""

    value: str


class SentFeatures(msgspec.Struct, frozen=True, gc=False):
    """The features of an instance: the JSON object as it was sent, and its values by name."""

    text: bytes
    values: dict[str, Value]


class PredictionsSent(NamedTuple):
    """The requests for predictions of a body, whether they are a batch, and the outcome to rank them by."""

    requests: list[PredictionRequest]
    batch: bool
    rank_by: str | None


_PREDICTIONS = msgspec.json.Decoder(PredictionsBody)
_NUMBERS = msgspec.json.Decoder(FeedbackBodyJson | list[FeedbackBodyJson])
_LABELS = msgspec.json.Decoder(LabelBody | list[LabelBody])
_NUMBER_EVENT = msgspec.json.Decoder(PredictionEvent | ProxyEvent | OutcomeEvent)
_LABEL_EVENT = msgspec.json.Decoder(PredictionEvent | ProxyLabelEvent | OutcomeLabelEvent)


class Reader:
    """Decodes bodies, and encodes what they ask for, for a task and within limits."""

    def __init__(self, task: Task, limits: Limits) -> None:
        self.limits, self.encode = limits, feature_encoder(task)
        self.values = {"proxy": task.proxy().values, "outcome": task.outcome.values}
        self.cuts = {"proxy": task.proxy().cuts, "outcome": task.outcome.cuts}

    def predictions(self, body: bytes) -> PredictionsSent:
        """The predictions that a body asks for."""
        sent = decode(_PREDICTIONS, body)
        batch = sent.candidates is not UNSET
        candidates = self._candidates(sent) if batch else [_single(sent)]
        places = [f"$.candidates[{place}]" if batch else "$" for place in range(len(candidates))]
        features = [self._features(each, where) for each, where in zip(candidates, places, strict=True)]
        check_keys(body, count_keys(sent) + sum(len(each.values) for each in features))
        found = [self._prediction(*parts) for parts in zip(candidates, features, places, strict=True)]
        return PredictionsSent(found, batch, self._rank_by(sent) if batch else None)

    def feedback(self, kind: str, body: bytes) -> tuple[list[FeedbackRequest], bool]:
        """The proxies or outcomes of a body, and whether they came as a list."""
        sent: FeedbackBodyJson | list[FeedbackBodyJson] | list[LabelBody]
        sent = decode(_NUMBERS, body) if any(self.cuts.values()) else decode(_LABELS, body)
        check_keys(body, count_keys(sent))
        if isinstance(sent, FeedbackBodyJson):
            return [self._feedback(kind, sent, "$")], False
        self._count(len(sent), self.limits.bulk_events, "a list", "$")
        return [self._feedback(kind, each, f"$[{place}]") for place, each in enumerate(sent)], True

    def event(self, line: bytes) -> PredictionRequest | FeedbackRequest:
        """The event of a line."""
        sent: PredictionEvent | ProxyEvent | OutcomeEvent
        sent = decode(_NUMBER_EVENT, line) if any(self.cuts.values()) else decode(_LABEL_EVENT, line)
        if isinstance(sent, PredictionEvent):
            features = self._features(sent, "$")
            check_keys(line, count_keys(sent) + len(features.values))
            return self._prediction(sent, features, "$")
        check_keys(line, count_keys(sent))
        return self._feedback("proxy" if isinstance(sent, ProxyEvent) else "outcome", sent, "$")

    def parts(self, body: bytes) -> Iterator[list[tuple[int, bytes]]]:
        """The lines of a bulk request that are not blank, numbered from 1, in parts of so many bytes or one line."""
        start = found = 0
        number = 1
        while start < len(body):
            end = body.find(b"\n", start + PART - 1)
            part = body[start : end if end >= 0 else len(body)]
            lines = [] if part.isspace() else part.split(b"\n")
            some = [(place, line) for place, line in enumerate(lines, number) if line and not line.isspace()]
            found += len(some)
            if found > self.limits.bulk_events:
                most = self.limits.bulk_events
                raise RefusalError(TOO_LARGE, f"a bulk of more than {most}", f"send at most {most} at once")
            yield some
            number += part.count(b"\n") + 1
            start += len(part) + 1
        self._count(found, self.limits.bulk_events, "a bulk", "request")

    def id(self, id: str, where: str) -> str:
        """A valid id: any text without control characters, compared byte by byte. Raise RefusalError for others."""
        size = len(id) if id.isascii() else len(id.encode())
        if not 1 <= size <= self.limits.id_bytes:
            remedy = f"give 1 to {self.limits.id_bytes} bytes of UTF-8"
            raise _refuse(f"the id has {size} bytes", remedy, where, id)
        if not id.isprintable() and _CONTROL.search(id):
            raise _refuse("the id has a control character", "leave out line ends, tabs and NUL", where, id)
        return id

    def _candidates(self, sent: PredictionsBody) -> list[CandidateBody]:
        for name in ("id", "features", "at"):
            if getattr(sent, name) is not UNSET:
                raise _refuse(f"{name} beside candidates", "give each candidate its own", f"$.{name}")
        assert sent.candidates is not UNSET
        self._count(len(sent.candidates), self.limits.candidates, "candidates", "$.candidates")
        return sent.candidates

    def _features(self, sent: CandidateBody, where: str) -> SentFeatures:
        text = bytes(sent.features)
        if len(text) > self.limits.features_bytes:
            remedy = f"send at most {self.limits.features_bytes} bytes (the limit features_bytes)"
            raise RefusalError(TOO_LARGE, f"the features have {len(text)} bytes", remedy, f"{where}.features")
        return SentFeatures(text, decode_features(text, f"{where}.features"))

    def _prediction(self, sent: CandidateBody, features: SentFeatures, where: str) -> PredictionRequest:
        id, at = self.id(sent.id, f"{where}.id"), self._at(sent.at, where)
        try:
            return PredictionRequest(id, features.text, self.encode(features.values), at)
        except FeatureError as error:
            raise _refuse(error.wrong, error.remedy, f"{where}.features", error.found) from None

    def _feedback(self, kind: str, sent: FeedbackBodyJson, where: str) -> FeedbackRequest:
        value, cuts = sent.value, self.cuts[kind]
        if cuts and not isinstance(value, str):
            value = self.values[kind][cuts.symbol(value)]
        if value not in self.values[kind]:
            remedy = f"give {'a number, or ' if cuts else ''}one of {', '.join(self.values[kind][:20])}"
            raise _refuse(f"not a value of the task's {kind}", remedy, f"{where}.value", value)
        return FeedbackRequest(self.id(sent.id, f"{where}.id"), kind, str(value), self._at(sent.at, where))

    def _at(self, at: int | UnsetType, where: str) -> int | None:
        if (at is UNSET) == (self.limits.clock == "events"):
            remedy = "give it in microseconds since 1970 UTC" if at is UNSET else "leave it out: the server has its own"
            raise _refuse("the time is missing" if at is UNSET else "a time is not accepted", remedy, f"{where}.at")
        if at is not UNSET and not 0 <= at <= EXACT:
            raise _refuse("the time is out of range", "give microseconds since 1970 UTC", f"{where}.at", at)
        return None if at is UNSET else at

    def _rank_by(self, sent: PredictionsBody) -> str | None:
        if sent.rank is not True:
            if sent.outcome is not UNSET:
                raise _refuse("an outcome without rank", "add rank: true", "$.outcome", sent.outcome)
            return None
        if sent.outcome is UNSET or sent.outcome not in self.values["outcome"]:
            remedy = f"give outcome as one of {', '.join(self.values['outcome'][:20])}"
            found = None if sent.outcome is UNSET else sent.outcome
            raise _refuse("the outcome to rank by is missing or unknown", remedy, "$.outcome", found)
        return sent.outcome

    def _count(self, found: int, most: int, of: str, where: str) -> None:
        if not found:
            raise _refuse(f"{of} without elements", "send at least one", where)
        if found > most:
            raise RefusalError(TOO_LARGE, f"{of} of {found}", f"send at most {most} at once", where)


def _single(sent: PredictionsBody) -> CandidateBody:
    """The only candidate of a body without a list of them."""
    for name in ("rank", "outcome"):
        if getattr(sent, name) is not UNSET:
            raise _refuse(f"{name} without candidates", "give candidates to rank", f"$.{name}")
    if sent.id is UNSET or sent.features is UNSET:
        name = "id" if sent.id is UNSET else "features"
        raise _refuse(f"object missing required field {name}", "give id and features, or candidates", "$")
    return CandidateBody(sent.id, sent.features, sent.at)


def refuse_lines(lines: Iterable[ProblemLine]) -> RefusalError:
    """The refusal of a bulk request with these wrong lines."""
    found = list(lines)
    wrong = "1 line is wrong" if len(found) == 1 else f"{len(found)} lines are wrong"
    refusal = _refuse(wrong, "correct these lines and send all of it again: nothing was recorded", "lines")
    refusal.lines = found
    return refusal


def _refuse(what: str, remedy: str, where: str, value: Any = None) -> RefusalError:
    return RefusalError(INVALID, what, remedy, where, value)
