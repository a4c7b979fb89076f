"""Verification of a log beside that of another version: `python -m benchmarks verify FOLDER`, a checkout of the other.

Both check a log of the same events by the command, each in a process of its own and in the format that it writes.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.blocks import Tell, alternate, ratios, spread
from benchmarks.figures import Figure, Target, short
from benchmarks.served import TASK
from benchmarks.store import course
from presage.journal.appender import Appender
from presage.journal.copying import WAL
from presage.journal.sqlite import FILE, SqliteLog
from presage.progress import silent
from presage.service.copies import rewrite_folder
from presage.service.folders import TASK as TASK_FILE
from presage.service.folders import horizons_of, task_digest
from presage.task.task import load_task

ENTRIES = 200_000
GROUP = 20
"""Events in a commit."""

WORKER = """
import contextlib, io, sys, time
from presage.cli import main

answers = sys.stdout
for line in sys.stdin:
    sys.argv = ["presage", "log", "verify", "--json", "--data", *line.split()]
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            assert not end.code, end.code
    print(time.perf_counter() - started, file=answers, flush=True)
"""


def figures(arguments: list[str], tell: Tell) -> Iterator[Figure]:
    """Entries checked in a second, in full and by the chain alone, against the full check of another version."""
    sources = {"this": Path(__file__).parents[1] / "src", "other": Path(arguments[0]).resolve() / "src"}
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory()))
        tell(f"verify: writing {ENTRIES:,} entries")
        old, new, count = place / "old", place / "new", _write(place / "old")
        rewrite_folder(old, new, None, frozenset(), silent)
        ask = {side: stack.enter_context(_worker(source)) for side, source in sources.items()}
        blocks: dict[str, Callable[[], float]] = {
            "other": lambda: count / ask["other"](str(old)),
            "full": lambda: count / ask["this"](str(new)),
            "chain": lambda: count / ask["this"](f"{new} --chain-only"),
        }
        found = alternate(blocks, tell, "verify")
        sizes = [(folder / FILE).stat().st_size / count for folder in (old, new)]
    against = f"the other version's check of the same events, {short(median(found['other']))}/s"
    for name, target in (("full", Target(2)), ("chain", Target(5))):
        of = ratios(found[name], found["other"])
        yield Figure(f"verify/{name}", spread(found[name]), "entries/s", against, of, target)
    against = f"a file of format 1, {sizes[0]:.0f} bytes"
    yield Figure("verify/bytes", spread([sizes[1]]), "bytes/entry", against, spread([sizes[1] / sizes[0]]))


def _write(folder: Path) -> int:
    """How many entries the log in a new data folder has; it is of format 1."""
    folder.mkdir()
    (folder / TASK_FILE).write_bytes(TASK.read_bytes())
    horizons, events, now = horizons_of(load_task(TASK)), course(), 0
    log = SqliteLog(folder, task_digest(folder), format=1, synced=False)
    appender = Appender(log, horizons, lambda: now, lambda *_: None)
    while log.head.seq < ENTRIES:
        now += 1_000_000
        appender.append([next(events) for _ in range(GROUP)])
        log.tidy()
    count = log.head.seq
    log.close()
    (folder / WAL).unlink(missing_ok=True)
    return count


@contextlib.contextmanager
def _worker(source: Path) -> Iterator[Callable[[str], float]]:
    """Asks a process of one version to verify; gives the seconds."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", WORKER]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True) as process:
        assert process.stdin
        assert process.stdout
        stdin, stdout = process.stdin, process.stdout

        def ask(words: str) -> float:
            print(words, file=stdin, flush=True)
            return float(stdout.readline())

        yield ask
        stdin.close()
