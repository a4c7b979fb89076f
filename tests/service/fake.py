"""A service in memory, for tests of what is around it: the same contract, without disk, learner or clock."""

import asyncio
import zlib
from typing import Any, Literal

from presage.errors import StoreFailedError, SymbolError
from presage.joining.counters import Bins, Counters
from presage.joining.entries import EntryKind
from presage.joining.join import Bin, Decision
from presage.journal.appender import EventResult
from presage.service.interface import FeedbackRequest, PredictionRequest, ServiceNumbers
from presage.service.replies import PredictionReply, SignalReply, StateReply
from presage.task.task import Task, read_task

TASK = """
version = 1
name = "books that are finished"

[instance]
title   = { kind = "category", hashed = 1000 }
genres  = { kind = "set", values = ["crime", "love", "science"], slots = 3 }
price   = { kind = "number", centre = 10, scale = 5, missing = 10 }
pages   = { kind = "count", edges = [100, 300] }
gift    = { kind = "boolean" }
bought  = { kind = "timestamp", parts = ["weekday"] }

[proxy]
values = ["none", "some", "much"]
horizon = "1 day"
absent = "none"

[outcome]
values = ["left", "finished"]
horizon = "90 days"
absent = "left"
"""

FEATURES = {
    "title": "Emma",
    "genres": ["love"],
    "price": 7.5,
    "pages": 474,
    "gift": False,
    "bought": "2026-11-16T09:30:00Z",
}

EMMA: dict[str, Any] = {"id": "emma", "features": FEATURES}
"""A prediction that is asked for."""


def books() -> Task:
    return read_task(TASK)


class FakeService:
    """Keeps what it is given; `head` counts what was appended."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.values = {"proxy": task.proxy().values, "outcome": task.outcome.values}
        self.asked: dict[str, tuple[int, PredictionRequest]] = {}
        self.fed: dict[tuple[str, str], tuple[int, FeedbackRequest]] = {}
        self.log: list[PredictionRequest | FeedbackRequest] = []
        self.error: Exception | None = None  # what the next call raises
        self.why = self.failure = ""  # not ready, and never again
        self.seconds = 0.0  # that each call takes

    @property
    def head(self) -> int:
        return len(self.log)

    async def predict(self, requests: list[PredictionRequest]) -> list[PredictionReply]:
        await asyncio.sleep(self.seconds)
        self._check(requests)
        return [self._reply(each) for each in requests]

    async def feed(self, feedback: list[FeedbackRequest]) -> list[EventResult]:
        await asyncio.sleep(self.seconds)
        self._check(feedback)
        return [self._feed(each) for each in feedback]

    async def submit(self, events: list[PredictionRequest | FeedbackRequest]) -> list[EventResult]:
        await asyncio.sleep(self.seconds)
        self._check(events)
        return [self._predict(each) if isinstance(each, PredictionRequest) else self._feed(each) for each in events]

    async def look_up(self, id: str) -> StateReply | None:
        if id not in self.asked and not any((id, kind) in self.fed for kind in self.values):
            return None
        probabilities = self._probabilities(id) if id in self.asked else None
        proxy, outcome = (
            SignalReply(came[1].value, self._bin(id).name.lower()) if came else SignalReply(None, "awaited")
            for came in (self.fed.get((id, kind)) for kind in ("proxy", "outcome"))
        )
        return StateReply(id, 1 if id in self.asked else None, proxy, outcome, probabilities, probabilities, 0)

    def describe(self) -> dict[str, Any]:
        return {"task": self.task.name, "forecaster": "fake", "head": self.head, "model": 0}

    def failed(self) -> str:
        return self.failure

    def ready(self) -> str:
        return self.failure or self.why

    def numbers(self) -> ServiceNumbers:
        counters = Counters(Bins(open=len(self.asked)), predictions=len(self.asked))
        refused = {(EntryKind.PROXY, Decision.REPEATED): 3}
        return ServiceNumbers(self.head, counters, refused, 0, 2, 0, False, 1.0, 0.0, 0)

    def watched(self) -> tuple[int, bytes]:
        return self.head, b'{"number":%d}' % self.head

    def _check(
        self, events: list[PredictionRequest] | list[FeedbackRequest] | list[PredictionRequest | FeedbackRequest]
    ) -> None:
        """Refuse all before anything is appended, as the real service does."""
        if self.error is not None:
            error, self.error = self.error, None
            self.failure = str(error) if isinstance(error, StoreFailedError) else ""
            raise error
        for each in events:
            if isinstance(each, FeedbackRequest) and each.value not in self.values[each.kind]:
                raise SymbolError("no such value", each.value, "give another")

    def _reply(self, request: PredictionRequest) -> PredictionReply:
        result = self._predict(request)
        if result.decision is Decision.CONFLICT:
            return PredictionReply(request.id, "conflict", 0, 0, {}, result.reason)
        status: Literal["accepted", "repeated"] = "accepted" if result.decision is Decision.ACCEPTED else "repeated"
        return PredictionReply(request.id, status, result.seq, 0, self._probabilities(request.id))

    def _predict(self, request: PredictionRequest) -> EventResult:
        first = self.asked.get(request.id)
        if first is None:
            self.log.append(request)
            self.asked[request.id] = self.head, request
            return EventResult(Decision.ACCEPTED, Bin.OPEN, self.head)
        if first[1].features != request.features:
            return EventResult(Decision.CONFLICT, Bin.NONE, 0, "other features")
        return EventResult(Decision.REPEATED, Bin.OPEN, first[0])

    def _feed(self, feedback: FeedbackRequest) -> EventResult:
        first = self.fed.get((feedback.id, feedback.kind))
        if first is None:
            self.log.append(feedback)
            self.fed[feedback.id, feedback.kind] = self.head, feedback
            return EventResult(Decision.ACCEPTED, self._bin(feedback.id), self.head)
        if first[1].value != feedback.value:
            return EventResult(Decision.CONFLICT, Bin.NONE, 0, f"the value {first[1].value}")
        return EventResult(Decision.REPEATED, self._bin(feedback.id), first[0])

    def _bin(self, id: str) -> Bin:
        return Bin.TRAINED if id in self.asked else Bin.PARKED

    def _probabilities(self, id: str) -> dict[str, float]:
        share = (zlib.crc32(id.encode()) % 1000 + 1) / 1002
        return dict(zip(self.values["outcome"], (1 - share, share), strict=True))
