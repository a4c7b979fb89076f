"""`presage demo`: the main job on a simulated shop, in under a minute."""

import dataclasses
import json
import tempfile
from pathlib import Path

import click

from presage.cli.output import changed, console, json_option, progress_bar, seed_option, set_option, show_table
from presage.experiments.demo.page import demo_page, score_rows
from presage.experiments.demo.problem import run_shop, verdict
from presage.files import check_results_folder, write_results
from presage.worlds.shop import ShopSettings

TRIALS = 10


@click.command(epilog="Example: presage demo --out out/demo --set new_titles=5")
@click.option("--out", type=click.Path(path_type=Path), help="Write the report and the numbers to this folder.")
@seed_option
@set_option
@json_option
def demo(out: Path | None, seed: int, changes: tuple[str, ...], as_json: bool) -> int:
    """Simulate an ebook shop and forecast, purchase by purchase, who will finish the book.

    The early sign is how far a buyer gets on day one: book unopened, opened, or a third read. The outcome is whether it
    is finished within 90 days. Prints a table and a verdict, and writes a report.
    """
    settings = changed(ShopSettings(), changes)
    folder = check_results_folder(out if out else Path(tempfile.gettempdir()) / "presage-demo")
    with progress_bar("demo: shops forecast", TRIALS) as progress:
        run = run_shop(settings, TRIALS, seed, progress)
    result = {
        "settings": dataclasses.asdict(settings) | {"trials": TRIALS, "seed": seed},
        "verdict": verdict(settings, run),
        "forecasters": {
            s.name: {"log_loss": s.loss, "excess": s.excess._asdict(), "excess_new": s.excess_new._asdict()}
            for s in run.scores
        },
        "excess_by_day": {name: days.mean(axis=0).round(5).tolist() for name, days in run.excess.items()},
        "reliability": {
            name: {part: values.round(5).tolist() for part, values in found._asdict().items()}
            for name, found in run.reliable.items()
        },
    }
    files = {"demo.html": demo_page(settings, TRIALS, seed, run), "demo.json": json.dumps(result, indent=1).encode()}
    page = write_results(folder, files)[0]
    if as_json:
        click.echo(json.dumps(result | {"page": str(page)}))
    show_table(*score_rows(run))
    console.print(f"\n{verdict(settings, run)}\n\nReport: {page}", soft_wrap=True)
    return 0
