"""What appends to the log: groups of events, and decisions that something did not come; then hands on the lessons."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from presage.store.group import Answer, Group
from presage.store.log import LogStore
from presage.timeline.entries import Event, Kind, Predicted, decode_predicted
from presage.timeline.join import Decision, Horizons
from presage.timeline.lessons import Boundary, Lesson, lessons_at
from presage.timeline.sightings import Sighting

Clock = Callable[[], int]
"""Microseconds since 1970, UTC."""

Feed = Callable[[list[Lesson], Boundary | None], None]
"""Who is given the lessons of each commit, in order, and then the LEARN entry that ends it, if one does."""

Show = Callable[[list[Sighting]], None]
"""Who is shown the entries of each commit, in order."""


class Appender:
    """The one who appends to a log. A group is joined, committed, answered for, and then taught."""

    def __init__(self, store: LogStore, horizons: Horizons, clock: Clock, feed: Feed, show: Show | None = None) -> None:
        self.store, self.horizons, self.clock = store, horizons, clock
        self.published = 0  # seq of the last LEARN entry whose parameters are in use
        self.refused: Counter[tuple[Kind, Decision]] = Counter()  # events that were repeated or in conflict, by kind
        self._feed, self._show = feed, show

    def append(self, events: Sequence[Event]) -> list[Answer]:
        """What became of each event, durable."""
        group, answers = self.join(events)
        self.commit(group)
        self.teach(group)
        return answers

    def join(self, events: Sequence[Event]) -> tuple[Group, list[Answer]]:
        """A group of these events, and what becomes of each once it is committed."""
        group = Group(self.store, self.horizons, {event.id for event in events})
        now = self.clock()
        answers = [group.take(event, now) for event in events]
        for event, answer in zip(events, answers, strict=True):
            if answer.decision is not Decision.ACCEPTED:
                self.refused[event.kind, answer.decision] += 1
        return group, answers

    def settle(self, now: int, limit: int) -> Group:
        """A group of decisions, at most so many, that signals due before now did not come: the oldest first."""
        proxies = self.store.due(Kind.PROXY, now - self.horizons.proxy, limit)
        outcomes = self.store.due(Kind.OUTCOME, now - self.horizons.outcome, limit - len(proxies))
        group = Group(self.store, self.horizons, {*proxies, *outcomes})
        group.at = max(group.at, now)
        for kind, ids in ((Kind.PROXY, proxies), (Kind.OUTCOME, outcomes)):
            for id in ids:
                group.miss(kind, id)
        return group

    def commit(self, group: Group) -> None:
        """Make a group durable; nothing is to be done for one that appends nothing."""
        commit = group.finish(self.published)
        if commit.entries:
            self.store.commit(commit)

    def teach(self, group: Group) -> None:
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

    def _tell(self, group: Group, bodies: Mapping[int, Predicted]) -> None:
        """Show the entries of a group; `bodies` are the predictions of those that make something learnable."""
        if self._show and group.entries:
            self._show([Sighting(entry, group.known(entry.id), bodies.get(entry.seq)) for entry in group.entries])
