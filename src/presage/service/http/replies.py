"""The bodies of answers: their shapes, and how the service's results are put into them."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from presage.service.interface import EventStatus, IdStatus, PredictionResult
from presage.spaces import Array


class PredictionReply(msgspec.Struct, omit_defaults=True):
    """A prediction: the probability of each outcome, and the version of the model that gave it.

    In a batch it may be a conflict: nothing was done with it, since something else is in the log under its id.
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
    """What became of a proxy or an outcome."""

    id: str
    status: Literal["accepted", "repeated"]
    seq: int
    bin: str


class ConflictLine(msgspec.Struct):
    """A conflict in a list or a bulk: which element or line it is (from 1), and what is there already."""

    line: int
    id: str
    why: str


class BulkReply(msgspec.Struct):
    """What became of a list or a bulk."""

    accepted: int
    repeated: int
    conflicts: int
    conflicting: list[ConflictLine]


class SignalReply(msgspec.Struct):
    """What is known of a proxy or an outcome."""

    value: str | None
    bin: str


class StateReply(msgspec.Struct):
    """What is known of an id."""

    id: str
    predicted_at: int | None  # microseconds since 1970 UTC
    proxy: SignalReply
    outcome: SignalReply
    probabilities: dict[str, float] | None  # as first given
    nowcast: dict[str, float] | None  # with the proxy, by the model of now
    model: int


class HealthReply(msgspec.Struct):
    """Whether the service lives, or is ready."""

    status: Literal["ok", "unavailable"]
    why: str = ""


ModelReply = dict[str, Any]
"""The model: task, forecaster, log position, parameters' position and hash, versions."""


def prediction_reply(answered: PredictionResult, outcomes: Sequence[str]) -> PredictionReply:
    """A prediction by the names of the outcomes, or the conflict it met."""
    done = answered.done
    if done.status == "conflict":
        return PredictionReply(done.id, "conflict", 0, 0, {}, done.why)
    status: Literal["accepted", "repeated"] = "repeated" if done.status == "repeated" else "accepted"
    return PredictionReply(done.id, status, done.seq, answered.model, by_name(answered.probabilities, outcomes))


def feedback_reply(done: EventStatus) -> FeedbackReply:
    """What became of a proxy or an outcome that met no conflict."""
    return FeedbackReply(done.id, "repeated" if done.status == "repeated" else "accepted", done.seq, done.bin)


def ranked(replies: Iterable[PredictionReply], outcome: str) -> list[PredictionReply]:
    """Predictions, the most probable of an outcome first, equal ones as they came; conflicts come last."""
    return sorted(replies, key=lambda each: -each.probabilities.get(outcome, -1.0))


def bulk_reply(events: Iterable[EventStatus], numbers: Iterable[int]) -> BulkReply:
    """How many events were accepted, repeated or in conflict, and which are the latter."""
    counts = {"accepted": 0, "repeated": 0, "conflict": 0}
    conflicting = []
    for number, done in zip(numbers, events, strict=True):
        counts[done.status] += 1
        if done.status == "conflict":
            conflicting.append(ConflictLine(number, done.id, done.why))
    return BulkReply(counts["accepted"], counts["repeated"], counts["conflict"], conflicting)


def state_reply(looked: IdStatus, outcomes: Sequence[str]) -> StateReply:
    """What is known of an id."""
    return StateReply(
        looked.id,
        looked.predicted_at,
        SignalReply(looked.proxy, looked.proxy_bin),
        SignalReply(looked.outcome, looked.outcome_bin),
        None if looked.probabilities is None else by_name(looked.probabilities, outcomes),
        None if looked.nowcast is None else by_name(looked.nowcast, outcomes),
        looked.model,
    )


def by_name(probabilities: Array, outcomes: Sequence[str]) -> dict[str, float]:
    """Probabilities by the names of the outcomes."""
    return dict(zip(outcomes, probabilities.tolist(), strict=True))
