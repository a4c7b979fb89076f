"""The watch after a restart: the last entries of the log are looked at again, so that no curve begins anew."""

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from presage.joining.lessons import ObservedEntry, outcome_learnt
from presage.journal.interface import LogStore
from presage.journal.readers import read_observed
from presage.service.watch.fold import Watch

REMEMBERED = 50_000
"""How many of the last entries are looked at again."""

PAGES = 5
"""Pages of those whose outcomes stand in for the marginal before them."""


def look_back(watch: Watch, store: LogStore, entries: int = REMEMBERED) -> None:
    """Show a watch the last entries of a log.

    Outcomes of predictions from before them would be compared with a marginal that knows nothing; one that knows the
    first outcomes after that position stands in for it.
    """
    after = max(0, store.head.seq - entries)
    pages: Iterator[list[ObservedEntry]] = read_observed(store, after)
    if after:
        first = list(islice(pages, PAGES))
        counts = np.zeros(watch.subject.outcomes)
        for sighting in (each for page in first for each in page):
            if sighting.known.outcome_seq == sighting.entry.seq:
                counts[outcome_learnt(sighting.known, watch.subject.horizons)] += 1
        watch.marginal.begin(counts)
        pages = chain(first, pages)
    for page in pages:
        watch.see(page)
        watch.look()
