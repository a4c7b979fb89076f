"""Appending to the log: events are joined in groups, committed, answered for, and then taught."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from presage.joining.counters import Bins, Counters, bins_of
from presage.joining.entries import Entry, EntryKind, Learn, LogEvent, Predicted, decode_predicted, encode
from presage.joining.join import Bin, Decision, Horizons, Known, absence, entry_of, join, mark_absent, overdue
from presage.joining.lessons import Boundary, Lesson, ObservedEntry, lessons_at
from presage.journal.interface import Commit, LogStore

_NOTHING_KNOWN = Known()


class EventResult(msgspec.Struct, frozen=True, gc=False):
    """What became of an event."""

    decision: Decision
    bin: Bin  # of its entry; of the first one where it is repeated; NONE for a conflict
    seq: int  # of its entry; of the first one where it is repeated; 0 for a conflict
    reason: str = ""  # of a conflict


class CommitGroup:
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

    def take(self, event: LogEvent, now: int) -> EventResult:
        """What becomes of an event that arrives now; one that is not accepted changes nothing, not even the time."""
        at, known = max(self.at, event.at or now), self.known(event.id)
        if event.kind != EntryKind.PREDICTED and overdue(known, event.kind, at, self.horizons):
            self.at = at
            known = self.miss(event.kind, event.id)
        joined = join(known, event, self.seq + 1, at)
        if joined.decision is Decision.ACCEPTED:
            self.at = at
            self._append(event.kind, event.id, encode(event.body), joined.known)
            if isinstance(event.body, Predicted):
                self.bodies[self.seq] = event.body
                self._used += 0 < self._counters.learn == event.body.model
            return EventResult(joined.decision, joined.bin, self.seq)
        if joined.decision is Decision.REPEATED:
            return EventResult(joined.decision, joined.bin, entry_of(joined.known, event.kind))
        return EventResult(joined.decision, joined.bin, 0, joined.reason)

    def miss(self, kind: EntryKind, id: str) -> Known:
        """What is known of an id once it is decided that an overdue signal did not come."""
        decision, body = absence(kind, self.horizons)
        return self._append(decision, id, encode(body), mark_absent(self.known(id), kind, self.seq + 1, self.horizons))

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

    def _append(self, kind: EntryKind, id: str, body: bytes, known: Known) -> Known:
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
        self.entries.append(Entry(self.seq, self.at, EntryKind.LEARN, "", encode(body)))
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


Clock = Callable[[], int]
"""Microseconds since 1970, UTC."""

Feed = Callable[[list[Lesson], Boundary | None], None]
"""Who is given the lessons of each commit, in order, and then the LEARN entry that ends it, if one does."""

Observe = Callable[[list[ObservedEntry]], None]
"""Who is shown the entries of each commit, in order."""


class Appender:
    """The one who appends to a log. A group is joined, committed, answered for, and then taught."""

    def __init__(
        self, store: LogStore, horizons: Horizons, clock: Clock, feed: Feed, show: Observe | None = None
    ) -> None:
        self.store, self.horizons, self.clock = store, horizons, clock
        self.published = 0  # seq of the last LEARN entry whose parameters are in use
        self.refused: Counter[tuple[EntryKind, Decision]] = (
            Counter()
        )  # events that were repeated or in conflict, by kind
        self._feed, self._show = feed, show

    def append(self, events: Sequence[LogEvent]) -> list[EventResult]:
        """What became of each event, durable."""
        group, answers = self.join(events)
        self.commit(group)
        self.teach(group)
        return answers

    def join(self, events: Sequence[LogEvent]) -> tuple[CommitGroup, list[EventResult]]:
        """A group of these events, and what becomes of each once it is committed."""
        group = CommitGroup(self.store, self.horizons, {event.id for event in events})
        now = self.clock()
        answers = [group.take(event, now) for event in events]
        for event, answer in zip(events, answers, strict=True):
            if answer.decision is not Decision.ACCEPTED:
                self.refused[event.kind, answer.decision] += 1
        return group, answers

    def settle(self, now: int, limit: int) -> CommitGroup:
        """A group of decisions, at most so many, that signals due before now did not come: the oldest first."""
        proxies = self.store.due(EntryKind.PROXY, now - self.horizons.proxy, limit)
        outcomes = self.store.due(EntryKind.OUTCOME, now - self.horizons.outcome, limit - len(proxies))
        group = CommitGroup(self.store, self.horizons, {*proxies, *outcomes})
        group.at = max(group.at, now)
        for kind, ids in ((EntryKind.PROXY, proxies), (EntryKind.OUTCOME, outcomes)):
            for id in ids:
                group.miss(kind, id)
        return group

    def commit(self, group: CommitGroup) -> None:
        """Make a group durable; nothing is to be done for one that appends nothing."""
        commit = group.finish(self.published)
        if commit.entries:
            self.store.commit(commit)

    def teach(self, group: CommitGroup) -> None:
        """Hand on the lessons of a group that is durable, and show its entries."""
        if not group.taught and not group.learns:
            self._tell(group, {})
            return
        known = {id: group.known(id) for _, id in group.taught}
        bodies = group.bodies
        older = {each.predicted for each in known.values()} - bodies.keys()
        for entry in self.store.entries(sorted(older)):
            bodies[entry.seq] = decode_predicted(entry.body)
        lessons = [
            lesson
            for seq, id in group.taught
            for lesson in lessons_at(seq, known[id], bodies[known[id].predicted], self.horizons)
        ]
        head = self.store.head
        self._feed(lessons, Boundary(head.seq, self.store.counters.predictions, head.chain) if group.learns else None)
        self._tell(group, {seq: bodies[known[id].predicted] for seq, id in group.taught})

    def _tell(self, group: CommitGroup, bodies: Mapping[int, Predicted]) -> None:
        """Show the entries of a group; `bodies` are the predictions of those that make something learnable."""
        if self._show and group.entries:
            self._show([ObservedEntry(entry, group.known(entry.id), bodies.get(entry.seq)) for entry in group.entries])
