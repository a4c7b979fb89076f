"""Another version of Presage beside this one, in alternating blocks.

`python -m benchmarks versions FOLDER [LOG=TASK ...] [--turns 24] [--only PART,...]`: FOLDER is a checkout of the other
version. Both run in this interpreter's environment, each in processes of its own, and through
what both have in common: commands, HTTP and `play_trials`. Backtests are of a simulated shop and of the logs given. A
ratio above 1 means that this version is faster, of bytes and memory that it takes more.

Where the other version is 0.1.0, its default is the mixture of tables. It is compared with this version's default
(`default`) and with its mixture of tables (`tables`), and the residual tables of both (`residual`).
"""

import argparse
import itertools
import math
import os
import subprocess
import sys
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import store
from benchmarks.blocks import Tell, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from benchmarks.load import load
from benchmarks.scoring import run_command
from benchmarks.served import BULK, BULKS, ENTRY, TASK, Served, bulks, prediction, served

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

def dealt(rounds):
    rng = np.random.default_rng(0)
    x, z, y = (rng.integers(0, size, (20, rounds)).astype(np.int32) for size in (1000, 3, 2))
    delays = presage.Delays(proxy=10, outcome=50)
    return presage.Episode.stack([presage.Episode.fixed(*row, delays) for row in zip(x, z, y)])

def played(forecaster, rounds):
    episodes = dealt(rounds)
    started = time.perf_counter()
    presage.play_trials(forecaster, episodes, key=0)
    return 20 * rounds / (time.perf_counter() - started)

def steps():
    replay = presage.Replay(proxy_window=1000, outcome_window=1000, every=1)
    return played(presage.residual_network(presage.Spaces(1000, 3, 2), replay=replay), 1500)

def trials(name):
    return played(getattr(presage, name)(presage.Spaces(1000, 3, 2)), 20_000)

def backtest(log, task, name):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        sys.argv = ["presage", "backtest", log, "--task", task, "--forecasters", name, "--json"]
        with contextlib.suppress(SystemExit):
            main()
    found = json.loads(said.getvalue().splitlines()[-1])
    return found["rows"] / found["seconds"]["run"]

answers = sys.stdout
for line in sys.stdin:
    name, *arguments = line.split()
    print("answer", globals()[name](*arguments), file=answers, flush=True)
"""


PARTS = ("start", "loops", "backtest", "memory", "service")
"""What is compared, in this order."""
SAME, DEFAULT, SERVED = Target(0.95), Target(0.2), Target(0.5)
"""Of tables; of the default, which reads every feature, in a backtest; and in a service."""
BYTES, PEAK = Target(2.0, at_most=True), Target(2048.0, at_most=True)
KINDS = {"default": ("mixture", "mixture"), "tables": ("mixture-of-tables", "mixture"),
         "residual": ("residual-table", "residual-table")}  # fmt: skip
"""What is compared with what: the forecaster of this version, and that of the other."""


@dataclass(frozen=True)
class Versions:
    """This version and another, compared in so many turns."""

    other: Path
    logs: tuple[tuple[str, str], ...]  # and their tasks
    turns: int
    tell: Tell

    @property
    def _sources(self) -> dict[str, Path]:
        return {"this": Path(__file__).parents[1] / "src", "other": self.other.resolve() / "src"}

    def start(self) -> Iterator[Figure]:
        """The time until something can be done."""
        for name, code in (("import", "import presage"), ("help", ENTRY)):
            blocks = {side: _start(code, source, name == "help") for side, source in self._sources.items()}
            yield self._lower(name, blocks, "ms", Target(1 / 1.5))

    def loops(self) -> Iterator[Figure]:
        """Trials in memory."""
        with ExitStack() as stack:
            workers = self._workers(stack)
            yield self._higher("steps", {side: _ask(worker, "steps") for side, worker in workers.items()}, "rounds/s")
            both = {
                "default": ("context_mixture", "mixture"),
                "tables": ("mixture",) * 2,
                "residual": ("residual_table",) * 2,
            }
            for kind, names in both.items():
                blocks = self._asked(workers, [f"trials {name}" for name in names])
                yield self._higher(f"trials/{kind}", blocks, "rounds/s", DEFAULT if kind == "default" else SAME)

    def backtest(self) -> Iterator[Figure]:
        """Backtests of one forecaster, from reading the log to the report."""
        with ExitStack() as stack:
            workers = self._workers(stack)
            for log, task in self._logs(stack):
                for kind, names in KINDS.items():
                    blocks = self._asked(workers, [f"backtest {log} {task} {name}" for name in names])
                    about = f"backtest/{Path(log).stem}/{kind}"
                    yield self._higher(about, blocks, "rows/s", DEFAULT if kind == "default" else SAME)

    def memory(self) -> Iterator[Figure]:
        """The peak of a backtest of the default, in a process of its own."""
        with ExitStack() as stack:
            for log, task in self._logs(stack):
                words = ("backtest", log, "--task", task, "--forecasters", "mixture")
                self.tell(f"memory/{Path(log).stem}")
                runs = [
                    {side: run_command(*words, source=source)[1] for side, source in self._sources.items()}
                    for _ in range(2)
                ]
                this, other = ([run[side] for run in runs] for side in SIDES)
                against = f"the other {short(median(other))}; ratio {ratios(this, other).median:.2f}"
                yield Figure(f"versions/memory/{Path(log).stem}", spread(this), "MiB", against, None, PEAK)

    def service(self) -> Iterator[Figure]:
        """Events in bulk, bytes of log, and single predictions."""
        for kind, names in KINDS.items():
            with ExitStack() as stack:
                services = self._services(stack, names)
                courses = {side: bulks(store.course()) for side in SIDES}
                bar, ports = SERVED if kind == "default" else SAME, {side: services[side].port for side in SIDES}
                blocks = {side: _bulks(ports[side], courses[side]) for side in SIDES}
                yield self._higher(f"bulk/{kind}", blocks, "events/s", bar)
                sizes = {side: _log_bytes(services[side]) / (1 + self.turns) / 40 / BULK for side in SIDES}
                against = f"the other {sizes['other']:.0f}; an event is a prediction, a proxy or an outcome"
                ratio = ratios([sizes["this"]], [sizes["other"]])
                yield Figure(f"versions/bytes/{kind}", spread([sizes["this"]]), "B/event", against, ratio, BYTES)
                numbers = itertools.count(10**9)
                for connections in (1, 16) if kind == "default" else (1,):
                    blocks = {side: _singles(ports[side], numbers, connections) for side in SIDES}
                    yield self._lower(f"predictions/{connections}/{kind}", blocks, "ms p50", bar)

    def _workers(self, stack: ExitStack) -> dict[str, "subprocess.Popen[str]"]:
        return {side: stack.enter_context(_worker(source)) for side, source in self._sources.items()}

    def _asked(
        self, workers: dict[str, "subprocess.Popen[str]"], requests: list[str]
    ) -> dict[str, Callable[[], float]]:
        return {side: _ask(workers[side], request) for side, request in zip(SIDES, requests, strict=True)}

    def _logs(self, stack: ExitStack) -> list[tuple[str, str]]:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        return [(str(_simulate(folder)), str(folder / "books.toml")), *self.logs]

    def _services(self, stack: ExitStack, names: tuple[str, str]) -> dict[str, Served]:
        """A service of each version; this one's mixture of tables goes on with a folder of the other."""
        found = {}
        for (side, source), name in zip(self._sources.items(), names, strict=True):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            task = folder / "task.toml"
            kind = "mixture" if name == "mixture-of-tables" else name
            text = TASK.read_text().replace('kind = "mixture"', f'kind = "{kind}"')
            task.write_text(text if kind == "mixture" else text[: text.index("back_off")])
            if name == "mixture-of-tables":
                with served(self._sources["other"], task, folder / "data"):
                    pass
            found[side] = stack.enter_context(served(source, task, folder / "data"))
        return found

    def _turns(self, blocks: dict[str, Callable[[], float]], about: str) -> Measured:
        """What each side returned, a block of each in turn, after one of each that is thrown away."""
        for block in blocks.values():
            block()
        measured: Measured = {side: [] for side in blocks}
        for turn in range(self.turns):
            for side in SIDES if turn % 2 else reversed(SIDES):
                measured[side].append(blocks[side]())
            self.tell(f"{about}: block {turn + 1} of {self.turns}")
        return measured

    def _higher(self, name: str, blocks: dict[str, Callable[[], float]], unit: str, target: Target = SAME) -> Figure:
        found = self._turns(blocks, name)
        return _figure(name, found, unit, found, target)

    def _lower(self, name: str, blocks: dict[str, Callable[[], float]], unit: str, target: Target) -> Figure:
        found = self._turns(blocks, name)
        return _figure(name, found, unit, {side: [1 / value for value in each] for side, each in found.items()}, target)


def figures(arguments: list[str], tell: Tell) -> Iterator[Figure]:
    """This version against the one in another folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks versions")
    parser.add_argument("folder", type=Path)
    parser.add_argument("logs", nargs="*", metavar="LOG=TASK", help="backtested too, with a task that both can read")
    parser.add_argument("--turns", type=int, default=TURNS, help="how often each side is measured, 6 or more")
    parser.add_argument("--only", default=",".join(PARTS), help="some of these, separated by commas")
    given = parser.parse_args(arguments)
    logs = tuple((log, task) for log, _, task in (each.partition("=") for each in given.logs))
    compared = Versions(given.folder, logs, given.turns, tell)
    for part in given.only.split(","):
        yield from getattr(compared, part)()


def _log_bytes(service: Served) -> int:
    """What the log takes, without snapshots."""
    return sum(path.stat().st_size for path in service.folder.iterdir() if path.is_file())


def _figure(name: str, found: Measured, unit: str, speeds: Measured, target: Target) -> Figure:
    """The ratio with the interval of its median: the order statistics that cover it in at least 95 %."""
    ratio = ratios(speeds["this"], speeds["other"])
    ordered = sorted(a / b for a, b in zip(speeds["this"], speeds["other"], strict=True))
    place = max(bisect([_below(least, len(ordered)) for least in range(len(ordered))], 0.025) - 1, 0)
    low, high = ordered[place], ordered[-1 - place]
    against = f"the other {short(spread(found['other']).median)}; median ratio {low:.3f} to {high:.3f}"
    return Figure(f"versions/{name}", spread(found["this"]), unit, against, ratio, target)


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
        answer = next((line for line in worker.stdout if line.startswith("answer ")), None)
        assert answer, "a worker ended"
        return float(answer.split()[1])

    return ask


def _bulks(port: int, course: "Iterator[bytes]") -> Callable[[], float]:
    return lambda: load(port, list(itertools.islice(course, 40)), BULKS).rate * BULK


def _singles(port: int, numbers: Iterator[int], connections: int) -> Callable[[], float]:
    return lambda: load(port, [prediction(next(numbers)) for _ in range(POSTS)], connections).p50
