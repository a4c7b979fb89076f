"""A fixed course of events, each group answered for on standard output: `python -m tests.faults.script FOLDER [BUG]`.

It is killed at chosen system calls. It runs in one thread and reads no clock, so every run makes the same calls.
"""

import json
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

from presage.errors import StoreFullError
from presage.joining.entries import EntryKind, LogEvent
from presage.joining.join import Horizons
from presage.joining.lessons import Boundary, Lesson
from presage.journal import sqlite
from presage.journal.appender import Appender
from presage.journal.sqlite import SqliteLog
from tests.faults.counts import COUNTS
from tests.faults.ledger import Asked, Reply, Wire, event_of
from tests.journal.events import TASK

HORIZONS = Horizons(proxy=5, outcome=12, absent_proxy=0, absent_outcome=-1)
GROUPS = 40 if COUNTS.points <= 900 else 100
"""About 900 or 2,000 calls that write, sync or name."""
OPENINGS = (15, 30)
"""Before these groups the log is closed and opened again."""


def course() -> list[list[Wire]]:
    """Groups of one to twenty events."""
    random, found, sent = Random(7), [], list[Wire]()
    for number in range(GROUPS):
        group = []
        for place in range(random.choice((1, 2, 5, 20))):
            kind, id, value = (
                random.choice((EntryKind.PREDICTED, EntryKind.PROXY, EntryKind.OUTCOME)),
                f"{number}-{place}",
                1,
            )
            if sent and (kind != EntryKind.PREDICTED or random.random() < 0.1):
                id, value = random.choice(sent)[1], random.choice((1, 1, 1, 2))
            group.append((int(kind), id, value, 0))
        sent += group
        found.append(group)
    return found


def play(folder: Path) -> Generator[list[Reply], None, None]:
    """What each group was answered; nothing if the disk was full, and then it is sent again."""
    time = 0

    def feed(_: list[Lesson], boundary: Boundary | None) -> None:
        if boundary:
            appender.model_position = boundary.seq

    log = SqliteLog(folder, TASK)
    appender = Appender(log, HORIZONS, lambda: time, feed)
    appender.model_position = log.counters.learn
    try:
        for time, group in enumerate(course(), start=1):
            if time in OPENINGS:
                log.close()
                log = appender.store = SqliteLog(folder, TASK)
            yield from _answered(appender, [event_of(wire) for wire in group])
            with suppress(StoreFullError):  # decided the next time
                decided = appender.settle(time, 10)
                appender.commit(decided)
                appender.hand_on(decided)
            log.tidy()
    finally:
        log.close()


def _answered(appender: Appender, events: list[LogEvent]) -> Iterator[list[Reply]]:
    try:
        answers = appender.append(events)
    except StoreFullError:
        yield []
        answers = appender.append(events)
    yield [Reply(each.decision.value, each.seq, each.bin) for each in answers]


def asked(output: str) -> list[Asked]:
    """The requests of a run that wrote this; the first that was not answered may be kept or not."""
    answered = [[Reply(*reply) for reply in replies] for line in output.splitlines() if (replies := json.loads(line))]
    groups = [[event_of(wire) for wire in group] for group in course()]
    ok = [Asked(events, "ok", replies) for events, replies in zip(groups, answered, strict=False)]
    return [*ok, *(Asked(events, "unknown", []) for events in groups[len(ok) : len(ok) + 1])]


def main(folder: Path, bug: str = "") -> None:
    if bug:
        from tests.faults import planted

        planted.plant(bug)
    sqlite.PAGES = 30  # so that the write-ahead log is moved more than once
    for replies in play(folder):
        os.write(1, json.dumps(replies).encode() + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
