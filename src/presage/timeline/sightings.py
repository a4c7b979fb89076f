"""Sightings: entries of the log as somebody sees them who only looks on."""

from typing import NamedTuple

from presage.timeline.entries import Entry, Predicted
from presage.timeline.join import Known


class Sighting(NamedTuple):
    """An entry, and what is known of its id then or since; positions in the log tell which of it was known then."""

    entry: Entry
    known: Known
    body: Predicted | None  # its prediction, where the entry makes something learnable
