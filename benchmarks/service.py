"""Load on a durable service: `presage serve` in a process of its own, asked and fed by this one.

`python -m benchmarks.service ten-million` fills a log with so many open predictions and tells the memory on the way.
Where PRESAGE_FASTAPI_PYTHON names an interpreter that has FastAPI and uvicorn, single predictions are compared with a
bare endpoint of it, otherwise with one of Starlette.
"""

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import store
from benchmarks.blocks import Tell, alternate, ratios, spread
from benchmarks.figures import HEADER, Figure, Target, short
from benchmarks.http import bare
from benchmarks.load import Measured, Pace, load
from benchmarks.served import (
    BULK,
    BULKS,
    OUTCOMES,
    PROXIES,
    Served,
    bulks,
    candidates,
    feedback,
    prediction,
    resident,
    served,
)
from presage.joining.entries import EntryKind, FeedbackBody, LogEvent

CONNECTIONS = 16
POSTS = 1_000
"""Posts of a block over one connection, or over all."""
CANDIDATES = 100
FEW, MANY, MOST = 100_000, 1_000_000, 10_000_000
"""Open predictions with which memory is compared."""
PACE = 2_000
"""Events of feedback that come in a second while learning goes on."""
SMALL, LARGE = 20, 200
"""Lines of the bulks in which they come."""
PACED = 3_000
"""Predictions of a block while it does."""
ELSEWHERE = 10**9
"""Where the numbers of predictions begin that are asked for one by one, or as candidates."""


def figures(tell: Tell) -> Iterator[Figure]:
    """What a durable service does under load."""
    with served() as service:
        yield _bulk(service, tell)
    other = "fastapi" if os.environ.get("PRESAGE_FASTAPI_PYTHON") else "starlette"
    with served() as service, bare(other) as port:
        numbers = itertools.count(ELSEWHERE)
        for connections in (1, CONNECTIONS):
            yield from _predictions(service, numbers, connections, (other, port), tell)
        yield from _candidates(service, numbers, tell)
        yield _feedback(service, tell)
    for connections, lines in ((1, SMALL), (1, LARGE), (CONNECTIONS, SMALL)):
        with served() as service:
            yield from _learning(service, connections, lines, tell)
    with served() as service:
        yield from _open(service, tell)
    with TemporaryDirectory() as place:
        yield from store.ingest(Path(place), tell)
    with TemporaryDirectory() as place:
        yield store.size(Path(place), tell)


def _bulk(service: Served, tell: Tell) -> Figure:
    course = bulks(store.course())
    rates = alternate({"bulk": lambda: _rate_of_bulks(service, course)}, tell, "service/bulk")["bulk"]
    against = f"{BULKS} connections, bulks of {BULK:,}: a third each of predictions, proxies and outcomes"
    return Figure("service/bulk", spread(rates), "events/s", against, target=Target(20_000))


def _rate_of_bulks(service: Served, course: Iterator[bytes]) -> float:
    return load(service.port, list(itertools.islice(course, 40)), BULKS).rate * BULK


def _predictions(
    service: Served, numbers: Iterator[int], connections: int, other: tuple[str, int], tell: Tell
) -> Iterator[Figure]:
    about = f"service/predictions/{connections}"
    name, port = other
    kept: dict[str, list[Measured]] = {"presage": [], name: []}

    def block(at: int, to: list[Measured]) -> Callable[[], float]:
        def measure() -> float:
            to.append(load(at, [prediction(next(numbers)) for _ in range(POSTS)], connections))
            return to[-1].rate

        return measure

    blocks = {"presage": block(service.port, kept["presage"]), name: block(port, kept[name])}
    rates = alternate(blocks, tell, about)
    against = f"a bare {name} endpoint that keeps nothing, {short(spread(rates[name]).median)}/s"
    compared = ratios(rates["presage"], rates[name])
    yield Figure(about, spread(rates["presage"]), "posts/s", against, compared)
    yield from _times(about, kept["presage"][1:])


def _candidates(service: Served, numbers: Iterator[int], tell: Tell) -> Iterator[Figure]:
    kept: dict[str, list[Measured]] = {"plain": [], "ranked": []}

    def block(name: str) -> Callable[[], float]:
        def measure() -> float:
            asked = [
                candidates(itertools.islice(numbers, CANDIDATES), rank=name == "ranked") for _ in range(POSTS // 10)
            ]
            kept[name].append(load(service.port, asked, 1))
            return kept[name][-1].rate * CANDIDATES

        return measure

    rates = alternate({name: block(name) for name in kept}, tell, "service/candidates")
    for name, found in kept.items():
        about = f"service/candidates/{name}"
        against = f"1 connection, {CANDIDATES} candidates in a request"
        yield Figure(about, spread(rates[name]), "rows/s", against)
        yield from _times(about, found[1:])


def _feedback(service: Served, tell: Tell) -> Figure:
    tell("service/feedback: asking before")
    fed = _fed(service, 8 * POSTS)

    def measure() -> float:
        return load(service.port, [feedback(event) for event in itertools.islice(fed, POSTS)], CONNECTIONS).rate

    rates = alternate({"feedback": measure}, tell, "service/feedback")["feedback"]
    against = f"{CONNECTIONS} connections, a proxy or an outcome in a request"
    return Figure(f"service/feedback/{CONNECTIONS}", spread(rates), "posts/s", against)


def _learning(service: Served, connections: int, lines: int, tell: Tell) -> Iterator[Figure]:
    """Predictions one by one while feedback comes at a steady pace: learnt, kept with the learner paused, or none."""
    about = f"service/learning/{connections}/by-{lines}"
    tell(f"{about}: asking before")
    numbers, fed = itertools.count(ELSEWHERE), _fed(service, 240_000)
    kept: dict[str, list[Measured]] = {"learning": [], "paused": [], "none": []}
    pace = Pace(iter(list(bulks(fed, lines))), lines / PACE)
    learns = [0.0, 0.0]  # batches learnt, and seconds

    def block(name: str) -> Callable[[], float]:
        def measure() -> float:
            service.settle()
            asked, before = [prediction(next(numbers)) for _ in range(PACED)], _batches(service)
            with service.learner_stopped() if name == "paused" else nullcontext():
                found = load(service.port, asked, connections, pace if name != "none" else None)
            if name == "learning":
                learns[0] += _batches(service) - before
                learns[1] += PACED / found.rate
            kept[name].append(found)
            return found.p99

        return measure

    p99 = alternate({name: block(name) for name in kept}, tell, about)
    p50 = {name: [each.p50 for each in measured[1:]] for name, measured in kept.items()}
    pace_words = f"{PACE:,} events/s learnt in {short(learns[0] / learns[1])} batches/s"
    for other, words in (("paused", "the learner's process stopped"), ("none", "no feedback at all")):
        target = Target(1.5, at_most=True) if other == "paused" else None
        for name, found in (("p99", p99), ("p50", p50)):
            against = f"{words}, {short(spread(found[other]).median)} ms; {pace_words}"
            ratio = ratios(found["learning"], found[other])
            goal = target if name == "p99" else None
            yield Figure(f"{about}/{name}/{other}", spread(found["learning"]), "ms", against, ratio, goal)


def _open(service: Served, tell: Tell) -> Iterator[Figure]:
    """Memory and times with many open predictions."""
    few, rate = _filled(service, range(FEW), tell)
    learner = resident(service.learner)
    many, later = _filled(service, range(FEW, MANY), tell)
    grown = (many - few) / (MANY - FEW)
    against = f"resident memory from {FEW:,} to {MANY:,} open: {few / 2**20:.0f} to {many / 2**20:.0f} MiB"
    against += f"; the learner's {learner / 2**20:.0f} to {resident(service.learner) / 2**20:.0f}"
    yield Figure("service/memory", spread([max(grown, 0.0)]), "bytes", against, target=Target(30, at_most=True))
    against = f"the first {FEW:,}, {short(rate)}/s"
    yield Figure(f"service/bulk/{MANY}-open", spread([later]), "events/s", against, spread([later / rate]))
    numbers = itertools.count(ELSEWHERE)
    for connections in (1, CONNECTIONS):
        about = f"service/predictions/{connections}/{MANY}-open"
        kept: list[Measured] = []

        def block(connections: int = connections, kept: list[Measured] = kept) -> float:
            kept.append(load(service.port, [prediction(next(numbers)) for _ in range(POSTS)], connections))
            return kept[-1].rate

        yield Figure(about, spread(alternate({"open": block}, tell, about)["open"]), "posts/s")
        yield from _times(about, kept[1:])


def ten_million() -> None:
    """Print the memory of the service while ten million open predictions come."""
    with served() as service:
        for start in range(0, MOST, MANY):
            memory, rate = _filled(service, range(start, start + MANY), _tell)
            size = sum(path.stat().st_size for path in service.folder.iterdir() if path.is_file())
            learner = resident(service.learner) / 2**20
            line = f"{start + MANY:>12,} open  {memory / 2**20:6.1f} MiB resident, the learner {learner:6.1f} MiB"
            print(f"{line}  {short(rate):>7} predictions/s  {size / 2**20:8.0f} MiB of log", flush=True)


def _filled(service: Served, numbers: range, tell: Tell) -> tuple[int, float]:
    """The memory of the service once predictions of these numbers are open, and how many a second it kept."""
    tell(f"service: {numbers.stop:,} open predictions")
    parts = [range(start, min(start + FEW, numbers.stop)) for start in range(numbers.start, numbers.stop, FEW)]
    took = sum(len(part) / service.open_more(part) for part in parts)
    service.settle()
    return resident(service.process), len(numbers) / took


def _fed(service: Served, count: int) -> Iterator[LogEvent]:
    """So much feedback on predictions that are made here: a proxy and an outcome of each."""
    service.open_more(range(count // 2))
    service.settle()
    return itertools.chain.from_iterable(map(_signals, range(count // 2)))


def _signals(number: int) -> tuple[LogEvent, LogEvent]:
    id = store.named(number)
    proxy, outcome = FeedbackBody(number % len(PROXIES)), FeedbackBody(number % len(OUTCOMES))
    return LogEvent(EntryKind.PROXY, id, proxy), LogEvent(EntryKind.OUTCOME, id, outcome)


def _batches(service: Served) -> float:
    """How many LEARN entries the log has: those that are in no bin."""
    numbers = service.numbers()
    return numbers["log_entries"] - sum(count for name, count in numbers.items() if name.startswith("entries{"))


def _times(about: str, found: list[Measured]) -> Iterator[Figure]:
    yield Figure(f"{about}/p50", spread([each.p50 for each in found]), "ms")
    yield Figure(f"{about}/p99", spread([each.p99 for each in found]), "ms")


def _tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    """Print the figures, or the memory of ten million."""
    if sys.argv[1:] == ["ten-million"]:
        ten_million()
        return
    print(HEADER)
    for figure in figures(_tell):
        print(figure.line(), flush=True)


if __name__ == "__main__":
    main()
