"""What is answered, as JSON objects; the client reads the same."""

from typing import Any, Literal

import msgspec


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
