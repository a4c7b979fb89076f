"""`presage data simulate`: a log with a known truth, and its task file."""

import json
from pathlib import Path

import click

from presage.cli.talk import changed, console, json_option, progress_bar, seed_option, set_option
from presage.simulation.simulate import WORLDS
from presage.simulation.simulate import simulate as write_simulated
from presage.simulation.tables import Flaws

SHARE = click.FloatRange(0.0, 1.0)


@click.command(epilog="Example: presage data simulate shop --out shop.parquet --rows 100000 --drift")
@click.argument("world", type=click.Choice(list(WORLDS)))
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A .parquet or .csv file.")
@click.option("--rows", type=click.IntRange(min=1), metavar="N", help="How many predictions; else as the world deals.")
@seed_option
@set_option
@click.option("--drift", is_flag=True, help="Let the world change in the middle.")
@click.option("--missing", type=SHARE, default=0.0, metavar="SHARE", help="Leave out this share of the feedback.")
@click.option("--duplicates", type=SHARE, default=0.0, metavar="SHARE", help="Write this share of the rows twice.")
@json_option
def simulate(
    world: str,
    out: Path,
    *,
    rows: int | None,
    seed: int,
    changes: tuple[str, ...],
    drift: bool,
    missing: float,
    duplicates: float,
    as_json: bool,
) -> int:
    """Write a log with a known truth, one row per prediction, and a task file beside it.

    WORLD is an ebook shop, a set of repositories or a marketplace. Columns truth_VALUE hold the probability of each
    outcome where the world knows it.
    """
    settings = changed(WORLDS[world](), changes)
    with progress_bar(f"{world}: rows dealt", rows or 0) as progress:
        flaws = Flaws(missing, duplicates)
        done = write_simulated(settings, out, rows=rows, seed=seed, drift=drift, flaws=flaws, progress=progress)
    if as_json:
        files = [str(done.log), str(done.task)]
        click.echo(json.dumps({"rows": done.rows, "repeated": done.repeated, "files": files}))
    said = f"{done.rows:,} predictions" + (f", {done.repeated:,} of them twice" if done.repeated else "")
    console.print(f"{said}\nLog: {done.log}\nTask: {done.task}", markup=False, soft_wrap=True)
    return 0
