"""What passes between the HTTP layer and the service behind it."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from presage.joining.counters import Counters
from presage.joining.entries import EntryKind
from presage.joining.join import Decision
from presage.journal.appender import EventResult
from presage.service.features import EncodedFeatures
from presage.service.learner.heartbeat import LearnerStatus
from presage.service.replies import PredictionReply, StateReply


class PredictionRequest(msgspec.Struct, frozen=True, gc=False):
    """A request for a prediction."""

    id: str
    features: bytes  # the JSON object, as it was sent
    encoded: EncodedFeatures  # the same, for the task's forecaster
    at: int | None = None  # microseconds; only where requests carry the time


class FeedbackRequest(msgspec.Struct, frozen=True, gc=False):
    """A proxy or an outcome that became known."""

    id: str
    kind: str  # "proxy" or "outcome"
    value: str  # one of the task's values
    at: int | None = None


class ServiceNumbers(NamedTuple):
    """The numbers that /metrics shows."""

    log_entries: int
    counters: Counters  # of the log
    refused: Mapping[tuple[EntryKind, Decision], int]  # events that were repeated or in conflict, since the start
    events_waiting: int  # for the writer of the log
    lessons_waiting: int  # for the learner
    model_position: int  # the log position of the parameters in use
    drift_alarm: bool
    drift_p: float
    drift_nats: float
    watch_missed: int  # log entries that the dashboard left out
    model_seconds: float = math.nan  # since those parameters were learned, by the clock of the log
    learner: LearnerStatus = LearnerStatus()


class Service(Protocol):
    """What the HTTP layer calls; methods that wait for the disk are coroutines."""

    async def predict(self, requests: list[PredictionRequest]) -> list[PredictionReply]:
        """The predictions in the same order, each durable in the log."""
        ...

    async def feed(self, feedback: list[FeedbackRequest]) -> list[EventResult]:
        """The result of each, durable in the log."""
        ...

    async def submit(self, events: list[PredictionRequest | FeedbackRequest]) -> list[EventResult]:
        """The result of each event of a mixed bulk, in order."""
        ...

    async def look_up(self, id: str) -> StateReply | None:
        """The state of an id; None if it is unknown."""
        ...

    def describe(self) -> dict[str, Any]:
        """The model: task, forecaster, log position, and the position of the parameters in use."""
        ...

    def failed(self) -> str:
        """Empty, or why nothing can be kept any more."""
        ...

    def ready(self) -> str:
        """Empty if predictions and feedback can be taken, otherwise why not."""
        ...

    def numbers(self) -> ServiceNumbers:
        """The numbers that /metrics shows."""
        ...

    def watched(self) -> tuple[int, bytes]:
        """The current frame of the dashboard as JSON, and its number, which grows; each call requests the next."""
        ...
