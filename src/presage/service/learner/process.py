"""The process that learns: lessons in, parameters out. Started by the service; never touches the log itself."""

import signal
import sys
from pathlib import Path
from typing import IO, Any

from presage.drivers.core import Core, core_for, digest
from presage.joining.lessons import Lesson
from presage.service.folders import folder_forecaster
from presage.service.learner.client import receive, send
from presage.service.learner.folding import LogFold
from presage.service.learner.shared_parameters import SharedParameters
from presage.service.learner.snapshots import keep_snapshot, restore_snapshot


def run_learner(engine: Core, memory: Path, snapshots: Path, inbox: IO[bytes], outbox: IO[bytes]) -> None:
    """Learn until the inbox ends.

    Messages in: ["begin", chains], ["lessons", [...]], ["learn", seq, predictions], ["snapshot", chain], ["digest"].
    Messages out: ["begun", position, predictions], ["published", seq, copy, lessons], ["kept", seq],
    ["digest", hash, seq].
    """
    pupil, published, copy = LogFold(engine), SharedParameters(engine.layouts, memory), 0

    def publish(learnt: int) -> None:
        nonlocal copy
        copy = 1 - copy
        published.write(copy, pupil.learning.parameters())
        send(outbox, ["published", pupil.learnt, copy, learnt])

    while (message := receive(inbox)) is not None:
        kind, *parts = message
        if kind == "begin":
            restore_snapshot(pupil, snapshots, *parts)
            send(outbox, ["begun", pupil.learnt, pupil.learning.predictions])
            publish(0)
        elif kind == "lessons":
            pupil.take([Lesson(*lesson) for lesson in parts[0]])
        elif kind == "learn":
            publish(pupil.learn(*parts))
        elif kind == "snapshot":
            keep_snapshot(pupil, snapshots, *parts)
            send(outbox, ["kept", pupil.learnt])
        elif kind == "digest":
            send(outbox, ["digest", digest(pupil.learning), pupil.learnt])


def main(arguments: list[str]) -> Any:
    """The process: its arguments are the data folder, the shared memory and the folder of snapshots."""
    for each in (signal.SIGINT, signal.SIGTERM):  # sent to all processes of a service: it ends when the service does
        signal.signal(each, signal.SIG_IGN)
    folder, memory, snapshots = (Path(argument) for argument in arguments)
    run_learner(core_for(folder_forecaster(folder)), memory, snapshots, sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main(sys.argv[1:])
