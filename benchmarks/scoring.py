"""A million rows of a simulated shop: learnt by `presage.fit`, scored, and both in a process of their own."""

import os
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
MEBIBYTE = 2**20
SLOWEST = Target(1.0, at_most=True)
"""A fit does less than a backtest of the same forecaster: it scores nothing."""


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
        runs = [_run("predict", str(asked), *words, "--out", str(out)) for _ in range(3)]
        took, peaks = zip(*runs, strict=True)
        yield Figure(f"scoring/command-{name}", spread(took), "s", f"{ROWS:,} rows, from start to end")
        yield Figure(f"scoring/peak-{name}", spread(peaks), "MiB", "of the same process")


def _rate(work: Callable[[], object]) -> Callable[[], float]:
    return lambda: ROWS / seconds(work)


def _run(*words: str) -> tuple[float, float]:
    """The seconds and the peak mebibytes of a command."""
    status: list[float] = []

    def run() -> None:
        command = [sys.executable, "-c", "from presage.cli import main; main()", *words]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        assert process.returncode == 0, words
        status.append(usage.ru_maxrss * 1024 / MEBIBYTE)

    return seconds(run), status[0]
