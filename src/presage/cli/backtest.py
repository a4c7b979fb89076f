"""`presage backtest`: forecasters over your own log, honestly."""

import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import click

from presage.backtesting.backtest import Backtest, BacktestSeconds, groups_of, played_names, run_backtest, table_names
from presage.backtesting.page import BacktestRun, ProxyCard, leak_words
from presage.backtesting.report import report_files
from presage.backtesting.score_table import score_table, side_by_side
from presage.cli.output import console, json_option, progress_bar, seed_option, show_table, tell_exclusions
from presage.drivers.compile_time import compiling_seconds
from presage.errors import PresageError
from presage.files import check_folder, write_together
from presage.forecasters.catalogue import check_names
from presage.logs.rows import LogRows, read_log
from presage.proxies.card import Card
from presage.proxies.log import judge_log
from presage.task.exported_log import as_served
from presage.task.task import Task, load_task


class BacktestRequest(NamedTuple):
    """What was asked for."""

    log: str
    task_file: Path
    forecasters: str | None
    proxy: str | None
    engine: str
    twins: bool
    as_served: bool
    seed: int


class BacktestOutput(NamedTuple):
    """A backtest that is done, with what it came from."""

    task: Task
    rows: LogRows
    left_out: list[str]
    found: Backtest
    seconds: BacktestSeconds


@click.command(epilog="Example: presage backtest log.parquet --task task.toml --out out/backtest")
@click.argument("log")
@click.option("--task", "task_file", type=click.Path(path_type=Path), required=True, help="What the log holds.")
@click.option("--forecasters", metavar="A,B,...", help="Which to play; all tables and their mixture if left out.")
@click.option("--proxy", help="Which of the task's proxies to use; the first if left out.")
@click.option("--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True)
@click.option("--twins", is_flag=True, help="Also play each forecaster without delays: what waiting costs it.")
@click.option(
    "--as-served", is_flag=True, help="The log was exported from a service: each row sees what its model had."
)
@seed_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep a report, its numbers and tables in this folder.")
@json_option
def backtest(out: Path | None, as_json: bool, **options: Any) -> int:
    """Replay a log in the order things became known, and score forecasters on it.

    A row is predicted with what was known strictly before it was shown. New instances are those with a proxy and no
    outcome yet. The leak check changes labels that become known later and counts earlier scores that move. With --out
    DIR the results are put together in DIR/report.html, a page that needs no network.
    """
    asked = BacktestRequest(**options)
    task = load_task(asked.task_file)
    if asked.as_served:
        task = as_served(task)
    names = _names(task, asked)
    if out:
        check_folder(out)
    done = _play(task, asked, names)
    written = _report(asked, done, out) if out else None
    if as_json:
        click.echo(json.dumps(done.found.as_json(done.seconds)))
    _show(done.found)
    read, compiling, run = done.seconds
    console.print(f"Read in {read:.1f} s, run in {run:.1f} s, and {compiling:.1f} s to compile.")
    console.print(f"Look at it: {written}" if written else "Keep a report with --out DIR.", soft_wrap=True)
    return 0


def _names(task: Task, asked: BacktestRequest) -> tuple[str, ...]:
    """The forecasters asked for; a wrong name, of one of them or of the proxy, is refused before the log is read."""
    task.proxy(asked.proxy)
    if not asked.forecasters:
        return table_names(task)
    names = tuple(name.strip() for name in asked.forecasters.split(","))
    check_names(names, groups_of(task))
    return names


def _play(task: Task, asked: BacktestRequest, names: tuple[str, ...]) -> BacktestOutput:
    """The log read and forecast."""
    started = time.perf_counter()
    rows, left_out = read_log(task, asked.log, engine=asked.engine)
    tell_exclusions(left_out)
    read, compiled = time.perf_counter() - started, compiling_seconds()
    with progress_bar("backtest: forecasters", len(played_names(names)) * (1 + asked.twins)) as progress:
        found = run_backtest(task, rows, names, asked.seed, lambda _: progress(1), proxy=asked.proxy, twins=asked.twins)
    played = time.perf_counter() - started - read
    compiling = min(compiling_seconds() - compiled, played)  # forecasters that are compiled side by side add up
    seconds = BacktestSeconds(read, compiling, played - compiling)
    return BacktestOutput(task, rows, left_out.lines(), found, seconds)


def _report(asked: BacktestRequest, done: BacktestOutput, out: Path) -> Path:
    """Where the page lies that is now written, with all that belongs to it."""
    cards, no_cards = _cards(done.task, done.rows)
    proxy = done.rows.proxy(asked.proxy).name
    settings = {
        "log": asked.log,
        "task": str(asked.task_file),
        "proxy": proxy,
        "forecasters": list(done.found.scores),
        "engine": asked.engine,
        "twins": asked.twins,
    }
    text = asked.task_file.read_text("utf-8")
    made = version("presage")
    run = BacktestRun(proxy, settings, asked.seed, made, done.seconds, done.left_out, text, cards, no_cards)
    return write_together(out, report_files(done.task, done.rows, done.found, run))[0]


def _cards(task: Task, rows: LogRows) -> tuple[list[ProxyCard], str]:
    """The report cards of the task's proxies; or why there are none."""
    with progress_bar("backtest: proxies judged", len(task.proxies)) as progress:
        try:
            cards = judge_log(task, rows, cuts=False, progress=lambda _: progress(1))
        except PresageError as error:
            return [], f"They could not be judged: {error}."
    return [_card(card) for card in cards], ""


def _card(card: Card) -> ProxyCard:
    estimates = {name: getattr(card, name) for name in ("information", "gap", "share", "lead", "gain")}
    numbers = {name: estimate._asdict() for name, estimate in estimates.items()}
    facts = [
        ("tells of the outcome", f"{card.information} of {card.entropy.value:.3g} nats there are to know"),
        ("left to the instance", f"{card.gap} nats"),
        ("share that passes through it", str(card.share)),
        ("gain on new instances", f"{card.gain} nats"),
        ("comes before the outcome by", f"{card.lead} days"),
        ("p-value of being the same over time and cohorts", f"{card.stability_p:.2g}"),
        ("values", str(card.symbols)),
    ]
    plain = {"stability_p": card.stability_p, "symbols": card.symbols, "verdict": card.verdict}
    return ProxyCard(card.name, card.verdict, facts, {"name": card.name, **numbers, **plain})


def _show(found: Backtest) -> None:
    for head, rows in side_by_side(score_table(found.scores), console.width):
        show_table(head, rows)
        console.print()
    for sentence in found.verdict:
        console.print(sentence, markup=False, soft_wrap=True)
    console.print(
        f"\n{found.rows:,} rows, {found.instances:,} instances. {leak_words(found.leak_check)}", soft_wrap=True
    )
