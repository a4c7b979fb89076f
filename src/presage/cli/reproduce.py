"""`presage reproduce`: the paper's figures, and which of its claims hold."""

import dataclasses
import json
from pathlib import Path

import click

from presage.cli.talk import changed, console, json_option, progress_bar, seed_option, set_option, show_table
from presage.experiments.synthetic.experiment import episodes_played, reproduce_synthetic
from presage.experiments.synthetic.settings import PAPER
from presage.store.files import check_folder, write_together


@click.command(epilog="Example: presage reproduce synthetic --trials 50 --out out/synthetic --check")
@click.argument("experiment", type=click.Choice(["synthetic"]))
@click.option(
    "--trials", type=click.IntRange(min=2), default=PAPER.trials, show_default=True, help="Trials to average."
)
@seed_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep pictures, tables and settings in this folder.")
@click.option("--check", is_flag=True, help="Exit with 1 if a claim does not hold.")
@set_option
@json_option
def reproduce(  # noqa: PLR0917
    experiment: str, trials: int, seed: int, out: Path | None, check: bool, changes: tuple[str, ...], as_json: bool
) -> int:
    """Reproduce figures of the paper and say which of its claims hold.

    synthetic: Figure 2 (regret from adversarial to uniform schedules), and how regret grows with the delay and with
    the number of instances.
    """
    settings = changed(dataclasses.replace(PAPER, trials=trials, seed=seed), changes)
    if out:
        check_folder(out)
    with progress_bar(f"{experiment}: episodes", episodes_played(settings)) as progress:
        report, files = reproduce_synthetic(settings, progress)
    if out:
        write_together(out, files)
    if as_json:
        click.echo(json.dumps(report.as_json()))
    show_table(
        ["claim", "holds", "", "measured"],
        [[claim.id, "yes" if claim.holds else "NO", claim.text, claim.measured] for claim in report.claims],
    )
    took = f"{report.seconds.run:.1f} s, and {report.seconds.compile:.1f} s to compile"
    console.print(f"{took}. {f'Pictures and tables: {out}' if out else 'Keep pictures and tables with --out DIR.'}")
    return 1 if check and not report.all_hold else 0
