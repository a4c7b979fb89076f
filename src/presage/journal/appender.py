"""Appending to the log: events are joined in groups and committed; their lessons are handed on afterwards."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from presage.joining.counters import Bins, Counters, bins_of
from presage.joining.entries import (
    OLDEST_FORMAT,
    Body,
    Entry,
    EntryKind,
    Learn,
    LogEvent,
    Note,
    Predicted,
    entry_with,
    predicted_in,
)
from presage.joining.join import Bin, Decision, Horizons, Known, absence, entry_of, join, mark_absent, overdue
from presage.joining.lessons import Boundary, Lesson, ObservedEntry, lessons_at
from presage.journal.interface import Commit, LogStore

_NOTHING_KNOWN = Known()


class EventResult(msgspec.Struct, frozen=True, gc=False):
    """The result of an event."""

    decision: Decision
    bin: Bin  # of its entry; of the first one if it is repeated; NONE for a conflict
    seq: int  # of its entry; of the first one if it is repeated; 0 for a conflict
    reason: str = ""  # of a conflict


class CommitGroup:
    """Entries to append after the head of a log, in one commit."""

    def __init__(self, store: LogStore, horizons: Horizons, ids: Iterable[str]) -> None:
        self.horizons, self.format = horizons, store.format
        self.seq, self.at = store.head.seq, store.head.at
        self.entries: list[Entry] = []
        self.bodies: dict[int, Predicted] = {}  # of the predictions in this group, by seq
        self.learnable: list[tuple[int, str]] = []  # seq and id of each entry that makes a signal learnable
        self.learns = False  # whether it ends with a LEARN entry
        self._found = store.find(ids)
        self._changed: dict[str, Known] = {}
        self._counters = store.counters
        self._proxies = self._outcomes = self._used = self._notes = 0  # more than the counters say

    def known(self, id: str) -> Known:
        """The state of an id, with the entries of this group."""
        return self._changed.get(id) or self._found.get(id) or _NOTHING_KNOWN

    def take(self, event: LogEvent, now: int) -> EventResult:
        """The result of an event that arrives now; one that is not accepted changes nothing, not even the time."""
        at, known = max(self.at, event.at or now), self.known(event.id)
        if event.kind != EntryKind.PREDICTED and overdue(known, event.kind, at, self.horizons):
            self.at = at
            known = self.miss(event.kind, event.id)
        joined = join(known, event, self.seq + 1, at)
        if joined.decision is Decision.ACCEPTED:
            self.at = at
            self._append(event.kind, event.id, event.body, joined.known)
            if isinstance(event.body, Predicted):
                self.bodies[self.seq] = event.body
                self._used += 0 < self._counters.learn == event.body.model
            return EventResult(joined.decision, joined.bin, self.seq)
        if joined.decision is Decision.REPEATED:
            return EventResult(joined.decision, joined.bin, entry_of(joined.known, event.kind))
        return EventResult(joined.decision, joined.bin, 0, joined.reason)

    def miss(self, kind: EntryKind, id: str) -> Known:
        """The state of an id after the entry that marks an overdue signal absent."""
        decision, body = absence(kind, self.horizons)
        return self._append(decision, id, body, mark_absent(self.known(id), kind, self.seq + 1, self.horizons))

    def note(self, kind: EntryKind, note: Note, now: int) -> None:
        """Add an entry about the log itself."""
        self.at = max(self.at, now)
        self._add(kind, "", note)
        self._notes += 1

    def finish(self, model_position: int) -> Commit:
        """The commit, ended by a LEARN entry if one is due; `model_position` is that of the LEARN entry in use."""
        before = self._counters
        counters = before._replace(
            bins=self._bins(before.bins),
            predictions=before.predictions + len(self.bodies),
            proxies=before.proxies + self._proxies,
            outcomes=before.outcomes + self._outcomes,
            used=before.used + self._used,
            notes=before.notes + self._notes,
        )
        if learning_is_due(counters, model_position):
            counters = self._learn(counters)
        return Commit(self.entries, self._changed, counters)

    def _add(self, kind: EntryKind, id: str, body: Body) -> None:
        self.seq += 1
        self.entries.append(entry_with(self.format, (self.seq, self.at), kind, id, body))

    def _append(self, kind: EntryKind, id: str, body: Body, known: Known) -> Known:
        self._add(kind, id, body)
        proxy, outcome = known.proxy_seq == self.seq, known.outcome_seq == self.seq
        if proxy or outcome:
            self._proxies += proxy
            self._outcomes += outcome
            self.learnable.append((self.seq, id))
        self._changed[id] = known
        return known

    def _learn(self, counters: Counters) -> Counters:
        body = Learn(counters.proxies - counters.learnt_proxies, counters.outcomes - counters.learnt_outcomes)
        self._add(EntryKind.LEARN, "", body)
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


def learning_is_due(counters: Counters, model_position: int) -> bool:
    """Whether there is something to learn, and the last LEARN entry is in use and made a prediction.

    So a prediction lies between any two of them: they are the rounds of a backtest of the log.
    """
    if not counters.waiting:
        return False
    return not counters.learn or (model_position == counters.learn and counters.used > 0)


Clock = Callable[[], int]
"""Microseconds since 1970, UTC."""

Feed = Callable[[list[Lesson], Boundary | None], None]
"""Takes the lessons of each commit, in order, and the LEARN entry that ends it, if one does."""

Observe = Callable[[list[ObservedEntry]], None]
"""Takes the entries of each commit, in order."""


class Appender:
    """Appends to a log: join a group, commit it, then hand on its lessons."""

    def __init__(
        self, store: LogStore, horizons: Horizons, clock: Clock, feed: Feed, show: Observe | None = None
    ) -> None:
        self.store, self.horizons, self.clock = store, horizons, clock
        self.model_position = 0  # seq of the last LEARN entry whose parameters are in use
        self.refused: Counter[tuple[EntryKind, Decision]] = (
            Counter()
        )  # events that were repeated or in conflict, by kind
        self._feed, self._show = feed, show

    def append(self, events: Sequence[LogEvent]) -> list[EventResult]:
        """The result of each event, durable."""
        group, answers = self.join(events)
        self.commit(group)
        self.hand_on(group)
        return answers

    def join(self, events: Sequence[LogEvent]) -> tuple[CommitGroup, list[EventResult]]:
        """A group of these events, and the result of each once the group is committed."""
        group = CommitGroup(self.store, self.horizons, {event.id for event in events})
        now = self.clock()
        answers = [group.take(event, now) for event in events]
        for event, answer in zip(events, answers, strict=True):
            if answer.decision is not Decision.ACCEPTED:
                self.refused[event.kind, answer.decision] += 1
        return group, answers

    def settle(self, now: int, limit: int) -> CommitGroup:
        """A group that marks signals due before now absent, the oldest first, up to a limit."""
        proxies = self.store.due(EntryKind.PROXY, now - self.horizons.proxy, limit)
        outcomes = self.store.due(EntryKind.OUTCOME, now - self.horizons.outcome, limit - len(proxies))
        group = CommitGroup(self.store, self.horizons, {*proxies, *outcomes})
        group.at = max(group.at, now)
        for kind, ids in ((EntryKind.PROXY, proxies), (EntryKind.OUTCOME, outcomes)):
            for id in ids:
                group.miss(kind, id)
        return group

    def note(self, kind: EntryKind, note: Note) -> int:
        """The position of an entry about the log itself, durable; 0 in a log of format 1, which holds none."""
        if self.store.format == OLDEST_FORMAT:
            return 0
        group = CommitGroup(self.store, self.horizons, ())
        group.note(kind, note, self.clock())
        position = group.seq
        self.commit(group)
        self.hand_on(group)
        return position

    def commit(self, group: CommitGroup) -> None:
        """Make a group durable, unless it appends nothing."""
        commit = group.finish(self.model_position)
        if commit.entries:
            self.store.commit(commit)

    def hand_on(self, group: CommitGroup) -> None:
        """Hand on the lessons of a group that is durable, and show its entries."""
        if not group.learnable and not group.learns:
            self._show_entries(group, {})
            return
        known = {id: group.known(id) for _, id in group.learnable}
        bodies = group.bodies
        older = {each.predicted for each in known.values()} - bodies.keys()
        for entry in self.store.entries(sorted(older)):
            bodies[entry.seq] = predicted_in(entry)
        lessons = [
            lesson
            for seq, id in group.learnable
            for lesson in self._lessons(seq, known[id], bodies[known[id].predicted])
        ]
        head = self.store.head
        boundary = Boundary(head.seq, self.store.counters.predictions, head.chain, head.at) if group.learns else None
        self._feed(lessons, boundary)
        self._show_entries(group, {seq: bodies[known[id].predicted] for seq, id in group.learnable})

    def _lessons(self, seq: int, known: Known, body: Predicted) -> Iterator[Lesson]:
        return lessons_at(seq, known, body, self.horizons, self.store.notes_before(known.predicted))

    def _show_entries(self, group: CommitGroup, bodies: Mapping[int, Predicted]) -> None:
        """Show the entries of a group; `bodies` are the predictions of those that make something learnable."""
        if self._show and group.entries:
            self._show([ObservedEntry(entry, group.known(entry.id), bodies.get(entry.seq)) for entry in group.entries])
