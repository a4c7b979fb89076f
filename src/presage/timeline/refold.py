"""What is known of an id, found anew from its entries in the log."""

from collections.abc import Iterable

from presage.errors import LogDamagedError
from presage.timeline.entries import Entry, Kind, decode_feedback, decode_predicted
from presage.timeline.join import Decision, Horizons, Known, absent, fed, overdue, predicted

_DECIDES = {Kind.ABSENT_PROXY: Kind.PROXY, Kind.ABSENT_OUTCOME: Kind.OUTCOME}


def refold(entries: Iterable[Entry], horizons: Horizons) -> Known:
    """What the entries of one id, in order, make known of it.

    An entry that the rules of joining would not have let in, or an absence decided too soon, is an error.
    """
    known = Known()
    for entry in entries:
        kind = Kind(entry.kind)
        if kind in _DECIDES:
            signal = _DECIDES[kind]
            fits = overdue(known, signal, entry.at, horizons)
            known = absent(known, signal, entry.seq, horizons)
        elif kind is Kind.PREDICTED:
            joined = predicted(known, decode_predicted(entry.body), entry.seq, entry.at)
            fits, known = joined.decision is Decision.ACCEPTED, joined.known
        else:
            late = overdue(known, kind, entry.at, horizons)
            joined = fed(known, kind, decode_feedback(entry.body).symbol, entry.seq)
            fits, known = not late and joined.decision is Decision.ACCEPTED, joined.known
        if not fits:
            wrong = f"entry {entry.seq} of the log does not follow from those before it"
            raise LogDamagedError(wrong, entry.id, "restore the folder from a backup")
    return known
