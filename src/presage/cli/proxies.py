"""`presage proxies`: which early sign is worth using, and how."""

import json
from pathlib import Path
from typing import Any

import click

from presage.cli.talk import console, json_option, progress_bar, show_table
from presage.logs.rows import read_log
from presage.proxies.card import Card
from presage.proxies.log import judge_log
from presage.store.files import check_folder, write_together
from presage.task.task import load_task


@click.command(epilog="Example: presage proxies log.parquet --task task.toml")
@click.argument("log")
@click.option("--task", "task_file", type=click.Path(path_type=Path), required=True, help="What the log holds.")
@click.option("--cuts", is_flag=True, help="Also judge every way to merge neighbouring symbols.")
@click.option("--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Keep the cards in this folder.")
@json_option
def proxies(log: str, task_file: Path, cuts: bool, engine: str, out: Path | None, as_json: bool) -> int:  # noqa: PLR0917
    """Judge the proxies of a task on a log: what they tell of the outcome, how early, and whether that pays.

    Information is in nats a prediction, times in days, each with a 95 % interval.
    """
    task = load_task(task_file)
    if out:
        check_folder(out)
    rows, left_out = read_log(task, log, engine=engine)
    for line in left_out.lines():
        console.print(f"left out: {line}", markup=False, soft_wrap=True)
    with progress_bar("proxies: judged", len(task.proxies)) as progress:
        cards = judge_log(task, rows, cuts=cuts, progress=lambda _: progress(1))
    result = {"proxies": [_as_json(card) for card in cards]}
    if out:
        write_together(out, {"proxies.json": json.dumps(result, indent=1).encode()})
    if as_json:
        click.echo(json.dumps(result))
    head = ["proxy", "information", "gap", "share", "stability p", "lead (days)", "symbols", "gain"]
    show_table(head, [_row(card) for card in cards])
    for card in cards:
        console.print(f"\n{card.name}: {card.verdict}", markup=False, soft_wrap=True)
    return 0


def _as_json(card: Card) -> dict[str, Any]:
    estimates = {name: getattr(card, name)._asdict() for name in ("information", "gap", "share", "lead", "gain")}
    return {
        "name": card.name,
        **estimates,
        "stability_p": card.stability_p,
        "symbols": card.symbols,
        "verdict": card.verdict,
    }


def _row(card: Card) -> list[str]:
    estimates = [f"{e.value:.3g} [{e.low:.3g}, {e.high:.3g}]" for e in (card.information, card.gap, card.share)]
    timed = [f"{e.value:.3g} [{e.low:.3g}, {e.high:.3g}]" for e in (card.lead, card.gain)]
    return [card.name, *estimates, f"{card.stability_p:.2g}", timed[0], str(card.symbols), timed[1]]
