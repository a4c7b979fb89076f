"""`presage backtest`: forecasters over your own log, honestly."""

import json
from pathlib import Path
from typing import Any

import click

from presage.backtesting.families import told_families
from presage.backtesting.page import order_words
from presage.backtesting.reliance import RestsOn
from presage.backtesting.result import BacktestResult
from presage.backtesting.result import backtest as play_backtest
from presage.backtesting.score_columns import TextTable, score_table, side_by_side
from presage.backtesting.segments import segment_tables
from presage.cli.output import (
    console,
    json_option,
    seed_option,
    show_progress,
    show_result,
    show_results,
    skip_option,
    table_width,
    tell_edges,
    tell_exclusions,
)
from presage.files import check_results_folder


@click.command(epilog="Example: presage backtest log.parquet --task task.toml --out out/backtest")
@click.argument("log")
@click.option("--task", "task_file", type=click.Path(path_type=Path), required=True, help="What the log holds.")
@click.option("--forecasters", metavar="A,B,...", help="Which to play; all tables and their mixture if left out.")
@click.option(
    "--rivals", metavar="A,B,...", help="Also play lightgbm, vw or river; add -factored to go through proxies."
)
@click.option("--proxy", help="Which of the task's proxies to use; the first if left out.")
@click.option("--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True)
@click.option("--twins", is_flag=True, help="Also play each forecaster without delays: what waiting costs it.")
@click.option(
    "--as-served", is_flag=True, help="The log was exported from a service: each row sees what its model had."
)
@click.option(
    "--by", multiple=True, metavar="COLUMN", help="Also score each value of a feature or column; may be repeated."
)
@click.option(
    "--rests-on", is_flag=True, help="Also replay without each feature: what the forecast rests on. --out always does."
)
@skip_option
@seed_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep a report, its numbers and tables in this folder.")
@json_option
def backtest(log: str, task_file: Path, out: Path | None, rests_on: bool, as_json: bool, **options: Any) -> int:
    """Replay a log in the order things became known, and score forecasters on it.

    A row is predicted with what was known strictly before it was shown. New instances are those with a proxy and no
    outcome yet. A check of the order of time changes labels that become known later and counts earlier scores that
    move. The verdict and tables go to stdout. With --out DIR the results are put together in DIR/report.html, a page
    that needs no network.
    """
    if out:
        check_results_folder(out)
    result = play_backtest(log, task_file, progress=show_progress, **options)
    tell_edges(result.settings)
    tell_exclusions(result.left_out)
    if out or rests_on:
        result = result.with_rests_on(progress=show_progress)
    written = result.save(out, progress=show_progress) if out else None
    if as_json:
        click.echo(json.dumps(result.as_json()))
    else:
        _show(result)
    read, compiling, run = result.seconds
    console.print(f"Read in {read:.1f} s, run in {run:.1f} s, and {compiling:.1f} s to compile.")
    console.print(f"Report: {written}" if written else "Keep a report with --out DIR.", soft_wrap=True)
    return 0


def _show(result: BacktestResult) -> None:
    found = result.found
    for warning in found.warnings:
        show_result(warning.words, strong=True)
    show_result(found.rates.sentence)
    _tables(found.rates.text_table())
    for sentence in found.judged:
        show_result(sentence)
    show_result()
    for line in told_families(found.scores):
        show_result(line)
    _tables(score_table(found.scores), *segment_tables(found.segments, found.compared), *_rests_on(found.rests_on))
    show_result(f"{found.rows:,} rows, {found.instances:,} instances. {order_words(found.leak_check)}")


def _rests_on(found: RestsOn | None) -> list[TextTable]:
    return [found.text_table()] if found and found.features else []


def _tables(*tables: TextTable) -> None:
    """Tables with an empty line around each; wide ones in pieces where they have to fit into a terminal."""
    width = table_width()
    show_result()
    for each in tables:
        for head, rows in side_by_side(each, width) if width else [each]:
            show_results(head, rows)
            show_result()
