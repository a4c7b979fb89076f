"""A service under load that is ended again and again: `python -m tests.faults.load --help`.

One process serves, through the writer and onto the disk. The other is eight clients with a ledger. Neither imports
JAX, so a service starts by a fork, in milliseconds.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from presage.errors import BusyError, PresageError, StoreFullError
from presage.joining.entries import EntryKind
from presage.joining.join import Horizons
from presage.joining.lessons import Boundary, Lesson
from presage.journal.sqlite import SqliteLog
from presage.journal.writer import Writer
from tests.faults import planted
from tests.faults.checker import violations
from tests.faults.ledger import Ledger, Reply, Wire, event_of, read_ledger
from tests.journal.events import TASK

CLIENTS = 8
HORIZONS = Horizons(proxy=30_000, outcome=100_000, absent_proxy=0, absent_outcome=-1)
TICK = 0.01  # seconds
ROUNDS = 10
"""How often one log is ended before a new one begins."""


def now() -> int:
    return time.time_ns() // 1000


def serve(folder: Path, sockets: list[socket.socket]) -> None:
    """Serve until all clients are gone, or until ended from outside."""

    def feed(_: list[Lesson], boundary: Boundary | None) -> None:
        if boundary:
            writer.use_model(boundary.seq)

    log = SqliteLog(folder, TASK)
    writer = Writer(log, HORIZONS, now, feed)
    writer.use_model(log.counters.learn)
    handlers = [threading.Thread(target=_handle, args=(writer, each)) for each in sockets]
    for handler in handlers:
        handler.start()
    while any(handler.is_alive() for handler in handlers) and not writer.failed:
        time.sleep(TICK)
        try:
            writer.tick(now())
        except PresageError:
            break
    for handler in handlers:
        handler.join()
    writer.close()


def _handle(writer: Writer, connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as requests:
        for line in requests:
            try:
                answers = writer.submit([event_of(wire) for wire in json.loads(line)]).result()
                replies = [Reply(each.decision.value, each.seq, each.bin) for each in answers]
                answer: list[Any] = ["ok", replies, writer.counters.learn]
            except (BusyError, StoreFullError) as error:
                answer = ["refused", str(error), 0]
            except PresageError as error:
                answer = ["unknown", str(error), 0]
            connection.sendall(json.dumps(answer).encode() + b"\n")


class Client:
    """Asks for predictions and brings feedback, some of it early, twice, contradicting or for nobody."""

    def __init__(self, name: str, seed: int, ledger: Ledger) -> None:
        self.name, self.random, self.ledger = name, Random(seed), ledger
        self.sent: list[Wire] = []
        self.unknown: list[list[Wire]] = []  # to be sent again
        self.requests = self.model = 0

    def run(self, connection: socket.socket) -> None:
        """Send requests until the service is gone."""
        with connection, connection.makefile("rb") as answers:
            while True:
                events = self.unknown.pop() if self.unknown else self._events()
                self.requests += 1
                request = f"{self.name}.{self.requests}"
                self.ledger.write("invoke", request, events)
                try:
                    connection.sendall(json.dumps(events).encode() + b"\n")
                    end, replies, model = json.loads(answers.readline())
                except (OSError, ValueError):
                    end, replies, model = "unknown", [], 0
                self.ledger.write(end, request, replies if end == "ok" else [])
                if end == "unknown":
                    self.unknown.append(events)
                    return
                self.model = max(self.model, model)

    def _events(self) -> list[Wire]:
        found = [self._event() for _ in range(self.random.choice((1, 1, 3, 20)))]
        self.sent += found
        return found

    def _event(self) -> Wire:
        chance = self.random.random()
        if chance < 0.35 or not self.sent:
            return EntryKind.PREDICTED, f"{self.name}-{len(self.sent)}-{self.random.random()}", 1, self.model
        kind, id, value, model = self.random.choice(self.sent[-300:])
        if chance < 0.45:
            return kind, id, value, model
        if chance < 0.47:
            return kind, id, value + 1, model
        if chance < 0.52:
            return EntryKind.PREDICTED, id, 1, self.model
        signal = EntryKind.PROXY if chance < 0.75 else EntryKind.OUTCOME
        return signal, f"{id}-early" if chance > 0.98 else id, self.random.randrange(2), 0


def fork_service(folder: Path, bug: str) -> tuple[int, list[socket.socket]]:
    """The process id of a new service, and the clients' ends of its connections."""
    pairs = [socket.socketpair() for _ in range(CLIENTS)]
    process = os.fork()
    if process == 0:
        for mine, _ in pairs:
            mine.close()
        try:
            planted.plant(bug)
            serve(folder, [theirs for _, theirs in pairs])
        except BaseException as error:
            sys.stderr.write(f"the service ended: {error!r}\n")
        finally:
            os._exit(0)
    for _, theirs in pairs:
        theirs.close()
    return process, [mine for mine, _ in pairs]


def play_round(folder: Path, clients: list[Client], end: Callable[[int], None], bug: str = "") -> None:
    """Serve and ask until `end`, given the process id, has ended the service."""
    process, connections = fork_service(folder, bug)
    threads = [
        threading.Thread(target=client.run, args=(each,)) for client, each in zip(clients, connections, strict=True)
    ]
    for thread in threads:
        thread.start()
    end(process)
    for thread in threads:
        thread.join()
    os.waitpid(process, 0)


def kill_soon(random: Random, longest: float) -> Callable[[int], None]:
    """What ends a process by kill -9 at a random instant."""

    def end(process: int) -> None:
        time.sleep(random.random() * longest)
        os.kill(process, signal.SIGKILL)

    return end


def ended_again_and_again(
    place: Path,
    rounds: int,
    seed: int,
    make_end: Callable[[Random], Callable[[int], None]],
    *,
    bug: str = "",
    logs: Path | None = None,
) -> dict[str, Any]:
    """What was found after each of so many ends; every ten rounds a new folder begins, in `logs` if that is given."""
    random, found, played, requests, events = Random(seed), list[str](), 0, 0, 0
    for first in range(0, rounds, ROUNDS):
        folder, path = (logs or place) / f"log {first}", place / f"ledger {first}"
        ledger = Ledger(path)
        clients = [Client(f"{first}.{number}", random.getrandbits(32), ledger) for number in range(CLIENTS)]
        for _ in range(min(ROUNDS, rounds - first)):
            played += 1
            play_round(folder, clients, make_end(random), bug)
            found += (broken := violations(folder, read_ledger(path), HORIZONS))
            if broken:
                break
        shutil.rmtree(folder)
        ledger.close()
        asked = list(read_ledger(path))
        requests += len(asked)
        events += sum(len(each.replies) for each in asked)
    return {"rounds": played, "requests": requests, "acknowledged": events, "violations": found}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.load", description="kill -9 under load")
    parser.add_argument("place", type=Path, help="a folder for logs and ledgers")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=0.5, help="seconds until a kill, at most")
    parser.add_argument("--bug", default="", help="a bug to plant")
    given = parser.parse_args()

    def make_end(random: Random) -> Callable[[int], None]:
        return kill_soon(random, given.longest)

    found = ended_again_and_again(given.place, given.rounds, given.seed, make_end, bug=given.bug)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
