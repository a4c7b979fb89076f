"""Readers of the log, page by page: the same entries and lessons that were handed on when it was written."""

from collections.abc import Iterator

from presage.errors import LogDamagedError
from presage.joining.entries import EntryKind, predicted_in
from presage.joining.join import Horizons, Known
from presage.joining.lessons import Boundary, Lesson, ObservedEntry, lessons_at
from presage.journal.interface import LogStore

PAGE = 1000
"""How many entries are read at once."""

_NOTHING_KNOWN = Known()


def read_observed(store: LogStore, after: int) -> Iterator[list[ObservedEntry]]:
    """All entries after a position, in order, page after page."""
    while entries := store.read(after, PAGE):
        found = store.find({entry.id for entry in entries if entry.id})
        known = [found.get(entry.id, _NOTHING_KNOWN) for entry in entries]
        teaching = [entry.seq in (each.proxy_seq, each.outcome_seq) for entry, each in zip(entries, known, strict=True)]
        predictions = {each.predicted for each, teaches in zip(known, teaching, strict=True) if teaches}
        bodies = {entry.seq: predicted_in(entry) for entry in store.entries(sorted(predictions))}
        yield [
            ObservedEntry(entry, each, bodies[each.predicted] if teaches else None)
            for entry, each, teaches in zip(entries, known, teaching, strict=True)
        ]
        after = entries[-1].seq


def read_lessons(
    store: LogStore, horizons: Horizons, after: int = 0, predictions: int = 0
) -> Iterator[tuple[list[Lesson], Boundary | None]]:
    """The lessons after a position, in order and in parts, each ended by its LEARN entry or by the end of a page.

    Every page ends a part, so that who may not read for long can go on later.

    `predictions` is the number of predictions up to that position.
    """
    while entries := store.read(after, PAGE):
        found = store.find({entry.id for entry in entries})
        teaching = {
            entry.seq: found[entry.id]
            for entry in entries
            if entry.id and entry.seq in (found[entry.id].proxy_seq, found[entry.id].outcome_seq)
        }
        predicted = store.entries(sorted({known.predicted for known in teaching.values()}))
        bodies = {entry.seq: predicted_in(entry) for entry in predicted}
        lessons: list[Lesson] = []
        for entry in entries:
            if entry.seq in teaching:
                known = teaching[entry.seq]
                notes = store.notes_before(known.predicted)
                lessons += lessons_at(entry.seq, known, bodies[known.predicted], horizons, notes)
            predictions += entry.kind == EntryKind.PREDICTED
            if entry.kind == EntryKind.LEARN:
                chain = store.chain_at(entry.seq)
                if chain is None:
                    wrong = f"entry {entry.seq} of the log does not end a commit"
                    raise LogDamagedError(wrong, EntryKind.LEARN.name, "restore the folder from a backup")
                yield lessons, Boundary(entry.seq, predictions, chain, entry.at)
                lessons = []
        yield lessons, None
        after = entries[-1].seq
