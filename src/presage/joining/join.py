"""The rules that join feedback to predictions: the state of an id, and the result of each event that names it.

An event is accepted into a bin, or repeats the log, or contradicts it. Whether feedback is learned depends neither on
the order of arrival nor on any clock but the times in the log:

- feedback without a prediction is parked, and learned when its prediction arrives;
- feedback after its horizon is kept, and never learned;
- when a horizon has passed without feedback, an entry of its own says so: the learner then learns the value that the
  task declares for this case, or nothing.
"""

import hashlib
from enum import Enum, IntEnum
from typing import NamedTuple

import msgspec

from presage.joining.entries import NOTHING, EntryKind, FeedbackBody, LogEvent, Predicted


class Bin(IntEnum):
    """The status of an entry or of a signal. Its numbers are in every log on disk: append only, never renumber."""

    NONE = 0  # nothing has come
    PARKED = 1  # it waits for its prediction
    TRAINED = 2  # it is learnt
    ABSENT = 3  # it did not come in time
    LATE = 4  # it came after that
    QUARANTINED = 5  # its value is not of the task
    OPEN = 6  # of a prediction: a signal is still awaited


class Known(NamedTuple):
    """The state of an id; never deleted."""

    first: int = 0  # seq of the first entry that names it
    predicted: int = 0  # seq of its prediction; 0: none yet
    predicted_at: int = 0
    features: bytes = b""  # a digest of the bytes of its features
    proxy: int = NOTHING  # the value that came
    proxy_bin: Bin = Bin.NONE
    proxy_entry: int = 0  # seq of the entry that brought the value
    proxy_seq: int = 0  # seq of the entry that made it learnable; 0: not learnable
    outcome: int = NOTHING
    outcome_bin: Bin = Bin.NONE
    outcome_entry: int = 0
    outcome_seq: int = 0


_PROXY_AT, _OUTCOME_AT = map(Known._fields.index, ("proxy", "outcome"))  # where the four fields of each begin


class Horizons(NamedTuple):
    """How long to wait for each signal, in microseconds, and the symbol for its absence."""

    proxy: int
    outcome: int
    absent_proxy: int = NOTHING  # NOTHING: it is censored
    absent_outcome: int = NOTHING


class Decision(Enum):
    """The decision about an event."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"  # the log has the same already: nothing is appended
    CONFLICT = "conflict"  # the log has something else: nothing is appended


class Joined(msgspec.Struct, frozen=True, gc=False):
    """The decision about an event, and the state of its id afterwards."""

    decision: Decision
    known: Known
    bin: Bin = Bin.NONE  # of the entry; of the first one where it is repeated
    reason: str = ""  # of a conflict


# Members by names of their own: in Python 3.11 to look one up in its enumeration takes as long as to make a tuple, and
# every event would do so a dozen times.
_PROXY = EntryKind.PROXY
_NONE, _PARKED, _TRAINED, _ABSENT, _LATE, _QUARANTINED, _OPEN = Bin
_ACCEPTED, _REPEATED, _CONFLICT = Decision


def features_digest(body: Predicted) -> bytes:
    """What is kept with an id of the features that were sent, to tell a resend from another prediction."""
    return hashlib.blake2b(body.features, digest_size=16).digest()


def join_prediction(known: Known, body: Predicted, seq: int, at: int) -> Joined:
    """The result of a prediction as entry `seq`; feedback parked for it is learnable from here on."""
    features = features_digest(body)
    if known.predicted:
        if known.features == features:
            return Joined(_REPEATED, known, prediction_bin(known))
        reason = "the id already has a prediction with other features"
        return Joined(_CONFLICT, known, reason=reason)
    known = Known._make((known.first or seq, seq, at, features, *known[_PROXY_AT:]))
    if known.proxy_bin is _PARKED:
        known = known._replace(proxy_bin=_TRAINED, proxy_seq=seq)
    if known.outcome_bin is _PARKED:
        known = known._replace(outcome_bin=_TRAINED, outcome_seq=seq)
    return Joined(_ACCEPTED, known, prediction_bin(known))


def overdue(known: Known, kind: EntryKind, at: int, horizons: Horizons) -> bool:
    """Whether a signal is missing and its horizon lies before `at`.

    It becomes absent then, before anything else happens to it: so late feedback meets the same state however soon after
    the horizon anything checked.
    """
    if kind == _PROXY:
        return bool(known.predicted) and known.proxy_bin is _NONE and at > known.predicted_at + horizons.proxy
    return bool(known.predicted) and known.outcome_bin is _NONE and at > known.predicted_at + horizons.outcome


def mark_absent(known: Known, kind: EntryKind, seq: int, horizons: Horizons) -> Known:
    """The state after entry `seq` marks an overdue signal absent."""
    if kind == _PROXY:
        return known._replace(proxy_bin=_ABSENT, proxy_seq=seq if horizons.absent_proxy != NOTHING else 0)
    return known._replace(outcome_bin=_ABSENT, outcome_seq=seq if horizons.absent_outcome != NOTHING else 0)


def join_feedback(known: Known, kind: EntryKind, symbol: int, seq: int) -> Joined:
    """The result of a proxy or an outcome as entry `seq`, if it is not overdue."""
    is_proxy = kind == _PROXY
    value, bin, entry = (
        (known.proxy, known.proxy_bin, known.proxy_entry)
        if is_proxy
        else (known.outcome, known.outcome_bin, known.outcome_entry)
    )
    if entry:
        if value == symbol:
            return Joined(_REPEATED, known, bin)
        reason = f"the id already has another {kind.name.lower()}"
        return Joined(_CONFLICT, known, reason=reason)
    bin = _bin_of(known, bin, symbol)
    learnable = seq if bin is _TRAINED else known.proxy_seq if is_proxy else known.outcome_seq
    first = known.first or seq
    came = symbol, bin, seq, learnable
    if is_proxy:  # built as a whole: replacing some fields takes three times as long
        known = Known._make((first, *known[1:_PROXY_AT], *came, *known[_OUTCOME_AT:]))
    else:
        known = Known._make((first, *known[1:_OUTCOME_AT], *came))
    return Joined(_ACCEPTED, known, bin)


def _bin_of(known: Known, bin: Bin, symbol: int) -> Bin:
    if bin is _ABSENT:
        return _LATE
    if symbol < 0:
        return _QUARANTINED
    return _TRAINED if known.predicted else _PARKED


def join(known: Known, event: LogEvent, seq: int, at: int) -> Joined:
    """The result of an event that is not overdue, as entry `seq` at time `at`."""
    if isinstance(event.body, Predicted):
        return join_prediction(known, event.body, seq, at)
    return join_feedback(known, event.kind, event.body.symbol, seq)


def absence(kind: EntryKind, horizons: Horizons) -> tuple[EntryKind, FeedbackBody]:
    """The kind and the body of the entry that marks a signal absent."""
    if kind == _PROXY:
        return EntryKind.ABSENT_PROXY, FeedbackBody(horizons.absent_proxy)
    return EntryKind.ABSENT_OUTCOME, FeedbackBody(horizons.absent_outcome)


def entry_of(known: Known, kind: EntryKind) -> int:
    """The seq of the entry of a kind that names an id; 0: there is none."""
    if kind == EntryKind.PREDICTED:
        return known.predicted
    return known.proxy_entry if kind == _PROXY else known.outcome_entry


def prediction_bin(known: Known) -> Bin:
    """The bin of the entry of a prediction: open while a signal is missing, then that of the better signal."""
    bins = (known.proxy_bin, known.outcome_bin)
    if _NONE in bins:
        return _OPEN
    if _TRAINED in bins:
        return _TRAINED
    return _QUARANTINED if bins == (_QUARANTINED, _QUARANTINED) else _ABSENT
