"""What passes between the HTTP layer and the service behind it."""

from typing import Any, NamedTuple, Protocol

import msgspec

from presage.spaces import Array


class PredictionRequest(msgspec.Struct, frozen=True, gc=False):
    """A prediction that is asked for."""

    id: str
    features: bytes  # the JSON object, as it was sent
    values: dict[str, Any]  # the same, decoded
    at: int | None = None  # microseconds; only where requests carry the time


class FeedbackRequest(msgspec.Struct, frozen=True, gc=False):
    """A proxy or an outcome that is fed back."""

    id: str
    kind: str  # "proxy" or "outcome"
    value: str  # one of the task's values
    at: int | None = None


class EventStatus(msgspec.Struct, frozen=True, gc=False):
    """What became of an event."""

    id: str
    status: str  # "accepted", "repeated" or "conflict"
    bin: str  # "open", "parked", "trained", "late"; "" for a conflict
    seq: int  # of its entry in the log; that of the first one where it is repeated; 0 for a conflict
    why: str = ""  # of a conflict: what is there already


class PredictionResult(NamedTuple):
    """A prediction and what became of its event."""

    done: EventStatus
    probabilities: Array  # float32 [Y], in the order of the task's values; those first given where it is repeated
    model: int  # the log position of the parameters that answered


class IdStatus(NamedTuple):
    """What is known of an id."""

    id: str
    predicted_at: int | None
    proxy: str | None
    proxy_bin: str  # "awaited", "parked", "trained", "absent" or "late"
    outcome: str | None
    outcome_bin: str
    probabilities: Array | None  # as first given; None if it was never asked for
    nowcast: Array | None  # with the proxy, by the model of now
    model: int


class Service(Protocol):
    """What the HTTP layer talks to; methods that wait for the disk are coroutines."""

    async def predict(self, asked: list[PredictionRequest]) -> list[PredictionResult]:
        """The answers in the same order, each durable in the log."""
        ...

    async def feed(self, fed: list[FeedbackRequest]) -> list[EventStatus]:
        """What became of each, durable in the log."""
        ...

    async def submit(self, events: list[PredictionRequest | FeedbackRequest]) -> list[EventStatus]:
        """What became of each of a mixed bulk, in order."""
        ...

    async def look_up(self, id: str) -> IdStatus | None:
        """What is known of an id, or None."""
        ...

    def describe(self) -> dict[str, Any]:
        """The model: task, forecaster, log position, parameters' position and hash, versions."""
        ...

    def failed(self) -> str:
        """Empty, or why nothing can be kept any more."""
        ...

    def ready(self) -> str:
        """Empty if predictions and feedback can be taken, otherwise why not."""
        ...

    def numbers(self) -> dict[str, float]:
        """Counters and gauges by the names that /metrics shows, without the prefix."""
        ...

    def watched(self) -> tuple[int, bytes]:
        """What the dashboard shows, as JSON, and its number, which grows; asking makes the next."""
        ...
