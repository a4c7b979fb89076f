"""The learner, as the service sees it: lessons are handed on, and new parameters come back, whatever happens to it.

A thread keeps one learner process running. One that dies or hangs is replaced: the next begins at the last snapshot,
reads what follows from the log, and goes on with what is handed on. Until it has caught up, the service predicts with
the last parameters of the one before.
"""

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerError
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from presage.drivers.core import Core, Parameters
from presage.errors import BusyError, OutputError, PresageError, StateFileError
from presage.files import make_folder
from presage.joining.join import Horizons
from presage.joining.lessons import Boundary, Lesson
from presage.journal.interface import LogStore
from presage.journal.readers import read_lessons
from presage.journal.writer import Writer
from presage.service.folders import SNAPSHOTS
from presage.service.learner.child import DYING, Begun, LearnerChild
from presage.service.learner.heartbeat import LearnerStatus
from presage.service.learner.snapshots import chains_of

T = TypeVar("T")

STARTS = 5
"""Learners in a row that may end before they have caught up with the log."""

DEATHS = 30
"""Learners in a row that may end before they have learnt for HEALTHY beats."""

HEALTHY = 600
"""Beats after which earlier deaths are forgotten: 5 minutes."""

CLOSING = 6.0
"""Seconds that closing may take."""

SAVING = 0.75
"""The share of them that the last snapshot may take."""

_log = logging.getLogger(__name__)


class ServedModel(NamedTuple):
    """Parameters, and the log position and time of the entry at which they were learnt."""

    parameters: Parameters
    position: int
    at: int = 0


class LearnerClient:
    """Hands lessons to a learner in another process, in order; `model` is what it published last.

    Opening waits until a learner has caught up with the log, which nothing else may use so long.
    """

    def __init__(self, engine: Core, folder: Path, store: LogStore, horizons: Horizons) -> None:
        self.failed = ""  # why no learner runs any more
        self.model = ServedModel((), 0)
        self._horizons, self._snapshots = horizons, folder / SNAPSHOTS
        make_folder(self._snapshots, private=True)
        self._start = partial(LearnerChild, engine.layouts, folder, self._snapshots, self._take)
        counters = store.counters
        self._handed = counters.proxies + counters.outcomes  # lessons; counted by the writer's thread only
        self._learnt = counters.learnt_proxies + counters.learnt_outcomes
        self._boundaries: dict[int, tuple[int, int]] = {}  # not learnt yet, by position: the lessons so far, the time
        if counters.learn:
            self._boundaries[counters.learn] = self._learnt, store.entries([counters.learn])[0].at
        self._child: LearnerChild | None = None
        self._live: LearnerChild | None = None  # the same, once lessons go to it as they come
        self._deaths = Deaths()
        self._asked: dict[int, tuple[list[Any], Future[Any]]] = {}  # not answered yet, by number
        self._numbers = count(1)
        self._store: LogStore | None = store
        self._writer, self._opened, self._closing, self._ended = Future[Writer](), Flag(), Flag(), Flag()
        self._keeper = Thread(target=self._keep_running, name="presage-teacher", daemon=True)
        self._keeper.start()
        try:
            self._opened.wait()
        except BaseException:  # an interrupt
            self.close()
            raise
        if self.failed:
            raise StateFileError("no learner could catch up with the log", self.failed, "see what it wrote above")

    @property
    def waiting(self) -> int:
        """How many lessons are in the log that the model in use has not learnt."""
        return self._handed - self._learnt

    @property
    def status(self) -> LearnerStatus:
        """The state of the learner now."""
        child, deaths = self._child, self._deaths.total
        if self._ended.is_set():
            return LearnerStatus(False, "stopped", deaths)
        if child is None or child.why:
            return LearnerStatus(False, "replaced", deaths)
        phase = child.pulse.phase
        known = child.caught_up or phase in ("starting", "compiling", "restoring")
        return LearnerStatus(child.caught_up, phase if known else "catching up", deaths)

    def go_live(self, writer: Writer) -> None:
        """From here on the learner works in parallel, and one that replaces it reads the log through its writer."""
        self._writer.set_result(writer)
        writer.use_model(self.model.position)

    def teach(self, lessons: list[Lesson], boundary: Boundary | None) -> None:
        """Hand on the lessons of a commit, and the position at which they are learnt; does not wait.

        On the writer's thread. A learner that has not caught up yet finds them in the log.
        """
        self._handed += len(lessons)
        if boundary:
            self._boundaries[boundary.seq] = self._handed, boundary.at
        if child := self._live:
            for message in child.lessons.messages(lessons, boundary, publish=True):
                child.outbox.put(message)

    def digest(self) -> tuple[str, int]:
        """A hash of all that was learnt, and the position at which."""
        found, position = self._ask(["digest"]).result()
        return str(found), int(position)

    def close(self, chain: bytes | None = None, seconds: float | None = None) -> None:
        """Let the learner end, and end it if it has not within so many seconds (CLOSING), whatever it does.

        With `chain`, the hash of the log at its last boundary, it writes a snapshot first, if there is time. To close
        again does nothing.
        """
        if self._closing.is_set():
            return
        seconds = CLOSING if seconds is None else seconds
        end = time.monotonic() + seconds
        self._closing.set()
        self._writer.cancel()  # if there is none
        if (live := self._live) and chain:
            with suppress(NoAnswerError, StateFileError):  # without a snapshot only time is lost
                self._ask(["snapshot", chain.hex()]).result(SAVING * seconds)
        if live:
            live.outbox.put(None)
            self._keeper.join(max(0.0, end - time.monotonic()))
        if child := self._child:
            child.kill()
        self._keeper.join(2 * DYING)

    def _ask(self, message: list[Any]) -> "Future[Any]":
        """The answer of the learner, or of the one that replaces it; StateFileError once none will."""
        number, answer = next(self._numbers), Future[Any]()
        message = [*message, number]
        self._asked[number] = message, answer
        if child := self._live:
            child.outbox.put(message)
        if self._ended.is_set():
            self._refuse_questions()
        return answer

    def _refuse_questions(self) -> None:
        why = self.failed or "shutting down"
        for number in list(self._asked):
            with suppress(KeyError):
                error = StateFileError("the learner has stopped", why, "start the service again")
                self._asked.pop(number)[1].set_exception(error)

    def _keep_running(self) -> None:
        try:
            while not self._closing.is_set() and not self.failed:
                why, caught_up, beats = self._run_one()
                if not self._closing.is_set():
                    self.failed = self._deaths.count(caught_up=caught_up, beats=beats, why=why)
                    self._closing.wait(self._deaths.pause)
        except BusyError:
            pass  # the log is being closed
        except Exception as error:
            if not self._closing.is_set():
                self.failed = str(error) if isinstance(error, PresageError) else repr(error)
        finally:
            if self.failed:
                _log.error("no learner runs any more: %s", self.failed)
            self._ended.set()
            self._opened.set()
            self._refuse_questions()

    def _run_one(self) -> tuple[str, bool, int]:
        """Why a learner ended, whether it had caught up, and its beats."""
        try:
            child = self._child = self._start()
        except (OutputError, OSError) as error:
            if self._store:  # the first one: it will not be better next time
                raise
            return str(error), False, 0
        try:
            child.tell(["begin", self._read_log(partial(chains_of, folder=self._snapshots))])
            if place := child.begun.get():
                self._catch_up(child, place)
                while (message := child.outbox.get()) is not None:
                    child.tell(message)
        except BrokenPipeError:
            pass
        except BaseException:
            child.kill()
            raise
        finally:
            self._live = None
            child.finish()
        return child.why, child.caught_up, child.pulse.beats

    def _catch_up(self, child: LearnerChild, place: Begun) -> None:
        """Tell a learner what the log holds beyond its position; from the log's end on it gets lessons as they come."""
        parts: list[Iterator[tuple[list[Lesson], Boundary | None]]] = []

        def read(store: LogStore) -> list[list[Any]]:
            if not parts:
                parts.append(read_lessons(store, self._horizons, *place))
            messages: list[list[Any]] = []
            for lessons, boundary in parts[0]:
                messages += child.lessons.messages(lessons, boundary, publish=False)
                if boundary is None:  # the end of a page: others wait for the log
                    return messages
            self._live = child  # on the writer's thread: nothing is committed meanwhile
            for message, _ in list(self._asked.values()):
                child.outbox.put(message)
            return messages

        while self._live is not child:
            if self._closing.is_set():
                raise BrokenPipeError
            for message in self._read_log(read):
                child.tell(message)
        child.tell(["publish"])

    def _read_log(self, question: Callable[[LogStore], T]) -> T:
        """The result of a function of the log."""
        if store := self._store:
            return question(store)
        return self._writer.result().ask(question).result()

    def _take(self, child: LearnerChild, kind: str, *parts: Any) -> None:
        """Use what a learner published, or pass on its answer; on the thread that listens to it."""
        if kind == "answer":
            number, *answer = parts
            if number in self._asked:
                self._asked.pop(number)[1].set_result(answer)
            return
        seq, copy = parts
        for old in [each for each in list(self._boundaries) if each < seq]:
            del self._boundaries[old]
        self._learnt, at = self._boundaries.get(seq, (self._learnt, 0))
        self.model = ServedModel(child.parameters.copy(copy), seq, at)
        child.caught_up = True
        if self._writer.done() and not self._closing.is_set():
            self._writer.result().use_model(seq)
        self._store = None  # the log has its writer from here on
        self._opened.set()


class Deaths:
    """Learners that died or hung, and when there were too many."""

    def __init__(self) -> None:
        self.total = 0
        self._starts = self._row = 0  # as STARTS and DEATHS say

    @property
    def pause(self) -> float:
        """Seconds until the next one starts: none after one that had caught up."""
        return min(4.0, 0.25 * 2**self._starts) if self._starts else 0.0

    def count(self, *, caught_up: bool, beats: int, why: str) -> str:
        """Count one; why no other should start, or nothing."""
        self.total += 1
        self._starts = 0 if caught_up else self._starts + 1
        self._row = 1 if caught_up and beats >= HEALTHY else self._row + 1
        _log.warning("the learner ended: %s", why)
        if self._starts >= STARTS:
            return f"{STARTS} learners in a row ended before they had caught up with the log, the last one: {why}"
        return f"{DEATHS} learners in a row ended, the last one: {why}" if self._row >= DEATHS else ""
