"""Entries of the log in the order they became known, each bound to all before it by a chain of hashes."""

import hashlib
import struct
from enum import IntEnum
from typing import NamedTuple

import msgspec

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


class Entry(NamedTuple):
    """One row of the log: `seq` counts from 1 without gaps, and `at` never decreases."""

    seq: int
    at: int
    kind: int
    id: str  # "" for LEARN
    body: bytes


encode = msgspec.msgpack.Encoder().encode
"""The MessagePack of a body: the same bytes for the same body."""

decode_predicted = msgspec.msgpack.Decoder(Predicted).decode
decode_feedback = msgspec.msgpack.Decoder(FeedbackBody).decode
decode_learn = msgspec.msgpack.Decoder(Learn).decode

_PLACE = struct.Struct("<QqBH")  # seq, at, kind, bytes of the id


def chain_start(task: bytes) -> bytes:
    """The hash before the first entry; logs of different tasks never share one."""
    return hashlib.blake2b(task, digest_size=32, person=b"presage log").digest()


def chain(previous: bytes, entry: Entry) -> bytes:
    """The hash of an entry and of all before it.

    >>> start = chain_start(b"books")
    >>> one = chain(start, Entry(1, 1_700_000_000_000_000, EntryKind.PROXY, "a", encode(FeedbackBody(3))))
    >>> other = chain(start, Entry(1, 1_700_000_000_000_000, EntryKind.PROXY, "a", encode(FeedbackBody(4))))
    >>> len(one), one == other
    (32, False)
    """
    id = entry.id.encode()
    place = _PLACE.pack(entry.seq, entry.at, entry.kind, len(id))
    return hashlib.blake2b(b"".join((previous, place, id, entry.body)), digest_size=32).digest()
