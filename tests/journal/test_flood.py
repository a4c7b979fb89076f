"""A flood through the writer, onto the disk: nothing is lost, nothing trained twice, and the counts are exact."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from presage.joining.entries import EntryKind, LogEvent, Predicted
from presage.joining.join import Decision
from presage.joining.lessons import Boundary, Lesson
from presage.journal.appender import EventResult
from presage.journal.sqlite import SqliteLog
from presage.journal.verify import verify
from presage.journal.writer import Writer
from tests.faults.counts import COUNTS
from tests.joining.reference_joiner import ReferenceJoiner
from tests.journal.events import NAMES, TASK, CountingTable, arrive, rules
from tests.journal.flood import HORIZONS, flood

END = 10**12
OPENINGS = 5
"""How often the log is closed and opened during the flood."""


class Flooded:
    """What a writer did with a flood, in groups of all sizes, learning as it went."""

    def __init__(self, folder: Path, events: list[LogEvent], seed: int) -> None:
        self.folder, self.random = folder, Random(seed)
        self.table, self.answers = CountingTable(), list[EventResult]()
        cuts = sorted(self.random.sample(range(len(events)), OPENINGS - 1))
        for start, stop in zip([0, *cuts], [*cuts, len(events)], strict=True):
            self._play(events[start:stop], last=stop == len(events))

    def _play(self, events: list[LogEvent], last: bool) -> None:
        log = SqliteLog(self.folder, TASK)
        self.writer = Writer(log, HORIZONS, lambda: 0, self._feed)
        self.writer.use_model(log.counters.learn)
        waiting = []
        place = 0
        while place < len(events):
            group = events[place : place + self.random.choice((1, 10, 100, 300))]
            place += len(group)
            waiting.append(self.writer.submit([self._asked(event) for event in group]))
            if len(waiting) > 20:
                self.answers += waiting.pop(0).result(60)
            if self.random.random() < 0.05:
                self.writer.tick(group[-1].at)
        for answers in waiting:
            self.answers += answers.result(60)
        if last:
            self.writer.tick(END).result(600)
        self.writer.close()

    def _asked(self, event: LogEvent) -> LogEvent:
        if not isinstance(event.body, Predicted):
            return event
        return replace(event, body=replace(event.body, model=self.writer.counters.learn))

    def _feed(self, lessons: list[Lesson], boundary: Boundary | None) -> None:
        self.table.feed(lessons, boundary)
        if boundary:
            self.writer.use_model(boundary.seq)


@pytest.mark.long
def test_a_flood_is_joined_and_counted_as_the_reference_says(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    events = flood(COUNTS.flood, seed=1)
    flooded, reference, at = Flooded(tmp_path, events, seed=2), ReferenceJoiner(rules(HORIZONS)), 0
    decisions: Counter[str] = Counter()
    for event, answer in zip(events, flooded.answers, strict=True):
        decisions[answer.decision.value] += 1
        assert arrive(reference, event, max(at, event.at)) == answer.decision.value
        at = max(at, event.at) if answer.decision is Decision.ACCEPTED else at
    log = SqliteLog(tmp_path, TASK)
    kept = {(entry.id, entry.kind): entry.seq for entry in log.read(0, 10**9) if entry.id}
    for event, answer in zip(events, flooded.answers, strict=True):
        if answer.decision is not Decision.CONFLICT:
            assert kept[event.id, event.kind] == answer.seq, "an acknowledged event is lost"
    trained = [(log.entries([lesson.seq])[0].id, NAMES[lesson.kind]) for lesson in flooded.table.lessons]
    log.close()
    assert len(trained) == len(set(trained)), "something was trained twice"
    assert set(trained) == set(reference.trained(END))
    flooded.table.learn()
    assert flooded.table.counts == reference.counts(END)
    verified = verify(tmp_path, TASK, HORIZONS)
    assert Counter(verified.counters.bins._asdict()) == reference.bins(END)
    assert len(kept) == verified.head.seq - verified.counters.learns, "(id, kind) is not unique"
    record_property("flood", f"{dict(decisions)}; {len(trained)} lessons in {verified.counters.learns} batches")


def test_the_flood_is_as_bad_as_it_claims() -> None:
    events = flood(20_000, seed=3)
    first: dict[tuple[EntryKind, str], int] = {}
    for place, event in enumerate(events):
        first.setdefault((event.kind, event.id), place)
    asked = {id: place for (kind, id), place in first.items() if kind == EntryKind.PREDICTED}
    signals = {key: place for key, place in first.items() if key[0] != EntryKind.PREDICTED}
    came = {id for _, id in signals}
    both = [id for id in asked if (EntryKind.PROXY, id) in first and (EntryKind.OUTCOME, id) in first]
    swapped = sum(first[EntryKind.OUTCOME, id] < first[EntryKind.PROXY, id] for id in both) / len(both)
    assert 1 - len(first) / len(events) == pytest.approx(0.32, abs=0.01)
    assert sum(place < asked[id] for (_, id), place in signals.items()) / len(signals) == pytest.approx(0.05, abs=0.01)
    assert 1 - len(signals) / (2 * len(asked)) == pytest.approx(0.10, abs=0.01)
    assert swapped == pytest.approx(0.22, abs=0.05)
    assert len(came) < len(asked)
