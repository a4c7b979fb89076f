"""One learner process: its pipes, its memory, and a thread that listens to it until it ends or hangs.

Once that thread has judged that a learner hangs it listens no more: nothing that a learner says after it was replaced
is heard, and what it still writes goes to memory that nobody reads. That holds even for one that cannot be killed.
"""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from presage.drivers.core import ArrayLayout
from presage.joining.lessons import Boundary, Lesson
from presage.service.learner.heartbeat import BEAT, Beat, Pulse
from presage.service.learner.messages import MessageReader, MessageWriter
from presage.service.learner.shared_parameters import SharedParameters

COMMAND = [sys.executable, "-m", "presage.service.learner.process"]
SNAPSHOT = 200_000
"""Lessons after which what was learnt is written down, so that a service or a learner that was killed starts soon."""

DYING = 1.0
"""Seconds that a process that was killed, or has closed its pipe, is waited for."""


class Begun(NamedTuple):
    """Where a learner begins: at the last LEARN entry of its snapshot, after so many predictions."""

    position: int
    predictions: int


class LessonMessages:
    """What a learner is told of lessons and boundaries, with a snapshot now and then."""

    def __init__(self) -> None:
        self._unsaved = 0  # lessons since the last snapshot

    def messages(self, lessons: list[Lesson], boundary: Boundary | None, *, publish: bool) -> Iterator[list[Any]]:
        """The messages for the lessons of a commit, and for the boundary after them."""
        if lessons:
            self._unsaved += len(lessons)
            yield ["lessons", lessons]
        if boundary is None:
            return
        yield ["fold", boundary.seq, boundary.predictions]
        if publish:
            yield ["publish"]
        if self._unsaved >= SNAPSHOT:
            self._unsaved = 0
            yield ["snapshot", boundary.chain.hex(), 0]


class LearnerChild:
    """A learner process; `on_message` is called for what it says, except beats, on the thread that listens."""

    def __init__(
        self, layouts: Sequence[ArrayLayout], folder: Path, snapshots: Path, on_message: Callable[..., None]
    ) -> None:
        self.lessons = LessonMessages()
        self.outbox: SimpleQueue[list[Any] | None] = SimpleQueue()  # messages for it once it has read the log
        self.begun: SimpleQueue[Begun | None] = SimpleQueue()
        self.caught_up = False  # with the log, and has published that
        self.pulse, self.told = Pulse(), 0
        self.why = ""  # it has ended
        self._on_message = on_message
        self.parameters = SharedParameters(layouts)
        descriptor = self.parameters.descriptor
        try:
            self._process = subprocess.Popen(
                [*COMMAND, str(folder), str(snapshots), str(descriptor)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(descriptor,),
                bufsize=0,
            )
        finally:
            self.parameters.close_descriptor()
        assert self._process.stdin
        assert self._process.stdout
        self._writer, self._reader = MessageWriter(self._process.stdin), MessageReader(self._process.stdout)
        self._listener = Thread(target=self._listen, name="presage-model", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def tell(self, message: list[Any]) -> None:
        """Send one message; BrokenPipeError once the learner has ended."""
        self._writer.write(message, lambda: self.why, BEAT)
        self.told += 1

    def finish(self) -> None:
        """Let it end by itself, and wait for that."""
        assert self._process.stdin
        self._process.stdin.close()
        self._listener.join()

    def kill(self) -> None:
        """End it now."""
        self._process.kill()

    def _listen(self) -> None:
        assert self._process.stdout
        try:
            hung = self._hear()
        except Exception as error:
            hung = f"it said something wrong ({error!r})"
        if hung:
            self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(DYING)
        self.kill()  # one that has closed its pipe without ending is of no more use
        self._process.stdout.close()
        self.why = hung or ended_by(self._process.poll())
        self.begun.put(None)
        self.outbox.put(None)

    def _hear(self) -> str:
        """Pass on what it says until it ends; why it hangs, if that is the reason."""
        with suppress(EOFError):
            while True:
                message = self._reader.next(BEAT)
                if message is None:
                    if self._process.poll() is not None:  # another process may hold its end of the pipe
                        return ""
                    hung = self.pulse.miss()
                elif message[0] == "beat":
                    hung = self.pulse.hear(Beat(*message[1:]), self.told)
                else:
                    hung = ""
                    self._pass_on(message)
                if hung:
                    return hung
        return ""

    def _pass_on(self, message: list[Any]) -> None:
        if message[0] == "begun":
            self.begun.put(Begun(*message[1:]))
        else:
            self._on_message(self, *message)


def ended_by(code: int | None) -> str:
    """How a process ended, by its exit code.

    >>> ended_by(-9), ended_by(1)
    ('killed by SIGKILL', 'exit code 1')
    """
    if code is None:
        return "it closed its pipe"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
