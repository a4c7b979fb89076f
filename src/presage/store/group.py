"""A group of events that are kept together: each joined to what the log, and the group before it, say of its id."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from presage.store.log import Commit, LogStore
from presage.timeline.bins import Bins, Counters, bins_of
from presage.timeline.entries import Entry, Event, Kind, Learn, Predicted, encode
from presage.timeline.join import Bin, Decision, Horizons, Known, absence, absent, entry_of, join, overdue

_NOTHING_KNOWN = Known()


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What became of an event."""

    decision: Decision
    bin: Bin  # of its entry; of the first one where it is repeated; NONE for a conflict
    seq: int  # of its entry; of the first one where it is repeated; 0 for a conflict
    reason: str = ""  # of a conflict


class Group:
    """What is to be appended after the head of a log. Nothing is kept before its commit is."""

    def __init__(self, store: LogStore, horizons: Horizons, ids: Iterable[str]) -> None:
        self.horizons = horizons
        self.seq, self.at = store.head.seq, store.head.at
        self.entries: list[Entry] = []
        self.bodies: dict[int, Predicted] = {}  # of the predictions in this group, by seq
        self.taught: list[tuple[int, str]] = []  # seq and id of what made something learnable
        self.learns = False  # whether it ends with a LEARN entry
        self._found = store.find(ids)
        self._changed: dict[str, Known] = {}
        self._counters = store.counters
        self._proxies = self._outcomes = self._used = 0  # more than the counters say

    def known(self, id: str) -> Known:
        """What is known of an id by now."""
        return self._changed.get(id) or self._found.get(id) or _NOTHING_KNOWN

    def take(self, event: Event, now: int) -> Answer:
        """What becomes of an event that arrives now; one that is not accepted changes nothing, not even the time."""
        at, known = max(self.at, event.at or now), self.known(event.id)
        if event.kind != Kind.PREDICTED and overdue(known, event.kind, at, self.horizons):
            self.at = at
            known = self.miss(event.kind, event.id)
        joined = join(known, event, self.seq + 1, at)
        if joined.decision is Decision.ACCEPTED:
            self.at = at
            self._append(event.kind, event.id, encode(event.body), joined.known)
            if isinstance(event.body, Predicted):
                self.bodies[self.seq] = event.body
                self._used += 0 < self._counters.learn == event.body.model
            return Answer(joined.decision, joined.bin, self.seq)
        if joined.decision is Decision.REPEATED:
            return Answer(joined.decision, joined.bin, entry_of(joined.known, event.kind))
        return Answer(joined.decision, joined.bin, 0, joined.reason)

    def miss(self, kind: Kind, id: str) -> Known:
        """What is known of an id once it is decided that an overdue signal did not come."""
        decision, body = absence(kind, self.horizons)
        return self._append(decision, id, encode(body), absent(self.known(id), kind, self.seq + 1, self.horizons))

    def finish(self, published: int) -> Commit:
        """All of it, to be kept; a LEARN entry ends it where one is due. `published` is the last one that is in use."""
        before = self._counters
        counters = before._replace(
            bins=self._bins(before.bins),
            predictions=before.predictions + len(self.bodies),
            proxies=before.proxies + self._proxies,
            outcomes=before.outcomes + self._outcomes,
            used=before.used + self._used,
        )
        if learning_is_due(counters, published):
            counters = self._learn(counters)
        return Commit(self.entries, self._changed, counters)

    def _append(self, kind: Kind, id: str, body: bytes, known: Known) -> Known:
        self.seq += 1
        self.entries.append(Entry(self.seq, self.at, kind, id, body))
        proxy, outcome = known.proxy_seq == self.seq, known.outcome_seq == self.seq
        if proxy or outcome:
            self._proxies += proxy
            self._outcomes += outcome
            self.taught.append((self.seq, id))
        self._changed[id] = known
        return known

    def _learn(self, counters: Counters) -> Counters:
        body = Learn(counters.proxies - counters.learnt_proxies, counters.outcomes - counters.learnt_outcomes)
        self.seq += 1
        self.entries.append(Entry(self.seq, self.at, Kind.LEARN, "", encode(body)))
        self.learns = True
        return counters._replace(
            learns=counters.learns + 1,
            learnt_proxies=counters.proxies,
            learnt_outcomes=counters.outcomes,
            learn=self.seq,
            used=0,
        )

    def _bins(self, before: Bins) -> Bins:
        found = self._found
        changes = Counter(
            (bins_of(known), bins_of(found.get(id, _NOTHING_KNOWN))) for id, known in self._changed.items()
        )
        bins = list(before)
        for (now, then), times in changes.items():
            for place in range(len(bins)):
                bins[place] += times * (now[place] - then[place])
        return Bins(*bins)


def learning_is_due(counters: Counters, published: int) -> bool:
    """Whether there is something to learn, and the last LEARN entry was published and used.

    So a prediction lies between any two of them: they are the rounds of a backtest of the log.
    """
    if not counters.waiting:
        return False
    return not counters.learn or (published == counters.learn and counters.used > 0)
