"""Learners that break once, in the way that they are told: `python -m tests.service.broken_learners WAY MARK ...`."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from presage.drivers.core import Parameters
from presage.service.learner import child, messages, process, snapshots
from presage.service.learner.folding import LogFold
from presage.service.learner.shared_parameters import SharedParameters

PATCH = pytest.MonkeyPatch()
PIPE = 3
"""The descriptor of the pipe to the service: the first that is free."""

BREAKS_AT = 3
"""The batch, or the publication, at which it breaks."""


def use(monkeypatch: pytest.MonkeyPatch, way: str, mark: Path) -> None:
    """Let the service start learners of which the first breaks, and then leaves its mark."""
    monkeypatch.setattr(child, "COMMAND", [sys.executable, "-m", "tests.service.broken_learners", way, str(mark)])


def die(mark: Path) -> None:
    """End as if for want of memory."""
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def torn(mark: Path) -> None:
    """Die when half of the parameters are written."""
    whole, written = SharedParameters.write, [0]

    def write(shared: SharedParameters, copy: int, parameters: Parameters) -> None:
        written[0] += 1
        if written[0] < BREAKS_AT:
            whole(shared, copy, parameters)
            return
        for view in shared.copy(copy):
            view.reshape(-1)[: (view.size + 1) // 2] = 77
        die(mark)

    PATCH.setattr(SharedParameters, "write", write)


def half_a_message(mark: Path) -> None:
    """Die in the middle of a message."""
    once = [0]
    first = messages.send

    def send(stream: Any, message: Any) -> None:
        once[0] += message[0] == "published"
        if once[0] < BREAKS_AT:
            first(stream, message)
            return
        stream.write(b"\x50\0\0\0half")
        die(mark)

    PATCH.setattr(process, "send", send)


def hung(mark: Path) -> None:
    """Wait for a lock without end, while the heart goes on beating."""
    at_batch(mark, lambda: threading.Event().wait())


def dying_parent(mark: Path) -> None:
    """Die, and leave a process behind that holds the pipe."""

    def leave() -> None:
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        held = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=PIPE)
        mark.write_text(str(held.pid))
        os.kill(os.getpid(), signal.SIGKILL)

    at_batch(mark, leave)


def at_batch(mark: Path, then: Any) -> None:
    learn, learnt = LogFold.learn, [0]

    def breaks(fold: LogFold, seq: int, predictions: int) -> int:
        learnt[0] += 1
        if learnt[0] == BREAKS_AT:
            mark.touch()
            then()
        return learn(fold, seq, predictions)

    PATCH.setattr(LogFold, "learn", breaks)


def wrong_words(mark: Path) -> None:
    """Say something that no learner says."""
    first = messages.send

    def send(stream: Any, message: Any) -> None:
        mark.touch()
        first(stream, ["published", "nothing"])

    PATCH.setattr(process, "send", send)


def slow_to_save(mark: Path) -> None:
    """Never end writing a snapshot."""

    def save(*_: Any) -> None:
        mark.touch()
        threading.Event().wait()

    PATCH.setattr(snapshots, "keep_snapshot", save)


def held(mark: Path) -> None:
    """Start only once there is a file beside the mark."""
    while not mark.with_suffix(".go").exists():
        time.sleep(0.01)


def ending(_: Path) -> None:
    """End at once, every time."""
    sys.exit(7)


WAYS = {
    "torn": torn,
    "half a message": half_a_message,
    "hung": hung,
    "dying parent": dying_parent,
    "wrong words": wrong_words,
    "slow to save": slow_to_save,
    "held": held,
    "ending": ending,
}

if __name__ == "__main__":
    _, WAY, MARK, *ARGUMENTS = sys.argv
    if not Path(MARK).exists():
        WAYS[WAY](Path(MARK))
    process.main(ARGUMENTS)
