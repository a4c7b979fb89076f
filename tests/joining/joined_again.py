"""The state of an id joined again from its entries one by one: the plain road to what `verify` checks in one pass."""

from collections.abc import Iterable

from presage.errors import LogDamagedError
from presage.joining.entries import Entry, EntryKind, feedback_in, predicted_in
from presage.joining.join import (
    Decision,
    Horizons,
    Known,
    absence,
    join_feedback,
    join_prediction,
    mark_absent,
    overdue,
)

_DECIDES = {EntryKind.ABSENT_PROXY: EntryKind.PROXY, EntryKind.ABSENT_OUTCOME: EntryKind.OUTCOME}


def known_from_entries(entries: Iterable[Entry], horizons: Horizons) -> Known:
    """The state of an id from its entries, in order.

    Raise LogDamagedError for an entry that the rules of joining would have refused, or an absence decided too soon.
    """
    known = Known()
    for entry in entries:
        kind = EntryKind(entry.kind)
        if kind in _DECIDES:
            signal = _DECIDES[kind]
            fits = overdue(known, signal, entry.at, horizons) and feedback_in(entry) == absence(signal, horizons)[1]
            known = mark_absent(known._replace(first=known.first or entry.seq), signal, entry.seq, horizons)
        elif kind is EntryKind.PREDICTED:
            joined = join_prediction(known, predicted_in(entry), entry.seq, entry.at)
            fits, known = joined.decision is Decision.ACCEPTED, joined.known
        else:
            late = overdue(known, kind, entry.at, horizons)
            joined = join_feedback(known, kind, feedback_in(entry).symbol, entry.seq)
            fits, known = not late and joined.decision is Decision.ACCEPTED, joined.known
        if not fits:
            wrong = f"entry {entry.seq} of the log does not follow from those before it"
            raise LogDamagedError(wrong, entry.id, "restore the folder from a backup")
    return known
