"""A flood of events as the world sends them: twice, contradicting, out of order, early, late or never."""

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from presage.joining.entries import EntryKind, FeedbackBody, LogEvent
from presage.joining.join import Horizons
from tests.journal.events import outcome, prediction, proxy

HORIZONS = Horizons(proxy=10_000, outcome=40_000, absent_proxy=0, absent_outcome=-1)

REPEATED, CONFLICTING = 0.30, 0.02  # of all events
EARLY, SWAPPED, NEVER, LATE = 0.05, 0.20, 0.10, 0.03  # of predictions, and of their signals


def flood(events: int, seed: int) -> list[LogEvent]:
    """Events in the order they arrive, with their times."""
    random = Random(seed)
    once: list[LogEvent] = []
    number = 0
    while len(once) < events * (1 - REPEATED - CONFLICTING):
        once += _sent(random, f"{random.getrandbits(64):x}-{number}", 20 * number)
        number += 1
    again = [_late_by(random, event) for event in random.sample(once, int(events * REPEATED))]
    other = [_late_by(random, _contradicting(event)) for event in random.sample(once, int(events * CONFLICTING))]
    return sorted(once + again + other, key=lambda event: event.at)


def _sent(random: Random, id: str, at: int) -> Iterator[LogEvent]:
    """A prediction and its signals."""
    yield prediction(id, random.randrange(50), at + 1)
    if random.random() < EARLY:
        signals = [at - random.randrange(2_000) for _ in range(2)]
    elif random.random() < SWAPPED / (1 - EARLY):
        signals = sorted((at + random.randrange(10_000) for _ in range(2)), reverse=True)
    else:
        first = random.randrange(10_000)
        signals = [at + first, at + random.randrange(first, 40_000)]
    for make, came, horizon in ((proxy, signals[0], HORIZONS.proxy), (outcome, signals[1], HORIZONS.outcome)):
        chance = random.random()
        if chance < LATE:
            yield make(id, random.randrange(3), at + horizon + 2 + random.randrange(20_000))
        elif chance < 1 - NEVER:
            yield make(id, random.randrange(3), max(1, came + 1))


def _late_by(random: Random, event: LogEvent) -> LogEvent:
    return replace(event, at=event.at + random.choice((0, 1, 100, 10_000, 100_000)))


def _contradicting(event: LogEvent) -> LogEvent:
    if event.kind == EntryKind.PREDICTED:
        return prediction(event.id, 60, event.at)
    return replace(event, body=FeedbackBody(60))
