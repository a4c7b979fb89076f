"""Sightings: entries of the log as somebody sees them who only looks on."""

import msgspec

from presage.timeline.entries import Entry, Predicted
from presage.timeline.join import Known


class Sighting(msgspec.Struct, frozen=True, gc=False):
    """An entry, and what is known of its id then or since; positions in the log tell which of it was known then."""

    entry: Entry
    known: Known
    body: Predicted | None  # its prediction, where the entry makes something learnable
