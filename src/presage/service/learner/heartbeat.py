"""The heartbeat of the learner: it tells what it does and how far it is, and the service judges whether it hangs.

A thread that beats proves that the process lives, not that it works. So each beat also carries the phase that the
main loop declared, how many steps it has taken, and the processor time it has used: one that compiles or folds for
minutes keeps using the processor and is left alone; one that waits for a lock uses none.
"""

import os
import threading
import time
from typing import IO, NamedTuple

from presage.service.learner.messages import send

BEAT = 0.5
"""Seconds between two beats. The service counts beats, not seconds: time in which it was stopped itself is not held
against the learner."""

SILENT = 8
"""Beats that may be missed: 4 seconds."""

FIRST = 120
"""The same before the first beat: an interpreter has to start, perhaps from a slow disk."""

WORK = 0.02
"""Seconds of the processor within a phase's patience that count as work; beating itself takes far less."""


class Patience(NamedTuple):
    """How many beats a learner may stay in one step of a phase."""

    idle: int  # without work
    busy: int  # with it


PHASES = {
    "starting": Patience(60, 600),  # importing, perhaps from a slow disk
    "compiling": Patience(20, 7200),
    "restoring": Patience(60, 1200),  # reading a snapshot
    "folding": Patience(8, 7200),  # learning one batch; a network compiles in its first ones
    "saving": Patience(120, 1200),  # writing a snapshot, perhaps to a slow disk
    "waiting": Patience(8, 120),  # for a message; without limit once it has taken all that was sent
}
"""The phases that a learner declares."""


STATES = (*PHASES, "catching up", "replaced", "stopped")
"""What a learner may be doing, as the service sees it."""


class LearnerStatus(NamedTuple):
    """The state of the learner at one moment."""

    up: bool = True  # it runs, and has caught up with the log
    doing: str = "waiting"  # one of STATES
    deaths: int = 0  # learners that died or hung since the service started


class Beat(NamedTuple):
    """What a learner tells about itself."""

    phase: str
    steps: int  # how often it has changed its phase
    taken: int  # messages
    work: float  # seconds of the processor


class Heart:
    """The learner's side: what the main loop does, sent by a separate thread."""

    def __init__(self, outbox: IO[bytes]) -> None:
        self.taken = 0
        self.outbox, self._now = outbox, ("starting", 0)

    def enter(self, phase: str) -> None:
        """Declare the phase that begins now."""
        self._now = phase, self._now[1] + 1

    def start(self) -> None:
        """Beat until the process ends."""
        threading.Thread(target=self._run, name="presage-heart", daemon=True).start()

    def beat(self) -> None:
        """Tell what is going on."""
        send(self.outbox, ["beat", *Beat(*self._now, self.taken, time.process_time())])

    def _run(self) -> None:
        while True:
            try:
                self.beat()
            except OSError:  # the service is gone, and with it whoever could use what is learnt
                os._exit(1)
            time.sleep(BEAT)


class Pulse:
    """The service's side: whether a learner hangs, judged by its beats."""

    def __init__(self) -> None:
        self.phase = "starting"
        self.beats = 0  # in all
        self.missed = 0  # since the last
        self._place, self._idle, self._busy = (0, 0), 0, 0
        self._worked = 0.0

    def miss(self) -> str:
        """Note that nothing was heard for the time of a beat; why it hangs, or nothing."""
        self.missed += 1
        limit = SILENT if self.beats else FIRST
        return f"no sign of life for {limit * BEAT:g} seconds" if self.missed >= limit else ""

    def hear(self, beat: Beat, told: int) -> str:
        """Note a beat of a learner that was told so many messages; why it hangs, or nothing."""
        self.beats, self.missed, self.phase = self.beats + 1, 0, beat.phase
        moved = self._place != (beat.steps, beat.taken)
        idle_by_right = beat.phase == "waiting" and beat.taken >= told
        worked = beat.work - self._worked >= WORK
        self._busy = 0 if moved or idle_by_right else self._busy + 1
        self._idle = 0 if moved or idle_by_right or worked else self._idle + 1
        if self._idle == 0:
            self._place, self._worked = (beat.steps, beat.taken), beat.work
        patience = PHASES.get(beat.phase, PHASES["waiting"])
        if self._idle >= patience.idle:
            return f"no work for {patience.idle * BEAT:g} seconds while {beat.phase}"
        if self._busy >= patience.busy:
            return f"one step for {patience.busy * BEAT:g} seconds while {beat.phase}"
        return ""
