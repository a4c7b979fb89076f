"""`presage task`: the file that describes a problem, checked or begun from a log."""

import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from presage.cli.output import console, json_option, show_results, skip_option, tell_edges, tell_exclusions
from presage.errors import OutputError
from presage.logs.cuts import found_cuts, resolve_cuts
from presage.logs.drafts.first_task import first_task
from presage.logs.engines import ENGINES
from presage.logs.guards.leak_guards import LogWarning
from presage.logs.rows import LogRows, read_log
from presage.task.spans import row_at
from presage.task.task import Task, load_task

PATH = click.Path(path_type=Path)


@click.group(epilog="Example: presage task check examples/oulad.toml")
def task() -> None:
    """Describe a problem in a task file: begin one from a log, check one."""


@task.command(epilog="Example: presage task check shop.toml --log shop.parquet")
@click.argument("file", type=PATH)
@click.option("--log", metavar="LOG", help="Also read this log: a file, a folder, or FILE.duckdb::TABLE.")
@click.option("--engine", type=click.Choice(ENGINES), default="duckdb", show_default=True, help="Who reads the log.")
@skip_option
@json_option
def check(file: Path, log: str | None, engine: str, skip_bad_lines: bool, as_json: bool) -> int:
    """Say what a task file means, or what is wrong with it; with a log, whether the log fits it, and what to look at.

    A warning names a column that may give the outcome away, or a delay that makes no sense.
    """
    found = load_task(file)
    told: list[list[str]] = []
    read: dict[str, Any] = {}
    warnings: tuple[LogWarning, ...] = ()
    if log is not None:
        with console.status("reading the log"):
            found = resolve_cuts(found, log, engine=engine, skip_bad_lines=skip_bad_lines)
            rows, excluded = read_log(found, log, engine=engine, skip_bad_lines=skip_bad_lines)
        warnings, read = rows.warnings, _shape(rows, found.in_rows)
        told = _told(read) + [[f"{one.name} delay", one.words()] for one in rows.delays]
        read["delays"] = {one.name: one.figures() for one in rows.delays}
        read["warnings"] = [warning.as_json() for warning in warnings]
        read["left_out"] = excluded.counts
        tell_edges({"edges": found_cuts(found)})
        tell_exclusions(excluded)
    meaning = _meaning(found)
    if as_json:
        click.echo(json.dumps(meaning | read))
        return 0
    for warning in warnings:
        click.secho(warning.words, bold=True)
    show_results(["", ""], _told(_in_words(meaning) | {"signals": _spoken(found)}) + told)
    return 0


@task.command(epilog="Example: presage task init shop.parquet --out shop.toml")
@click.argument("log")
@click.option("--out", type=PATH, metavar="FILE", help="Write it there; a file that exists is left alone.")
def init(log: str, out: Path | None) -> int:
    """Look at the columns of a log and write a first task file, to be read and corrected."""
    text = first_task(log)
    if out is None:
        click.echo(text, nl=False)
        return 0
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OutputError("the task file cannot be written", str(out), f"choose another ({error.strerror})") from error
    console.print(
        f"Task file: {out}\nRead it, then: presage task check {out} --log {log}", markup=False, soft_wrap=True
    )
    return 0


def _spoken(found: Task) -> dict[str, dict[str, Any]]:
    """The signals as the table shows them: values that only a log can tell are told as such."""
    signals: dict[str, dict[str, Any]] = _meaning(found)["signals"]
    for signal in found.signals:
        if not signal.values and signal.cuts:
            signals[signal.name] |= {"values": f"{signal.cuts.quantiles} quantiles, found in the log", "edges": None}
    return signals


def _meaning(found: Task) -> dict[str, Any]:
    signals = {
        signal.name: {"values": list(signal.values), "horizon": str(signal.horizon), "absent": signal.absent}
        | ({"edges": str(signal.cuts)} if signal.cuts else {})
        | ({"with": list(signal.features)} if signal.features else {})
        for signal in found.signals
    }
    return {
        "name": found.name,
        "features": [feature.name for feature in found.instance],
        "tables_use": _used_by_tables(found),
        "proxies": [proxy.name for proxy in found.proxies],
        "signals": signals,
        "forecaster": found.forecaster.kind,
    }


def _in_words(meaning: dict[str, Any]) -> dict[str, Any]:
    """What a task means as the table shows it: which of its forecasters use which features."""
    return {"plain tables use" if name == "tables_use" else name: value for name, value in meaning.items()}


def _used_by_tables(found: Task) -> list[str]:
    """What plain tables use: the identity and the features of groups and proxies; the default and networks use all."""
    groups = (*found.forecaster.back_off, *(proxy.features for proxy in found.proxies))
    grouped = {name.split(".")[0] for group in groups for name in group}
    return [feature.name for place, feature in enumerate(found.instance) if not place or feature.name in grouped]


def _shape(rows: LogRows, in_rows: bool) -> dict[str, Any]:
    known = {signal.name: int((signal.symbols >= 0).sum()) for signal in (*rows.proxies, rows.outcome)}
    slots = rows.instances.symbols
    first, last = (
        row_at(at) if in_rows else str(np.datetime64(at, "us").astype("datetime64[s]"))
        for at in rows.shown_at[[0, -1]].tolist()
    )
    identities = len(np.unique(slots[:, 0])) if slots.shape[1] else 0
    return {"rows": len(rows.id), "instances": identities, "from": first, "to": last, "known": known}


def _told(result: dict[str, Any]) -> list[list[str]]:
    return [[name.replace("_", " "), _words(value)] for name, value in result.items()]


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_words(one)}" for name, one in value.items() if one is not None)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
