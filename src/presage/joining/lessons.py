"""Lessons of the log, and its entries with the state of their ids."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from presage.joining.entries import NOTHING, Entry, EntryKind, Predicted
from presage.joining.join import Bin, Horizons, Known


class Lesson(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A proxy or an outcome to learn; positions are those in the log at which a signal became learnable."""

    seq: int  # of the entry that made it learnable: the feedback, the decision that it did not come, or the prediction
    kind: EntryKind  # PROXY or OUTCOME
    symbols: bytes
    dense: bytes
    memo: bytes
    z: int  # NOTHING: not learnable so far
    z_seq: int  # 0: not learnable so far
    y: int
    y_seq: int
    predicted: int  # seq of its prediction, less the notes before it: a restart does not renumber what is learnt


class Boundary(NamedTuple):
    """A LEARN entry: all lessons before it are learnt, the proxies, then the outcomes, as they were predicted."""

    seq: int
    predictions: int  # how many were made before it
    chain: bytes  # the hash of the log up to here
    at: int = 0  # when, microseconds since 1970


def proxy_learnt(known: Known, horizons: Horizons) -> int:
    """The proxy of an id as it is learnt: the value that came in time, or the one that its absence stands for."""
    if not known.proxy_seq:
        return NOTHING
    return known.proxy if known.proxy_bin is Bin.TRAINED else horizons.absent_proxy


def outcome_learnt(known: Known, horizons: Horizons) -> int:
    """The outcome of an id as it is learnt."""
    if not known.outcome_seq:
        return NOTHING
    return known.outcome if known.outcome_bin is Bin.TRAINED else horizons.absent_outcome


def lessons_at(seq: int, known: Known, body: Predicted, horizons: Horizons, notes: int) -> Iterator[Lesson]:
    """The lessons of an id that entry `seq` made learnable, the proxy first; `notes` lie before its prediction.

    They are the same whether `known` is what was known then or what became known since.
    """
    z = y = NOTHING
    z_seq = y_seq = 0
    if 0 < known.proxy_seq <= seq:
        z, z_seq = proxy_learnt(known, horizons), known.proxy_seq
    if 0 < known.outcome_seq <= seq:
        y, y_seq = outcome_learnt(known, horizons), known.outcome_seq
    for kind, learnable in ((EntryKind.PROXY, z_seq), (EntryKind.OUTCOME, y_seq)):
        if learnable == seq:
            yield Lesson(seq, kind, body.symbols, body.dense, body.memo, z, z_seq, y, y_seq, known.predicted - notes)


def in_learning_order(lessons: Iterable[Lesson], previous: int) -> tuple[list[Lesson], list[Lesson]]:
    """The proxies and the outcomes of one batch in the order of their predictions, each with its other signal.

    `previous` is the LEARN entry before the batch. A proxy tells its outcome only if that was learnt in an earlier
    batch, an outcome tells its proxy if that is learnt by now, even if it came after: so each pair is met exactly once.
    The order is that of a backtest, in which all feedback seen at the end of a round is learnt row by row.
    """
    ordered = sorted(lessons, key=attrgetter("predicted"))
    proxies = [lesson for lesson in ordered if lesson.kind == EntryKind.PROXY]
    outcomes = [lesson for lesson in ordered if lesson.kind == EntryKind.OUTCOME]
    met = {lesson.predicted: lesson for lesson in proxies}
    return (
        [lesson if 0 < lesson.y_seq < previous else replace(lesson, y=NOTHING, y_seq=0) for lesson in proxies],
        [replace(lesson, z=(of := met.get(lesson.predicted, lesson)).z, z_seq=of.z_seq) for lesson in outcomes],
    )


class ObservedEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry, and the state of its id then or later; the positions in the state show what was known then."""

    entry: Entry
    known: Known
    body: Predicted | None  # its prediction, where the entry makes something learnable
