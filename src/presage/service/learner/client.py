"""The learner's process, as the service sees it: lessons are handed on, and new parameters come back."""

import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any, NamedTuple

import msgspec

from presage.drivers.core import Core, Parameters
from presage.errors import StateFileError
from presage.joining.join import Horizons
from presage.joining.lessons import Boundary, Lesson
from presage.journal.interface import LogStore
from presage.journal.readers import read_lessons
from presage.service.learner.shared_parameters import SharedParameters, shared_path

LENGTH = struct.Struct("<I")


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    body = msgspec.msgpack.encode(message)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """The next message, or None at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    body = stream.read(length)
    return msgspec.msgpack.decode(body) if len(body) == length else None


SNAPSHOT = 200_000
"""Lessons after which what was learnt is written down, so that a service that was killed starts soon."""


class ServedModel(NamedTuple):
    """Parameters, and the log position of the entry at which they were learnt."""

    parameters: Parameters
    position: int


class LearnerClient:
    """Hands lessons to a learner in another process, in order; `model` is what it published last."""

    def __init__(self, engine: Core, folder: Path, snapshots: Path, chains: dict[str, str]) -> None:
        snapshots.mkdir(parents=True, exist_ok=True)
        path = shared_path()
        self._published = SharedParameters(engine.layouts, path, create=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "presage.service.learner.process", str(folder), str(path), str(snapshots)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.stopped = ""  # why, once it has
        self._handed = self._learnt = 0  # lessons; each is counted by one thread only
        self.model = ServedModel(self._published.copy(0), 0)
        self._outbox: SimpleQueue[list[Any] | None] = SimpleQueue()
        self._unkept = 0  # lessons since the last snapshot
        self._unread = 0  # snapshots that no caller waits for
        self._answers: dict[str, SimpleQueue[list[Any] | None]] = {kind: SimpleQueue() for kind in ("kept", "digest")}
        self._on_published: Callable[[int], None] = lambda _: None
        assert self._process.stdin
        assert self._process.stdout
        send(self._process.stdin, ["begin", chains])
        begun = receive(self._process.stdout)
        if begun is None:
            raise StateFileError("the learner did not start", self._process.wait(), "see what it wrote above")
        self.position, self.predictions = int(begun[1]), int(begun[2])
        self._receive_published()
        path.unlink()
        path.parent.rmdir()
        self._sender = Thread(target=self._send, name="presage-teacher", daemon=True)
        self._receiver = Thread(target=self._receive, name="presage-model", daemon=True)

    @property
    def waiting(self) -> int:
        """How many lessons were handed on and are not learnt yet."""
        return self._handed - self._learnt

    def catch_up(self, store: LogStore, horizons: Horizons) -> None:
        """Teach all that the log holds beyond the learner's position."""
        for lessons, boundary in read_lessons(store, horizons, self.position, self.predictions):
            self._handed += len(lessons)
            self._tell(["lessons", lessons])
            if boundary:
                self._tell(["learn", boundary.seq, boundary.predictions])
                self._receive_published()

    def go_live(self, on_published: Callable[[int], None]) -> None:
        """From here on the learner works in parallel; this passes on what it has published."""
        self._on_published = on_published
        self._sender.start()
        self._receiver.start()
        on_published(self.model.position)

    def teach(self, lessons: list[Lesson], boundary: Boundary | None) -> None:
        """Hand on the lessons of a commit, and the position at which they are learnt; does not wait."""
        if self.stopped:
            return
        if lessons:
            self._handed += len(lessons)
            self._unkept += len(lessons)
            self._outbox.put(["lessons", lessons])
        if boundary:
            self._outbox.put(["learn", boundary.seq, boundary.predictions])
            if self._unkept >= SNAPSHOT:
                self._outbox.put(["snapshot", boundary.chain.hex()])
                self._unkept, self._unread = 0, self._unread + 1

    def keep(self, chain: bytes) -> None:
        """Write a snapshot of what is learnt; `chain` is the hash of the log at its last boundary. Waits for it."""
        for _ in range(self._unread):
            self._answered("kept")
        self._unread = 0
        self._ask("kept", ["snapshot", chain.hex()])

    def digest(self) -> tuple[str, int]:
        """A hash of all that was learnt, and the position at which."""
        _, found, position = self._ask("digest", ["digest"])
        return found, position

    def close(self) -> None:
        """Let the learner end."""
        assert self._process.stdin
        assert self._process.stdout
        if self._sender.is_alive():
            self._outbox.put(None)
            self._sender.join()
        with suppress(BrokenPipeError):  # it ended before it got everything
            self._process.stdin.close()
        self._process.wait()
        if self._receiver.is_alive():
            self._receiver.join()
        self._process.stdout.close()

    def _ask(self, kind: str, message: list[Any]) -> list[Any]:
        self._outbox.put(message)
        return self._answered(kind)

    def _answered(self, kind: str) -> list[Any]:
        answer = self._answers[kind].get()
        if answer is None:
            self._answers[kind].put(None)
            raise StateFileError("the learner has stopped", self.stopped, "start the service again")
        return answer

    def _tell(self, message: list[Any]) -> None:
        assert self._process.stdin
        send(self._process.stdin, message)

    def _receive_published(self) -> None:
        assert self._process.stdout
        message = receive(self._process.stdout)
        if message is None:
            raise StateFileError("the learner stopped", self._process.wait(), "see what it wrote above")
        self._take(*message[1:])

    def _take(self, seq: int, copy: int, learnt: int) -> None:
        """Use what was published."""
        self._learnt += learnt
        self.model = ServedModel(self._published.copy(copy), seq)

    def _send(self) -> None:
        try:
            while (message := self._outbox.get()) is not None:
                self._tell(message)
        except OSError as error:
            self.stopped = self.stopped or str(error)

    def _receive(self) -> None:
        assert self._process.stdout
        while (message := receive(self._process.stdout)) is not None:
            kind, *parts = message
            if kind == "published":
                self._take(*parts)
                self._on_published(self.model.position)
            else:
                self._answers[kind].put(message)
        self.stopped = self.stopped or f"exit code {self._process.wait()}"
        for waiting in self._answers.values():
            waiting.put(None)
