"""`presage serve` in a process of its own, on a folder of a real disk, and what is sent to it."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.load import load, post
from benchmarks.store import named
from presage.joining.entries import EntryKind, FeedbackBody, LogEvent
from presage.task.task import load_task

ENTRY = "import sys; from presage.cli import main; sys.exit(main())"
"""What the command `presage` runs."""
TASK = Path("examples/shop.toml")
BULK = 1_000
"""Lines of a bulk."""
BULKS = 2
"""Connections over which bulks are sent, so that one is read while another is kept."""

SETTLED = 1.0
"""Seconds in which a service that has something to do does something."""

PAUSED, BEATING = 2.5, 0.02
"""Seconds for which a stopped learner is stopped, and in between not."""

_SHOP = load_task(TASK)
PROXIES, OUTCOMES = _SHOP.proxy().values, _SHOP.outcome.values
GENRES = ("crime", "love", "poems", "history", "science", "travel")
_LISTENING = re.compile(r"Listening on http://127\.0\.0\.1:(\d+)")


class Served(NamedTuple):
    """A service that runs."""

    port: int
    process: int  # its id
    folder: Path

    @property
    def learner(self) -> int:
        """The id of the process that learns."""
        lists = Path(f"/proc/{self.process}/task").glob("*/children")
        return next(int(child) for children in lists for child in children.read_text().split())

    @contextmanager
    def learner_stopped(self) -> Iterator[None]:
        """The learner does next to nothing until the end of the block; lessons are handed on and wait.

        One that was never heard would be replaced: so it may beat now and then.
        """
        learner, end = self.learner, threading.Event()

        def hold() -> None:
            while not end.is_set():
                os.kill(learner, signal.SIGSTOP)
                end.wait(PAUSED)
                os.kill(learner, signal.SIGCONT)
                end.wait(BEATING)

        thread = threading.Thread(target=hold)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()

    def numbers(self) -> dict[str, float]:
        """What /metrics shows."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        parts = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name.removeprefix("presage_"): float(value) for name, _, value in parts}

    def settle(self) -> None:
        """Wait until nothing more is learnt: what no prediction follows waits for one."""
        before, now = -1.0, self.numbers()["model_position"]
        while now != before:
            time.sleep(SETTLED)
            before, now = now, self.numbers()["model_position"]

    def open_more(self, numbers: Iterable[int]) -> float:
        """Predictions a second kept of these, sent as bulks."""
        bulks = [_bulk(map(predicted_line, part)) for part in _parts(numbers, BULK)]
        return load(self.port, bulks, BULKS).rate * BULK


@contextmanager
def served(source: Path | None = None, task: Path = TASK, data: Path | None = None) -> Iterator[Served]:
    """A service until the end of the block; from the sources in another folder if one is given.

    Its data lie in a new folder, or in `data`, which then stays.
    """
    with TemporaryDirectory() as place:
        folder = data or Path(place) / "data"
        command = [sys.executable, "-c", ENTRY, "serve", "--task", str(task), "--data", str(folder), "--port", "0"]
        environment = os.environ | ({"PYTHONPATH": str(source)} if source else {})
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr
            found = next((each for each in map(_LISTENING.search, process.stderr) if each), None)
            assert found, "the service did not start"
            yield Served(int(found[1]), process.pid, folder)
        finally:
            process.terminate()
            process.communicate()


def resident(process: int) -> int:
    """Bytes of resident memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) * 1024


def bulks(events: Iterator[LogEvent], lines: int = BULK) -> Iterator[bytes]:
    """Events as bulks of so many lines."""
    while part := list(itertools.islice(events, lines)):
        yield _bulk(map(_line, part))


def prediction(number: int) -> bytes:
    """A request for one prediction."""
    return _json("/v1/predictions", _candidate(number))


def candidates(numbers: Iterable[int], *, rank: bool) -> bytes:
    """A request for the predictions of many candidates."""
    body: dict[str, Any] = {"candidates": [_candidate(number) for number in numbers]}
    return _json("/v1/predictions", body | ({"rank": True, "outcome": OUTCOMES[1]} if rank else {}))


def feedback(event: LogEvent) -> bytes:
    """A request with one proxy or outcome."""
    assert isinstance(event.body, FeedbackBody)
    path, values = ("proxies", PROXIES) if event.kind is EntryKind.PROXY else ("outcomes", OUTCOMES)
    return _json(f"/v1/{path}", {"id": event.id, "value": values[event.body.symbol]})


def predicted_line(number: int) -> str:
    """A prediction as a line of a bulk."""
    return json.dumps({"kind": "prediction"} | _candidate(number))


def _line(event: LogEvent) -> str:
    if not isinstance(event.body, FeedbackBody):
        return json.dumps({"kind": "prediction", "id": event.id, "features": _features(event.id)})
    kind, values = ("proxy", PROXIES) if event.kind is EntryKind.PROXY else ("outcome", OUTCOMES)
    return json.dumps({"kind": kind, "id": event.id, "value": values[event.body.symbol]})


def _candidate(number: int) -> dict[str, Any]:
    return {"id": named(number), "features": _features(named(number))}


def _features(id: str) -> dict[str, str]:
    """Features that follow from the id: one of 500 titles, and its genre."""
    title = int(id[:8], 16) % 500
    return {"title": f"title {title}", "genre": GENRES[title % len(GENRES)]}


def _json(path: str, body: dict[str, Any]) -> bytes:
    return post(path, "application/json", json.dumps(body).encode())


def _bulk(lines: Iterable[str]) -> bytes:
    return post("/v1/events", "application/x-ndjson", "\n".join(lines).encode())


def _parts(numbers: Iterable[int], size: int) -> Iterator[list[int]]:
    left = iter(numbers)
    while part := list(itertools.islice(left, size)):
        yield part
