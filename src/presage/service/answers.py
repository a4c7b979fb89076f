"""Answers made of what the service did."""

from collections.abc import Iterable, Sequence
from typing import Literal

from presage.service.messages import Answered, Done, Looked
from presage.service.replies import (
    BulkReply,
    ConflictLine,
    FeedbackReply,
    PredictionReply,
    SignalReply,
    StateReply,
)
from presage.spaces import Array


def prediction_reply(answered: Answered, outcomes: Sequence[str]) -> PredictionReply:
    """A prediction by the names of the outcomes, or the conflict it met."""
    done = answered.done
    if done.status == "conflict":
        return PredictionReply(done.id, "conflict", 0, 0, {}, done.why)
    status: Literal["accepted", "repeated"] = "repeated" if done.status == "repeated" else "accepted"
    return PredictionReply(done.id, status, done.seq, answered.model, by_name(answered.probabilities, outcomes))


def feedback_reply(done: Done) -> FeedbackReply:
    """What became of a proxy or an outcome that met no conflict."""
    return FeedbackReply(done.id, "repeated" if done.status == "repeated" else "accepted", done.seq, done.bin)


def ranked(replies: Iterable[PredictionReply], outcome: str) -> list[PredictionReply]:
    """Predictions, the most probable of an outcome first, equal ones as they came; conflicts come last."""
    return sorted(replies, key=lambda each: -each.probabilities.get(outcome, -1.0))


def bulk_reply(events: Iterable[Done], numbers: Iterable[int]) -> BulkReply:
    """How many events were accepted, repeated or in conflict, and which are the latter."""
    counts = {"accepted": 0, "repeated": 0, "conflict": 0}
    conflicting = []
    for number, done in zip(numbers, events, strict=True):
        counts[done.status] += 1
        if done.status == "conflict":
            conflicting.append(ConflictLine(number, done.id, done.why))
    return BulkReply(counts["accepted"], counts["repeated"], counts["conflict"], conflicting)


def state_reply(looked: Looked, outcomes: Sequence[str]) -> StateReply:
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
