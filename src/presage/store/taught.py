"""Lessons read from the log: the same that were handed on when it was written."""

from collections.abc import Iterator

from presage.store.log import LogStore
from presage.timeline.entries import Kind, decode_predicted
from presage.timeline.join import Horizons
from presage.timeline.lessons import Boundary, Lesson, lessons_at

PAGE = 1000
"""How many entries are read at once."""


def taught(
    store: LogStore, horizons: Horizons, after: int = 0, predictions: int = 0
) -> Iterator[tuple[list[Lesson], Boundary | None]]:
    """The lessons after a position, in order and in parts, each ended by its LEARN entry or by the end of a page.

    `predictions` is how many were made up to that position.
    """
    while entries := store.read(after, PAGE):
        found = store.find({entry.id for entry in entries})
        teaching = {
            entry.seq: found[entry.id]
            for entry in entries
            if entry.id and entry.seq in (found[entry.id].proxy_seq, found[entry.id].outcome_seq)
        }
        asked = store.entries(sorted({known.predicted for known in teaching.values()}))
        bodies = {entry.seq: decode_predicted(entry.body) for entry in asked}
        lessons: list[Lesson] = []
        for entry in entries:
            if entry.seq in teaching:
                known = teaching[entry.seq]
                lessons += lessons_at(entry.seq, known, bodies[known.predicted], horizons)
            predictions += entry.kind == Kind.PREDICTED
            if entry.kind == Kind.LEARN:
                yield lessons, Boundary(entry.seq, predictions, store.chain_at(entry.seq))
                lessons = []
        if lessons:
            yield lessons, None
        after = entries[-1].seq
