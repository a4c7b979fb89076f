"""Sightings as columns: what each entry did, for many entries at once."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from presage.joining.entries import NOTHING, EntryKind
from presage.joining.join import Bin, Known
from presage.joining.lessons import ObservedEntry
from presage.service.watch.subject import Subject
from presage.spaces import Array


class Signal(NamedTuple):
    """A proxy or an outcome, of the id of each entry [N]."""

    value: Array  # as it is learnt; NOTHING: it is not, so far
    seq: Array  # of the entry that made it learnable; 0: none did, so far
    teaches: Array  # whether this entry made it learnable
    settles: Array  # whether it is awaited no longer, from this entry on


class Sights(NamedTuple):
    """Entries in order [N]."""

    seq: Array
    at: Array
    kind: Array
    predicted: Array  # seq of the prediction; 0: none so far
    predicted_at: Array
    parked: Array  # feedback before its prediction
    late: Array  # feedback after its horizon
    proxy: Signal
    outcome: Signal


class Bodies(NamedTuple):
    """The predictions of some entries [M]."""

    said: Array  # float64 [M, Y]: log-probabilities
    memo: Array  # float64 [M, K, Y]: those of experts
    model: Array  # the position whose parameters answered


def sights(sightings: Sequence[ObservedEntry], subject: Subject) -> Sights:
    """The columns of sightings."""
    seqs, ats, kinds, *_ = zip(*(sighting.entry for sighting in sightings), strict=True)
    seq, at, kind = np.array(seqs, np.int64), np.array(ats, np.int64), _small(kinds)
    known = dict(zip(Known._fields, zip(*(sighting.known for sighting in sightings), strict=True), strict=True))
    predicted, predicted_at = (np.array(known[name], np.int64) for name in ("predicted", "predicted_at"))
    awaited = (predicted > 0) & (predicted < seq)  # the prediction came before this entry
    feedback = (kind == EntryKind.PROXY) | (kind == EntryKind.OUTCOME)
    bin: Array = np.where(kind == EntryKind.PROXY, _small(known["proxy_bin"]), _small(known["outcome_bin"]))
    late = feedback & awaited & (bin == Bin.LATE)
    on_time = np.where(awaited & ~late, kind, 0)
    proxy, outcome = (
        _signal(known, name, absent, seq, (kind == EntryKind.PREDICTED, on_time == own, kind == missed))
        for name, absent, own, missed in (
            ("proxy", subject.horizons.absent_proxy, EntryKind.PROXY, EntryKind.ABSENT_PROXY),
            ("outcome", subject.horizons.absent_outcome, EntryKind.OUTCOME, EntryKind.ABSENT_OUTCOME),
        )
    )
    return Sights(seq, at, kind, predicted, predicted_at, feedback & ~awaited, late, proxy, outcome)


def _signal(
    known: Mapping[str, tuple[Any, ...]], name: str, absent: int, seq: Array, entry: tuple[Array, Array, Array]
) -> Signal:
    """One of both signals; `entry` tells whether each is a prediction, or its feedback on time, or its absence."""
    value, came, learnable = (np.array(known[part], np.int64) for part in (name, f"{name}_entry", f"{name}_seq"))
    learnt = np.where(_small(known[f"{name}_bin"]) == Bin.TRAINED, value, absent)
    predicted, fed, missed = entry
    parked = predicted & (came > 0) & (came < seq)
    teaches = (learnable > 0) & (learnable == seq)
    return Signal(np.where(learnable > 0, learnt, NOTHING), learnable, teaches, parked | fed | missed)


def _small(values: Sequence[int]) -> Array:
    """Whole numbers below 256; enumerations take NumPy ten times as long otherwise."""
    return np.frombuffer(bytes(values), np.uint8)


def bodies(sightings: Sequence[ObservedEntry], rows: Array, subject: Subject, most: float) -> Bodies:
    """The predictions of some rows of sightings; no log-probability lies below -`most`."""
    asked = [body for body in (sightings[row].body for row in rows.tolist()) if body is not None]
    assert len(asked) == len(rows)
    said = np.frombuffer(b"".join([body.said for body in asked]), "<f4").reshape(len(asked), subject.outcomes)
    width = 4 * subject.experts * subject.outcomes
    told = np.frombuffer(b"".join([body.memo[:width] for body in asked]), "<f4")
    memo = told.reshape(len(asked), subject.experts, subject.outcomes)
    model = np.array([body.model for body in asked], np.int64)
    return Bodies(np.maximum(said.astype(np.float64), -most), np.maximum(memo.astype(np.float64), -most), model)
