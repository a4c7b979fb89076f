"""Entries of the log in the order they became known, and their bodies as bytes.

Format 1 keeps a body as one array. From format 2 on an entry has an envelope, which stays, and a body, which an erasure
may remove. docs/log-format.md has every byte.
"""

from enum import IntEnum
from typing import NamedTuple

import msgspec

OLDEST_FORMAT, FORMAT = 1, 2
"""The formats of a log that are read and appended to; a new log has the last."""

NOTHING = -1
"""The symbol for a missing value."""


class EntryKind(IntEnum):
    """The kind of an entry. Its numbers are in every log on disk: append only, never renumber."""

    PREDICTED = 1
    PROXY = 2
    OUTCOME = 3
    ABSENT_PROXY = 4  # it did not come within its horizon
    ABSENT_OUTCOME = 5
    LEARN = 6  # all that was learnable before this entry, and not learnt yet, is learnt here
    SNAPSHOT = 7  # what was learnt was written beside the log; from format 2 on
    REWRITTEN = 8  # the log was made from another one; from format 2 on


VERSIONS = dict.fromkeys(EntryKind, 1)
"""The newest version of each kind that is known here, from format 2 on. None ever changes; another follows it."""


class Predicted(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A prediction: its request, its answer, and the model that made it."""

    features: bytes  # exactly as sent
    symbols: bytes  # int32, little-endian
    dense: bytes  # float32, little-endian
    model: int  # seq of the LEARN entry whose parameters answered; 0: untrained
    log_probabilities: bytes  # float32, little-endian: log-probabilities [Y]
    memo: bytes = b""  # what the forecaster wants back with the feedback: of most float32, little-endian


class FeedbackBody(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A proxy or an outcome, or the decision that it is absent."""

    symbol: int  # NOTHING: a value that the task no longer has; of a decision: censored


class Learn(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """How many lessons of each kind the learner learns at an entry."""

    proxies: int
    outcomes: int


class LogEvent(msgspec.Struct, frozen=True, gc=False):
    """A prediction, a proxy or an outcome before it is in the log."""

    kind: EntryKind
    id: str
    body: Predicted | FeedbackBody
    at: int = 0  # microseconds since 1970, UTC; 0: when it arrives


class SnapshotNote(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A snapshot of what was learnt."""

    position: int  # seq of the LEARN entry at which it was learnt
    sha256: bytes  # of the snapshot, as its manifest says


class RewrittenNote(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The log that this one was made from, its parent."""

    format: int
    seq: int  # of the parent's head
    chain: bytes  # the hash there
    until: int  # entries of the parent after this one were left out
    excluded: int  # how many ids were left out


Note = SnapshotNote | RewrittenNote
"""What an entry says of the log itself: it names no id, teaches nothing and is in no bin."""

Body = Predicted | FeedbackBody | Learn | Note


class Entry(NamedTuple):
    """One row of the log: `seq` counts from 1 without gaps, and `at` never decreases."""

    seq: int
    at: int
    kind: int
    id: str  # "" for LEARN and notes
    body: bytes
    envelope: bytes = b""  # what stays when the body is erased
    version: int = 0  # of the kind; 0: format 1


encode = msgspec.msgpack.Encoder().encode
"""The MessagePack of a body: the same bytes for the same body."""


def entry_with(format: int, place: tuple[int, int], kind: EntryKind, id: str, body: Body) -> Entry:
    r"""The entry of a log of some format at a place, its seq and its time.

    >>> entry_with(2, (1, 0), EntryKind.PROXY, "a", FeedbackBody(3))
    Entry(seq=1, at=0, kind=<EntryKind.PROXY: 2>, id='a', body=b'\x91\x03', envelope=b'', version=1)
    """
    if format == OLDEST_FORMAT:
        return Entry(*place, kind, id, encode(body))
    if isinstance(body, FeedbackBody):
        return Entry(*place, kind, id, encode(body), b"", 1)
    if isinstance(body, Predicted):
        erasable = (body.features, body.symbols, body.dense, body.log_probabilities, body.memo)
        return Entry(*place, kind, id, encode(erasable), encode((body.model,)), 1)
    return Entry(*place, kind, id, b"", encode(body), 1)


_predicted = msgspec.msgpack.Decoder(Predicted).decode
_erasable = msgspec.msgpack.Decoder(tuple[bytes, bytes, bytes, bytes, bytes]).decode
_model = msgspec.msgpack.Decoder(tuple[int]).decode
_feedback = msgspec.msgpack.Decoder(FeedbackBody).decode
_learn = msgspec.msgpack.Decoder(Learn).decode
_snapshot = msgspec.msgpack.Decoder(SnapshotNote).decode


def predicted_in(entry: Entry) -> Predicted:
    """The prediction in an entry."""
    if not entry.version:
        return _predicted(entry.body)
    features, symbols, dense, log_probabilities, memo = _erasable(entry.body)
    return Predicted(features, symbols, dense, model_in(entry), log_probabilities, memo)


def model_in(entry: Entry) -> int:
    """The position of the model that made the prediction in an entry."""
    return _model(entry.envelope)[0] if entry.version else _predicted(entry.body).model


def feedback_in(entry: Entry) -> FeedbackBody:
    """The proxy or the outcome in an entry, or the decision that it is absent."""
    return _feedback(entry.body)


def learn_in(entry: Entry) -> Learn:
    """How much is learnt at an entry."""
    return _learn(entry.envelope if entry.version else entry.body)


def snapshot_in(entry: Entry) -> SnapshotNote:
    """The snapshot that an entry is about."""
    return _snapshot(entry.envelope)
