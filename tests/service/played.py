"""A log in memory in which everything happens: feedback early, late, twice, out of order, never; and who watched."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from presage.joining.entries import EntryKind, FeedbackBody, LogEvent, Predicted
from presage.joining.join import Horizons
from presage.joining.lessons import ObservedEntry
from presage.journal.appender import Appender
from presage.service.dashboard.columns import Subject
from presage.service.dashboard.fold import Watch
from presage.spaces import Array
from tests.journal.memory import MemoryLog

HOUR = 3_600_000_000
DAY = 24 * HOUR
START = 1_790_000_000_000_000
HORIZONS = Horizons(2 * DAY, 10 * DAY, absent_proxy=0)
SUBJECT = Subject(3, 2, HORIZONS, ("direct", "residual"), (0, 1), 3)
G = ((0.9, 0.1), (0.6, 0.4), (0.2, 0.8))
TURNED = ((0.9, 0.1), (0.6, 0.4), (0.75, 0.25))
REVERSED = ((0.1, 0.9), (0.4, 0.6), (0.8, 0.2))
FLAWS = 0.03


class Played(NamedTuple):
    """A log, and what was shown of it at each commit."""

    store: MemoryLog
    shown: list[list[ObservedEntry]]


def independent(draw: np.random.Generator, y: int) -> float:
    """Days until an outcome is known, whatever it is."""
    return float(draw.uniform(5, 9.9))


def telling(draw: np.random.Generator, y: int) -> float:
    """Days until an outcome is known: the second kind much sooner than the first."""
    return float(draw.uniform(0.1, 5) if y else draw.uniform(9, 9.9))


def happen(
    rows: int,
    seed: int = 0,
    *,
    every: float = 0.3,
    turn: int | None = None,
    turned: tuple[tuple[float, float], ...] = TURNED,
    flaws: float = FLAWS,
    delay: Callable[[np.random.Generator, int], float] = independent,
) -> list[LogEvent]:
    """What happens, in order of time: a prediction every so many hours. From row `turn` on g is `turned`."""
    draw = np.random.default_rng(seed)
    begin = draw.dirichlet(np.ones(3), 50)
    found = []
    for row in range(rows):
        x = int(draw.integers(50))
        z = int(draw.choice(3, p=begin[x]))
        y = int(draw.choice(2, p=np.array(turned if turn is not None and row >= turn else G)[z]))
        at = START + int(row * every * HOUR)
        found += _events(f"order-{row}", (x, z, y), at, begin[x] @ np.array(G), (draw, flaws, delay(draw, y)))
    end = START + int(rows * every * HOUR)
    return sorted((event for event in found if event.at < end), key=lambda event: event.at)


def _events(
    id: str, values: tuple[int, int, int], at: int, likely: Array, chance: tuple[np.random.Generator, float, float]
) -> list[LogEvent]:
    (x, z, y), (draw, flaws, days) = values, chance
    said, each = np.log(likely), np.log(draw.dirichlet(5 * likely, 3))
    body = Predicted(b"%d" % x, b"\0\0\0\0", b"", 0, said.astype("<f4").tobytes(), each.astype("<f4").tobytes())
    sooner = draw.random() < flaws  # the outcome comes before the proxy
    known = at + int(draw.uniform(5, 40) * HOUR), at + (2 * HOUR if sooner else int(days * DAY))
    parked = draw.random() < flaws
    found = [LogEvent(EntryKind.PREDICTED, id, body, known[0] + HOUR if parked else at)]
    for kind, symbol, then in ((EntryKind.PROXY, z, known[0]), (EntryKind.OUTCOME, y, known[1])):
        if draw.random() < flaws:
            continue  # it never comes
        late = (11 * DAY if kind == EntryKind.OUTCOME else 3 * DAY) if draw.random() < flaws else 0
        found.append(LogEvent(kind, id, FeedbackBody(symbol), then + late))
        if draw.random() < flaws:
            found.append(LogEvent(kind, id, FeedbackBody(symbol if draw.random() < 0.5 else 0), then + late + HOUR))
    return found


def play(events: list[LogEvent], seed: int = 0, horizons: Horizons = HORIZONS) -> Played:
    """The log of what happened, kept in groups of some; what was learnt is published at once."""
    draw = np.random.default_rng(seed)
    shown: list[list[ObservedEntry]] = []
    store = MemoryLog(b"watched")
    appender = Appender(store, horizons, lambda: 0, lambda *_: None, shown.append)
    first = 0
    while first < len(events):
        group = events[first : first + int(draw.integers(1, 20))]
        first += len(group)
        appender.append([_by_model(event, store.counters.learn) for event in group])
        while (missed := appender.settle(store.head.at, 50)).entries:
            appender.commit(missed)
            appender.hand_on(missed)
        appender.model_position = store.counters.learn
    return Played(store, shown)


def watched(played: Played, subject: Subject = SUBJECT) -> Watch:
    """Who was shown a log as it was made."""
    watch = Watch(subject)
    for entries in played.shown:
        watch.add_entries(entries)
    return watch


def _by_model(event: LogEvent, model: int) -> LogEvent:
    if not isinstance(event.body, Predicted):
        return event
    return replace(event, body=replace(event.body, model=model))
