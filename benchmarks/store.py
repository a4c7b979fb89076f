"""The durable log: events a second against a commit for each, bytes on disk, and memory for each open prediction."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw

from benchmarks.blocks import Tell, alternate, ratios, spread
from benchmarks.figures import HEADER, Figure, Target, short
from presage.joining.entries import EntryKind, FeedbackBody, LogEvent, Predicted, encode
from presage.joining.join import Horizons
from presage.journal.inbox import WriterLimits
from presage.journal.sqlite import SqliteLog
from presage.journal.writer import Writer

DAY = 86_400_000_000
HORIZONS = Horizons(proxy=DAY, outcome=90 * DAY, absent_proxy=0, absent_outcome=0)
FEATURES = b'{"title":"Emma","genres":["love"],"price":7.5,"pages":474,"gift":false,"bought":"2026-11-16T09:30:00Z"}'
SYMBOLS, DENSE, SAID = bytes(4 * 7), bytes(4), bytes(4 * 2)
BLOCK = 20_000
"""Events in a block; of the naive writer a tenth."""
GROUP = 256
CLIENTS = 8
FEW, MANY = 100_000, 1_000_000
"""Open predictions between which memory is compared."""


def figures(tell: Tell) -> Iterator[Figure]:
    """What the log costs."""
    with TemporaryDirectory() as place:
        yield from ingest(Path(place), tell)
    with TemporaryDirectory() as place:
        yield size(Path(place), tell)
    with TemporaryDirectory() as place:
        yield from _open(Path(place), tell)


def ingest(place: Path, tell: Tell) -> Iterator[Figure]:
    """Events a second, against a commit for each."""
    bulk, naive, single = Kept(place / "bulk"), Naive(place / "naive.sqlite"), Kept(place / "single")
    blocks: dict[str, Callable[[], float]] = {
        "bulk": lambda: bulk.rate(BLOCK, GROUP),
        "naive": lambda: naive.rate(BLOCK // 10),
        "single": lambda: single.rate_of_clients(BLOCK // 10),
    }
    found = alternate(blocks, tell, "store")
    for each in (bulk, naive, single):
        each.close()
    against = f"a commit for each event, nothing joined or chained, {short(median(found['naive']))}/s"
    yield Figure(
        "store/bulk", spread(found["bulk"]), "events/s", against, ratios(found["bulk"], found["naive"]), Target(5, 10)
    )
    against = f"{CLIENTS} clients that send one event at a time; the same commits"
    yield Figure("store/single", spread(found["single"]), "events/s", against, ratios(found["single"], found["naive"]))


def size(place: Path, tell: Tell) -> Figure:
    """What a million events take on the disk."""
    tell("store/bytes: writing")
    kept = Kept(place)
    count = 10 * BLOCK
    kept.rate(count, GROUP)
    kept.close()
    each = sum(path.stat().st_size for path in place.iterdir()) / count * 1e6 / 2**20
    against = f"a third each of predictions ({len(FEATURES)} bytes of features), proxies and outcomes"
    return Figure("store/bytes", spread([each]), "MiB/million", against)


def _open(place: Path, tell: Tell) -> Iterator[Figure]:
    tell(f"store/memory: {MANY:,} open predictions")
    command = [sys.executable, "-m", "benchmarks.store", "open", str(place), str(FEW), str(MANY)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    few, many = (Filled(*map(float, line.split())) for line in printed)
    each = (many.resident - few.resident) / (MANY - FEW)
    against = (
        f"resident memory from {FEW:,} to {MANY:,} open: {few.resident / 2**20:.0f} to {many.resident / 2**20:.0f} MiB"
    )
    yield Figure("store/memory", spread([max(each, 0.0)]), "bytes", against, target=Target(30, at_most=True))
    against = f"the same with {FEW:,} open, {short(few.rate)}/s"
    yield Figure(f"store/bulk-{MANY}-open", spread([many.rate]), "events/s", against, spread([many.rate / few.rate]))


class Filled(NamedTuple):
    """The memory of a process with many open predictions, and how many events a second it keeps."""

    resident: float
    rate: float


class Kept:
    """A writer, and a course of events of which each prediction gets its proxy and its outcome later."""

    def __init__(self, folder: Path) -> None:
        self.writer = Writer(
            SqliteLog(folder, b"a task"), HORIZONS, now, self._feed, WriterLimits(waiting=10**6, predictions=10**6)
        )
        self._course = course()

    def rate(self, events: int, group: int) -> float:
        """Events kept in a second, sent in groups without waiting for each answer."""
        return self.rate_of(list(itertools.islice(self._course, events)), group)

    def rate_of(self, some: list[LogEvent], group: int) -> float:
        """The same for these events."""
        events, started = len(some), time.perf_counter()
        answers = [self.writer.submit(some[place : place + group]) for place in range(0, events, group)]
        for answer in answers:
            answer.result()
        return events / (time.perf_counter() - started)

    def rate_of_clients(self, events: int) -> float:
        """Events kept in a second by clients that wait for each answer."""
        some = [list(itertools.islice(self._course, events // CLIENTS)) for _ in range(CLIENTS)]
        started = time.perf_counter()
        threads = [threading.Thread(target=self._client, args=(mine,)) for mine in some]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return events / (time.perf_counter() - started)

    def close(self) -> None:
        """Let go of the log."""
        self.writer.close()

    def _client(self, events: list[LogEvent]) -> None:
        for event in events:
            self.writer.submit([event]).result()

    def _feed(self, _: object, boundary: object) -> None:
        if boundary:
            self.writer.use_model(self.writer.counters.learn)


class Naive:
    """What one would write first: a table, an index, and a synced commit for each event."""

    def __init__(self, path: Path) -> None:
        self._db = apsw.Connection(str(path))
        self._db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE events (id TEXT, kind INTEGER, at INTEGER, body BLOB, PRIMARY KEY (id, kind))")
        self._course = course()

    def rate(self, events: int) -> float:
        """Events kept in a second."""
        some = list(itertools.islice(self._course, events))
        started = time.perf_counter()
        for event in some:
            row = (event.id, event.kind, now(), encode(event.body))
            self._db.execute("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?)", row)
        return events / (time.perf_counter() - started)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


def course() -> Iterator[LogEvent]:
    """A prediction, the proxy of one a thousand before it, and the outcome of one four thousand before it."""
    for number in itertools.count():
        yield predicted(number)
        if number >= 1000:
            yield LogEvent(EntryKind.PROXY, named(number - 1000), FeedbackBody(number % 3))
        if number >= 4000:
            yield LogEvent(EntryKind.OUTCOME, named(number - 4000), FeedbackBody(number % 2))


def named(number: int) -> str:
    """An id like those that people use: as good as random."""
    return blake2b(number.to_bytes(8, "little"), digest_size=16).hexdigest()


def now() -> int:
    return time.time_ns() // 1000


def fill(folder: Path, few: int, many: int) -> None:
    """Print what there is to know with so few and with so many open predictions."""
    kept, random, made = Kept(folder), Random(0), 0
    for target in (few, many):
        while made < target:
            kept.writer.submit([predicted(number) for number in range(made, made + GROUP)]).result()
            made += GROUP
        proxies = [
            LogEvent(EntryKind.PROXY, named(number), FeedbackBody(1))
            for number in random.sample(range(made), BLOCK // 2)
        ]
        asked = [predicted(number) for number in range(made, made + BLOCK // 2)]
        made += len(asked)
        rate = kept.rate_of([event for pair in zip(asked, proxies, strict=True) for event in pair], GROUP)
        print(resident(), rate, flush=True)
    kept.close()


def predicted(number: int) -> LogEvent:
    """A prediction."""
    return LogEvent(EntryKind.PREDICTED, named(number), Predicted(FEATURES, SYMBOLS, DENSE, 0, SAID))


def resident() -> int:
    """Bytes of resident memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Print the figures."""
    if sys.argv[1:2] == ["open"]:
        fill(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
        return
    print(HEADER)
    for figure in figures(lambda what: print(what, file=sys.stderr, flush=True)):
        print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
