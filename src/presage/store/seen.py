"""Sightings read from the log: the same that were shown when it was written."""

from collections.abc import Iterator

from presage.store.log import LogStore
from presage.timeline.entries import decode_predicted
from presage.timeline.join import Known
from presage.timeline.sightings import Sighting

PAGE = 1000
"""How many entries are read at once."""

_NOTHING_KNOWN = Known()


def seen(store: LogStore, after: int) -> Iterator[list[Sighting]]:
    """The sightings of all entries after a position, in order, page after page."""
    while entries := store.read(after, PAGE):
        found = store.find({entry.id for entry in entries if entry.id})
        known = [found.get(entry.id, _NOTHING_KNOWN) for entry in entries]
        teaching = [entry.seq in (each.proxy_seq, each.outcome_seq) for entry, each in zip(entries, known, strict=True)]
        asked = {each.predicted for each, teaches in zip(known, teaching, strict=True) if teaches}
        bodies = {entry.seq: decode_predicted(entry.body) for entry in store.entries(sorted(asked))}
        yield [
            Sighting(entry, each, bodies[each.predicted] if teaches else None)
            for entry, each, teaches in zip(entries, known, teaching, strict=True)
        ]
        after = entries[-1].seq
