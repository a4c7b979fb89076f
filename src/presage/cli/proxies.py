"""`presage proxies`: which early sign is worth using, and how."""

import json
import math
from pathlib import Path

import click

from presage.cli.output import (
    console,
    json_option,
    show_progress,
    show_result,
    show_results,
    skip_option,
    tell_edges,
    tell_exclusions,
)
from presage.files import check_results_folder
from presage.logs.engines import ENGINES
from presage.metrics.intervals import Estimate
from presage.proxies.card import Card
from presage.proxies.judge import spoken
from presage.proxies.report import judge_proxies

HEAD = ["proxy", "tells", "gap", "share", "p", "lead", "|Z|", "gain", "on new", "overall"]


@click.command(epilog="Example: presage proxies log.parquet --task task.toml --cuts")
@click.argument("log")
@click.option("--task", "task_file", type=click.Path(path_type=Path), required=True, help="What the log holds.")
@click.option("--cuts", is_flag=True, help="Also judge every way to merge neighbouring symbols.")
@click.option(
    "--horizons",
    metavar="A,B,...",
    help='Also judge proxies that are defined on raw events at these horizons, such as "1 day,3 days"; '
    'usual ones shorter than the outcome\'s if left out, none with "none".',
)
@click.option("--engine", type=click.Choice(ENGINES), default="duckdb", show_default=True, help="Who reads the log.")
@skip_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep cards and settings in this folder.")
@json_option
def proxies(  # noqa: PLR0917
    log: str,
    task_file: Path,
    cuts: bool,
    horizons: str | None,
    engine: str,
    skip_bad_lines: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    """Judge the proxies of a task on a log: what they tell of the outcome, how early, and whether that pays.

    Tells, gap and gains are in nats per prediction, ± is half of a 95 % interval, (a to b) one that lies more to one
    side, p tests whether it always means the same. Gain is what it saves on an instance just launched; on new and
    overall, what it saved in this log.
    """
    if out:
        check_results_folder(out)
    wanted = () if horizons is not None and horizons.strip() == "none" else horizons
    report = judge_proxies(
        log,
        task_file,
        cuts=cuts,
        horizons=wanted,
        engine=engine,
        skip_bad_lines=skip_bad_lines,
        progress=show_progress,
    )
    tell_edges(report.settings)
    tell_exclusions(report.left_out)
    if out:
        report.save(out)
    if as_json:
        click.echo(json.dumps(report.as_json()))
        return 0
    for warning in report.warnings:
        show_result(warning.words, strong=True)
    show_results(HEAD, [_row(card) for card in report.cards])
    show_result()
    for card in report.cards:
        show_result(f"{card.label}: {card.verdict}")
    console.print("A card judges one sign by itself; presage backtest shows what it gains.")
    return 0


def _row(card: Card) -> list[str]:
    lead = (
        "unknown"
        if math.isnan(card.lead.value)
        else spoken(card.lead.value, card.unit)
        if card.lead.value > 0
        else "none"
    )
    p = "<0.01" if card.stability_p < 0.01 else f"{card.stability_p:.2f}"
    gains = [_spread(each) for each in (card.gain, card.new, card.overall)]
    told = [_spread(card.information), _spread(card.gap), _spread(card.share, 2)]
    return [card.label, *told, p, lead, str(card.symbols), *gains]


def _spread(estimate: Estimate, digits: int = 4) -> str:
    """The estimate and half its interval, or both ends where it is not in the middle, to fit into a narrow table.

    >>> _spread(Estimate(0.72, 0.65, 0.79), 2), _spread(Estimate(0.91, 0.909, 1.0), 2)
    ('0.72 ±.07', '0.91 (.91 to 1)')
    """
    if any(map(math.isnan, estimate)):
        return "unknown"
    value, low, high = estimate
    shown = f"{round(value, digits) + 0.0:.{digits}f}"
    if abs((low + high) / 2 - value) > 0.5 * 10**-digits:
        return f"{shown} ({_short(low, digits)} to {_short(high, digits)})"
    return f"{shown} ±{_short((high - low) / 2, digits)}"


def _short(number: float, digits: int) -> str:
    """A number in few letters: without a leading 0, and 0 and 1 without decimals.

    >>> [_short(number, 2) for number in (0.5, -0.25, 0.999, -0.001)]
    ['.50', '-.25', '1', '0']
    """
    rounded = round(number, digits)
    if rounded in (0, 1):
        return str(int(rounded))
    sign = "-" if rounded < 0 else ""
    return sign + f"{abs(rounded):.{digits}f}".removeprefix("0")
