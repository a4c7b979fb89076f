"""Another version of Presage beside this one, in alternating blocks: `python -m benchmarks versions FOLDER`.

FOLDER is a checkout of the other version. Both run in this interpreter's environment, each in processes of its own, and
through what both have in common: commands, HTTP and `play_trials`. A ratio above 1 means that this version is faster.
"""

import itertools
import math
import os
import subprocess
import sys
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import store
from benchmarks.blocks import Tell, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from benchmarks.load import load
from benchmarks.served import BULK, BULKS, ENTRY, bulks, prediction, served

Measured = dict[str, list[float]]
"""What the blocks of each side returned, in their order."""

TURNS = 24
"""How often each side of a ratio is measured."""
SIDES = ("this", "other")
POSTS = 1_000
STARTS = 4
"""How often a command is started in one block."""
ROWS = 200_000
"""Predictions of the shop whose log is backtested."""

WORKER = """
import contextlib, io, json, sys, time
import numpy as np
import presage
from presage.cli import main

def steps():
    spaces = presage.Spaces(1000, 3, 2)
    replay = presage.Replay(proxy_window=1000, outcome_window=1000, every=1)
    rng = np.random.default_rng(0)
    x, z, y = (rng.integers(0, size, (20, 1500)).astype(np.int32) for size in (1000, 3, 2))
    delays = presage.Delays(proxy=10, outcome=50)
    episodes = presage.Episode.stack([presage.Episode.fixed(*row, delays) for row in zip(x, z, y)])
    started = time.perf_counter()
    presage.play_trials(presage.residual_network(spaces, replay=replay), episodes, key=0)
    return 20 * 1500 / (time.perf_counter() - started)

def backtest(log, task):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        sys.argv = ["presage", "backtest", log, "--task", task, "--json"]
        with contextlib.suppress(SystemExit):
            main()
    found = json.loads(said.getvalue().splitlines()[-1])
    return found["rows"] / found["seconds"]["run"]

answers = sys.stdout
for line in sys.stdin:
    name, *arguments = line.split()
    print(globals()[name](*arguments), file=answers, flush=True)
"""


def figures(other: Path, tell: Tell) -> Iterator[Figure]:
    """This version against the one in another folder."""
    sources = {"this": Path(__file__).parents[1] / "src", "other": other.resolve() / "src"}
    for name, code in (("import", "import presage"), ("help", ENTRY)):
        blocks = {side: _start(code, source, name == "help") for side, source in sources.items()}
        yield _lower(f"versions/{name}", _turns(blocks, tell, name), "ms", Target(1 / 1.5))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        log = _simulate(folder)
        workers = {side: stack.enter_context(_worker(source)) for side, source in sources.items()}
        for name, unit, request in (
            ("steps", "rounds/s", "steps"),
            ("backtest", "rows/s", f"backtest {log} {folder / 'books.toml'}"),
        ):
            blocks = {side: _ask(worker, request) for side, worker in workers.items()}
            yield _higher(f"versions/{name}", _turns(blocks, tell, name), unit)
    with ExitStack() as stack:
        services = {side: stack.enter_context(served(source)).port for side, source in sources.items()}
        courses = {side: bulks(store.course()) for side in SIDES}
        blocks = {side: _bulks(services[side], courses[side]) for side in SIDES}
        yield _higher("versions/bulk", _turns(blocks, tell, "bulk"), "events/s")
        numbers = itertools.count(10**9)
        for connections in (1, 16):
            about = f"predictions/{connections}"
            blocks = {side: _singles(services[side], numbers, connections) for side in SIDES}
            yield _lower(f"versions/{about}", _turns(blocks, tell, about), "ms p50", Target(0.95))


def _turns(blocks: dict[str, Callable[[], float]], tell: Tell, about: str) -> Measured:
    """What each side returned, a block of each in turn, after one of each that is thrown away."""
    for block in blocks.values():
        block()
    measured: Measured = {side: [] for side in blocks}
    for turn in range(TURNS):
        for side in SIDES if turn % 2 else reversed(SIDES):
            measured[side].append(blocks[side]())
        tell(f"{about}: block {turn + 1} of {TURNS}")
    return measured


def _higher(name: str, found: Measured, unit: str) -> Figure:
    return _figure(name, found, unit, found, Target(0.95))


def _lower(name: str, found: Measured, unit: str, target: Target) -> Figure:
    turned = {side: [1 / value for value in values] for side, values in found.items()}
    return _figure(name, found, unit, turned, target)


def _figure(name: str, found: Measured, unit: str, speeds: Measured, target: Target) -> Figure:
    """The ratio with the interval of its median: the order statistics that cover it in at least 95 %."""
    ratio = ratios(speeds["this"], speeds["other"])
    ordered = sorted(a / b for a, b in zip(speeds["this"], speeds["other"], strict=True))
    place = bisect([_below(least, TURNS) for least in range(TURNS)], 0.025) - 1
    low, high = ordered[place], ordered[-1 - place]
    against = f"the other {short(spread(found['other']).median)}; median ratio {low:.3f} to {high:.3f}"
    return Figure(name, spread(found["this"]), unit, against, ratio, target)


def _below(least: int, of: int) -> float:
    """The chance that at most `least` of so many values lie below their median."""
    return float(sum(math.comb(of, each) for each in range(least + 1)) / 2**of)


def _start(code: str, source: Path, help_: bool) -> Callable[[], float]:
    command = [sys.executable, "-c", code, *(["--help"] if help_ else [])]

    def start() -> float:
        for _ in range(STARTS):
            subprocess.run(command, env=environment(source), check=True, stdout=subprocess.DEVNULL)
        return 0.0

    return lambda: seconds(start) / STARTS * 1000


def environment(source: Path) -> dict[str, str]:
    """The variables of a process that runs the version in `source`."""
    return os.environ | {"PYTHONPATH": str(source)}


def _simulate(folder: Path) -> Path:
    command = [sys.executable, "-c", ENTRY, "data", "simulate", "shop", "--out", str(folder / "books.parquet")]
    subprocess.run([*command, "--rows", str(ROWS)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / "books.parquet"


@contextmanager
def _worker(source: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", WORKER]
    with subprocess.Popen(
        command, env=environment(source), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def _ask(worker: "subprocess.Popen[str]", request: str) -> Callable[[], float]:
    def ask() -> float:
        assert worker.stdin
        assert worker.stdout
        print(request, file=worker.stdin, flush=True)
        return float(worker.stdout.readline())

    return ask


def _bulks(port: int, course: "Iterator[bytes]") -> Callable[[], float]:
    return lambda: load(port, list(itertools.islice(course, 40)), BULKS).rate * BULK


def _singles(port: int, numbers: Iterator[int], connections: int) -> Callable[[], float]:
    return lambda: load(port, [prediction(next(numbers)) for _ in range(POSTS)], connections).p50
