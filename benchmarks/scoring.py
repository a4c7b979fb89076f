"""A million rows of a simulated shop: learnt by `presage.fit`, scored, and both in a process of their own."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import duckdb

import presage
from benchmarks.blocks import Tell, alternate, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from presage.logs.rows import read_log
from presage.simulation.simulate import Simulated

ROWS = 1_000_000
SLOWEST = Target(1.1, at_most=True)
"""Both read the log, which takes longest, and play the same loops."""
TYPED = """
import atexit, pathlib, sys
from presage.cli import main
atexit.register(lambda: sys.stderr.write(pathlib.Path("/proc/self/status").read_text()))
main()
"""
"""A command that tells its peak memory in the end; what the system tells of a child counts its parent's, too."""


def figures(tell: Tell) -> Iterator[Figure]:
    """Rows per second, and the peak memory of `presage predict`."""
    with tempfile.TemporaryDirectory() as folder:
        tell("scoring: the log")
        shop = presage.simulate("shop", Path(folder) / "shop.parquet", rows=ROWS)
        asked = Path(folder) / "asked.parquet"
        duckdb.connect().execute(f"COPY (SELECT id, title, genre FROM '{shop.log}') TO '{asked}'")
        yield _fitting(shop, tell)
        yield _predicting(shop, asked, tell)
        yield from _command(shop, asked, tell)


def _fitting(shop: Simulated, tell: Tell) -> Figure:
    def backtest() -> object:
        return presage.backtest(shop.log, shop.task, forecasters="mixture")

    blocks = {"fit": _rate(lambda: presage.fit(shop.log, shop.task)), "backtest": _rate(backtest)}
    took = alternate(blocks, tell, "scoring/fit")
    against = f"a backtest of the mixture, {short(median(took['backtest']))} rows/s"
    return Figure("scoring/fit", spread(took["fit"]), "rows/s", against, ratios(took["backtest"], took["fit"]), SLOWEST)


def _predicting(shop: Simulated, asked: Path, tell: Tell) -> Figure:
    model, task = presage.fit(shop.log, shop.task), presage.load_task(shop.task)
    blocks = {
        "predict": _rate(lambda: model.predict(asked)),
        "read": _rate(lambda: read_log(task, shop.log)),
    }
    took = alternate(blocks, tell, "scoring/predict")
    against = f"reading the log, {short(median(took['read']))} rows/s"
    return Figure("scoring/predict", spread(took["predict"]), "rows/s", against, ratios(took["predict"], took["read"]))


def _command(shop: Simulated, asked: Path, tell: Tell) -> Iterator[Figure]:
    """The command with a log, and with a saved model."""
    out, model = asked.with_name("scores.parquet"), asked.with_name("model")
    presage.fit(shop.log, shop.task).save(model)
    learnt = ("--log", str(shop.log), "--task", str(shop.task))
    for name, words in {"log": learnt, "model": ("--model", str(model))}.items():
        tell(f"scoring/command-{name}")
        runs = [run_command("predict", str(asked), *words, "--out", str(out)) for _ in range(3)]
        took, peaks = zip(*runs, strict=True)
        yield Figure(f"scoring/command-{name}", spread(took), "s", f"{ROWS:,} rows, from start to end")
        yield Figure(f"scoring/peak-{name}", spread(peaks), "MiB", "of the same process")


def _rate(work: Callable[[], object]) -> Callable[[], float]:
    return lambda: ROWS / seconds(work)


def run_command(*words: str, source: Path | None = None) -> tuple[float, float]:
    """The seconds and the peak mebibytes of a command; from the sources in another folder if one is given."""
    told: list[str] = []
    environment = os.environ | ({"PYTHONPATH": str(source)} if source else {})

    def run() -> None:
        command = [sys.executable, "-c", TYPED, *words]
        told.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr)

    took, peak = seconds(run), re.search(r"VmHWM:\s+(\d+) kB", told[0])
    assert peak, told
    return took, int(peak[1]) / 1024
