"""Lessons: feedback that is learnt, with what its prediction was made from."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from presage.timeline.entries import NOTHING, Kind, Predicted
from presage.timeline.join import Bin, Horizons, Known


class Lesson(NamedTuple):
    """A proxy or an outcome to learn; positions are those in the log at which a signal became learnable."""

    seq: int  # of the entry that made it learnable: the feedback, the decision that it did not come, or the prediction
    kind: Kind  # PROXY or OUTCOME
    symbols: bytes
    dense: bytes
    memo: bytes
    z: int  # NOTHING: not learnable so far
    z_seq: int  # 0: not learnable so far
    y: int
    y_seq: int
    outcome_number: int  # how many outcomes were learnable before its own; NOTHING: its own is not so far


class Boundary(NamedTuple):
    """A LEARN entry: all lessons before it are learnt, the proxies in order, then the outcomes in order."""

    seq: int
    predictions: int  # how many were made before it
    chain: bytes  # the hash of the log up to here


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


def lessons_at(seq: int, known: Known, body: Predicted, horizons: Horizons) -> Iterator[Lesson]:
    """The lessons of an id that entry `seq` made learnable, the proxy first.

    They are the same whether `known` is what was known then or what became known since.
    """
    z = y = number = NOTHING
    z_seq = y_seq = 0
    if 0 < known.proxy_seq <= seq:
        z, z_seq = proxy_learnt(known, horizons), known.proxy_seq
    if 0 < known.outcome_seq <= seq:
        y, y_seq, number = outcome_learnt(known, horizons), known.outcome_seq, known.outcome_number
    for kind, learnable in ((Kind.PROXY, z_seq), (Kind.OUTCOME, y_seq)):
        if learnable == seq:
            yield Lesson(seq, kind, body.symbols, body.dense, body.memo, z, z_seq, y, y_seq, number)


def told(lessons: Iterable[Lesson], previous: int) -> tuple[list[Lesson], list[Lesson]]:
    """The proxies and the outcomes of one batch, each with what it tells of the other signal.

    `previous` is the LEARN entry before the batch. A proxy tells its outcome only if that was learnt in an earlier
    batch, an outcome tells its proxy if that is learnt by now, even if it came after: so each pair is met exactly once.
    """
    proxies, outcomes = [], {}
    for lesson in lessons:
        if lesson.kind == Kind.OUTCOME:
            outcomes[lesson.outcome_number] = lesson
        elif 0 < lesson.y_seq < previous:
            proxies.append(lesson)
        else:
            proxies.append(lesson._replace(y=NOTHING, y_seq=0, outcome_number=NOTHING))
            if lesson.outcome_number in outcomes:
                met = outcomes[lesson.outcome_number]
                outcomes[lesson.outcome_number] = met._replace(z=lesson.z, z_seq=lesson.z_seq)
    return proxies, list(outcomes.values())
