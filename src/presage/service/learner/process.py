"""The process that learns: lessons in, parameters out. Started by the service; never touches the log itself."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from presage.service.learner.heartbeat import Heart
from presage.service.learner.messages import receive, send

if TYPE_CHECKING:
    from presage.drivers.core import Core

EXPENDABLE = "500"
"""Where memory runs out, the learner goes before the service: it can be replaced."""


def run_learner(engine: "Core", descriptor: int, snapshots: Path, inbox: IO[bytes], heart: Heart) -> None:
    """Learn until the inbox ends.

    Messages in: ["begin", chains], ["lessons", [...]], ["fold", seq, predictions], ["publish"],
    ["snapshot", chain, asked], ["digest", asked]. Messages out: ["begun", position, predictions],
    ["published", seq, copy], ["answer", asked, ...], and the beats of the heart.
    """
    from presage.drivers.core import digest  # noqa: PLC0415 the heart beats before these are imported
    from presage.joining.lessons import Lesson  # noqa: PLC0415
    from presage.service.learner.folding import LogFold  # noqa: PLC0415
    from presage.service.learner.shared_parameters import SharedParameters  # noqa: PLC0415
    from presage.service.learner.snapshots import keep_snapshot, restore_snapshot  # noqa: PLC0415

    published, copy, outbox = SharedParameters(engine.layouts, descriptor), 0, heart.outbox
    heart.enter("compiling")
    pupil = LogFold(engine)
    heart.enter("waiting")
    while (message := receive(inbox)) is not None:
        kind, *parts = message
        heart.taken += 1
        if kind == "begin":
            heart.enter("restoring")
            restore_snapshot(pupil, snapshots, *parts)
            send(outbox, ["begun", pupil.learnt, pupil.learning.predictions])
        elif kind == "lessons":
            pupil.take([Lesson(*lesson) for lesson in parts[0]])
        elif kind == "fold":
            heart.enter("folding")
            pupil.learn(*parts)
        elif kind == "publish":
            copy = 1 - copy
            published.write(copy, pupil.learning.parameters())
            send(outbox, ["published", pupil.learnt, copy])
        elif kind == "snapshot":
            heart.enter("saving")
            chain, asked = parts
            keep_snapshot(pupil, snapshots, chain)
            send(outbox, ["answer", asked, pupil.learnt])
        elif kind == "digest":
            heart.enter("folding")
            send(outbox, ["answer", *parts, digest(pupil.learning), pupil.learnt])
        heart.enter("waiting")


def main(arguments: list[str]) -> Any:
    """The process: its arguments are the data folder, the folder of snapshots and the shared memory's descriptor."""
    for each in (signal.SIGINT, signal.SIGTERM):  # sent to all processes of a service: it ends when the service does
        signal.signal(each, signal.SIG_IGN)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(EXPENDABLE)
    # Messages go where standard output went; whatever a library prints goes to standard error.
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    heart = Heart(outbox)
    heart.start()
    from presage.drivers.core import core_for  # noqa: PLC0415 the heart beats before these are imported
    from presage.service.folders import folder_forecaster  # noqa: PLC0415

    folder, snapshots, descriptor = Path(arguments[0]), Path(arguments[1]), int(arguments[2])
    heart.enter("compiling")
    run_learner(core_for(folder_forecaster(folder)), descriptor, snapshots, sys.stdin.buffer, heart)


if __name__ == "__main__":
    main(sys.argv[1:])
