"""The bodies of answers, shared by the service and its client."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from presage.joining.join import Bin, Decision
from presage.journal.appender import EventResult


class PredictionReply(msgspec.Struct, omit_defaults=True):
    """A prediction: the probability of each outcome, and the version of the model that gave it.

    In a batch it may be a conflict: the id is in the log with other features, and nothing was done.
    """

    id: str
    status: Literal["accepted", "repeated", "conflict"]
    seq: int  # of its entry in the log
    model: int  # the log position of the parameters that answered; 0: untrained
    probabilities: dict[str, float]
    why: str = ""  # of a conflict


class PredictionsReply(msgspec.Struct):
    """The predictions of a batch of candidates: in the order they were sent, or ranked."""

    predictions: list[PredictionReply]


class FeedbackReply(msgspec.Struct):
    """The result of a proxy or an outcome."""

    id: str
    status: Literal["accepted", "repeated"]
    seq: int
    bin: str


class ConflictLine(msgspec.Struct):
    """A conflict in a list or a bulk: its element or line (from 1), and what the log holds instead."""

    line: int
    id: str
    why: str


class BulkReply(msgspec.Struct):
    """The result of a list or a bulk."""

    accepted: int
    repeated: int
    conflicts: int
    conflicting: list[ConflictLine]


class SignalReply(msgspec.Struct):
    """The value of a proxy or an outcome, and its state."""

    value: str | None
    bin: str  # "awaited", "parked", "trained", "absent", "late" or "quarantined"


class StateReply(msgspec.Struct):
    """The state of an id: its prediction and its signals."""

    id: str
    predicted_at: int | None  # microseconds since 1970 UTC
    proxy: SignalReply
    outcome: SignalReply
    probabilities: dict[str, float] | None  # as first given
    nowcast: dict[str, float] | None  # with the proxy, by the current model
    model: int


class HealthReply(msgspec.Struct):
    """Whether the service is alive, or ready."""

    status: Literal["ok", "unavailable"]
    why: str = ""


def feedback_reply(id: str, result: EventResult) -> FeedbackReply:
    """The result of a proxy or an outcome that is not in conflict."""
    status: Literal["accepted", "repeated"] = "repeated" if result.decision is Decision.REPEATED else "accepted"
    return FeedbackReply(id, status, result.seq, "" if result.bin is Bin.NONE else result.bin.name.lower())


def bulk_reply(ids: Iterable[str], results: Iterable[EventResult], numbers: Iterable[int]) -> BulkReply:
    """How many events were accepted, repeated or in conflict; `numbers` are their lines."""
    counts = dict.fromkeys(Decision, 0)
    conflicting = []
    for id, result, number in zip(ids, results, numbers, strict=True):
        counts[result.decision] += 1
        if result.decision is Decision.CONFLICT:
            conflicting.append(ConflictLine(number, id, result.reason))
    return BulkReply(counts[Decision.ACCEPTED], counts[Decision.REPEATED], counts[Decision.CONFLICT], conflicting)


def ranked(replies: Iterable[PredictionReply], outcome: str) -> list[PredictionReply]:
    """Predictions, the most probable of an outcome first, equal ones as they came; conflicts come last."""
    return sorted(replies, key=lambda each: -each.probabilities.get(outcome, -1.0))
