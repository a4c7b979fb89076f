"""A service in memory, for tests of what is around it: the same contract, without disk, learner or clock."""

import asyncio
import zlib
from typing import Any

import numpy as np

from presage.errors import StoreFailedError, SymbolError
from presage.service.features import feature_encoder
from presage.service.interface import EventStatus, FeedbackRequest, IdStatus, PredictionRequest, PredictionResult
from presage.spaces import Array
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
        self.task, self.encode = task, feature_encoder(task)
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

    async def predict(self, asked: list[PredictionRequest]) -> list[PredictionResult]:
        await asyncio.sleep(self.seconds)
        self._check(asked)
        return [self._predicted(each) for each in asked]

    async def feed(self, fed: list[FeedbackRequest]) -> list[EventStatus]:
        await asyncio.sleep(self.seconds)
        self._check(fed)
        return [self._fed(each) for each in fed]

    async def submit(self, events: list[PredictionRequest | FeedbackRequest]) -> list[EventStatus]:
        await asyncio.sleep(self.seconds)
        self._check(events)
        return [
            self._predicted(each).done if isinstance(each, PredictionRequest) else self._fed(each) for each in events
        ]

    async def look_up(self, id: str) -> IdStatus | None:
        if id not in self.asked and not any((id, kind) in self.fed for kind in self.values):
            return None
        said = self._said(id) if id in self.asked else None
        proxy, outcome = (self.fed.get((id, kind)) for kind in ("proxy", "outcome"))
        return IdStatus(
            id, 1 if id in self.asked else None,
            proxy[1].value if proxy else None, self._bin(id) if proxy else "awaited",
            outcome[1].value if outcome else None, self._bin(id) if outcome else "awaited",
            said, said, 0,
        )  # fmt: skip

    def describe(self) -> dict[str, Any]:
        return {"task": self.task.name, "forecaster": "fake", "head": self.head, "model": 0}

    def failed(self) -> str:
        return self.failure

    def ready(self) -> str:
        return self.failure or self.why

    def numbers(self) -> dict[str, float]:
        return {"log_entries": self.head, 'events_total{bin="open"}': len(self.asked), 'events_total{bin="late"}': 0}

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
            if isinstance(each, PredictionRequest):
                self.encode(each.values)
            elif each.value not in self.values[each.kind]:
                raise SymbolError("no such value", each.value, "give another")

    def _predicted(self, asked: PredictionRequest) -> PredictionResult:
        first = self.asked.get(asked.id)
        if first is None:
            self.log.append(asked)
            self.asked[asked.id] = self.head, asked
            return PredictionResult(EventStatus(asked.id, "accepted", "open", self.head), self._said(asked.id), 0)
        if first[1].features != asked.features:
            return PredictionResult(EventStatus(asked.id, "conflict", "", 0, "other features"), self._said(asked.id), 0)
        return PredictionResult(EventStatus(asked.id, "repeated", "open", first[0]), self._said(asked.id), 0)

    def _fed(self, fed: FeedbackRequest) -> EventStatus:
        first = self.fed.get((fed.id, fed.kind))
        if first is None:
            self.log.append(fed)
            self.fed[fed.id, fed.kind] = self.head, fed
            return EventStatus(fed.id, "accepted", self._bin(fed.id), self.head)
        if first[1].value != fed.value:
            return EventStatus(fed.id, "conflict", "", 0, f"the value {first[1].value}")
        return EventStatus(fed.id, "repeated", self._bin(fed.id), first[0])

    def _bin(self, id: str) -> str:
        return "trained" if id in self.asked else "parked"

    def _said(self, id: str) -> Array:
        share = (zlib.crc32(id.encode()) % 1000 + 1) / 1002
        return np.array([1 - share, share], np.float32)
