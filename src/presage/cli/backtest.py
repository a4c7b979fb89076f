"""`presage backtest`: forecasters over your own log, honestly."""

import json
import time
from pathlib import Path

import click

from presage.backtest.backtest import Backtest, Seconds, run_backtest, table_names
from presage.cli.talk import console, json_option, progress_bar, seed_option, show_table
from presage.drivers.compiling import compiling_seconds
from presage.logs.rows import read_log
from presage.store.files import check_folder, write_together
from presage.task.task import load_task


@click.command(epilog="Example: presage backtest log.parquet --task task.toml")
@click.argument("log")
@click.option("--task", "task_file", type=click.Path(path_type=Path), required=True, help="What the log holds.")
@click.option("--forecasters", metavar="A,B,...", help="Which to play; all tables and their mixture if left out.")
@click.option("--proxy", help="Which of the task's proxies to use; the first if left out.")
@click.option("--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True)
@seed_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep the results in this folder.")
@json_option
def backtest(  # noqa: PLR0917
    log: str,
    task_file: Path,
    forecasters: str | None,
    proxy: str | None,
    engine: str,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> int:
    """Replay a log in the order things became known, and score forecasters on it.

    A row is predicted with what was known strictly before it was shown. New instances are those with a proxy and no
    outcome yet. The leak check changes labels that become known later and counts earlier scores that move.
    """
    task = load_task(task_file)
    names = tuple(forecasters.split(",")) if forecasters else table_names(task)
    if out:
        check_folder(out)
    started = time.perf_counter()
    rows, left_out = read_log(task, log, engine=engine)
    for line in left_out.lines():
        console.print(f"left out: {line}", markup=False, soft_wrap=True)
    read, compiled = time.perf_counter() - started, compiling_seconds()
    with progress_bar("backtest: forecasters", len(names)) as progress:
        found = run_backtest(task, rows, names, seed, lambda _: progress(1), proxy=proxy)
    compiling = compiling_seconds() - compiled
    seconds = Seconds(read, compiling, time.perf_counter() - started - read - compiling)
    result = found.as_json(seconds)
    if out:
        write_together(out, {"backtest.json": json.dumps(result, indent=1).encode()})
    if as_json:
        click.echo(json.dumps(result))
    _show(found)
    console.print(f"Read in {seconds.read:.1f} s, run in {seconds.run:.1f} s, and {seconds.compile:.1f} s to compile.")
    return 0


def _show(found: Backtest) -> None:
    head = ["forecaster", "log loss", "gain on the marginal", "new instances", "calibration error", "AUC"]
    table = [
        [
            name,
            str(score.losses.overall),
            str(score.losses.gain),
            f"{score.losses.new_instances.mean:.4f}",
            f"{score.calibration_error:.4f}",
            " ".join(f"{value:.3f}" for value in score.auc),
        ]
        for name, score in found.scores.items()
    ]
    show_table(head, table)
    check = found.leak_check
    words = "no earlier score moved" if check.moved == 0 else f"{check.moved} EARLIER SCORES MOVED: please report this"
    console.print(f"\n{found.rows:,} rows, {found.instances:,} instances; best in hindsight: {found.best}.")
    console.print(f"Leak check: {check.tampered:,} later labels were changed, and {words}.")
