"""What a client asked and was answered, on a disk of its own before anything else happens."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from presage.joining.entries import EntryKind, LogEvent
from tests.journal.events import outcome, prediction, proxy

Wire = tuple[int, str, int, int]
"""An event as it travels: its kind, its id, its feature or symbol, and the model that answered."""


class Reply(NamedTuple):
    """What became of an event."""

    decision: str
    seq: int
    bin: int


class Asked(NamedTuple):
    """A request, and how it ended: "ok", "refused" or "unknown"."""

    events: list[LogEvent]
    end: str
    replies: list[Reply]


def event_of(wire: Wire) -> LogEvent:
    kind, id, value, model = wire
    if kind == EntryKind.PREDICTED:
        return prediction(id, value, model=model)
    return proxy(id, value) if kind == EntryKind.PROXY else outcome(id, value)


class Ledger:
    """Written by many threads; every record is synced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, what: str, request: str, content: object) -> None:
        os.write(self._file, json.dumps([what, request, content]).encode() + b"\n")
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


def read_ledger(path: Path) -> Iterator[Asked]:
    """Every request; one without an end is unknown."""
    invoked: dict[str, list[LogEvent]] = {}
    ended: dict[str, tuple[str, list[Reply]]] = {}
    for line in path.read_text().splitlines():
        what, request, content = json.loads(line)
        if what == "invoke":
            invoked[request] = [event_of(wire) for wire in content]
        else:
            ended[request] = what, [Reply(*reply) for reply in content]
    for request, events in invoked.items():
        yield Asked(events, *ended.get(request, ("unknown", [])))
