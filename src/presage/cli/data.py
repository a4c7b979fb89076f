"""`presage data`: tables for the experiments, and logs with a known truth."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import click

from presage.cli.output import (
    changed,
    console,
    json_option,
    progress_bar,
    seed_option,
    set_option,
    show_progress,
    show_table,
    tell_exclusions,
)
from presage.dataframes import Columns
from presage.experiments.data.commit_tables import QUERY, CommitTables, read_export
from presage.experiments.data.git_clones import find_clones, read_clones
from presage.experiments.data.marketplace import build_market
from presage.files import check_results_folder, write_results
from presage.logs.cleaning import Exclusions
from presage.logs.tables import parquet_files
from presage.simulation.simulate import WORLDS
from presage.simulation.simulate import simulate as write_simulated

SHARE = click.FloatRange(0.0, 1.0)


@click.command(epilog="Example: presage data simulate shop --out shop.parquet --rows 100000 --drift")
@click.argument("world", type=click.Choice(list(WORLDS)))
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A .parquet or .csv file.")
@click.option(
    "--rows", type=click.IntRange(min=1), metavar="N", help="Predictions; as many as the world has, if left out."
)
@seed_option
@set_option
@click.option("--drift", is_flag=True, help="Let the world change halfway.")
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
    flaws = {"missing": missing, "duplicates": duplicates}
    done = write_simulated(settings, out, rows=rows, seed=seed, drift=drift, progress=show_progress, **flaws)
    if as_json:
        files = [str(done.log), str(done.task)]
        click.echo(json.dumps({"rows": done.rows, "repeated": done.repeated, "files": files}))
    said = f"{done.rows:,} predictions" + (f", {done.repeated:,} of them twice" if done.repeated else "")
    console.print(f"{said}\nLog: {done.log}\nTask: {done.task}", markup=False, soft_wrap=True)
    return 0


PATH = click.Path(path_type=Path)


@click.group(epilog="Example: presage data github --clones clones --out data/github")
def data() -> None:
    """Make tables for the experiments from your own data, or simulate a log."""


@data.command(epilog="Example: presage data github --clones clones --out data/github")
@click.option("--clones", type=PATH, metavar="DIR", help="A folder of git clones: DIR/NAME or DIR/OWNER/NAME.")
@click.option("--export", type=PATH, nargs=2, metavar="COMMITS LANGUAGES", help="Two files with the query's results.")
@click.option("--query", is_flag=True, help="Print the query to run on BigQuery.")
@click.option("--out", type=PATH, metavar="DIR", help="Write commits, languages and repos.parquet to this folder.")
@json_option
def github(clones: Path | None, export: tuple[Path, Path] | None, query: bool, out: Path | None, as_json: bool) -> int:
    """Make tables of commit histories, from git clones or from BigQuery's public copy of GitHub.

    All repositories count as observed until the newest commit of any of them, so fetch all clones at the same time.
    """
    if sum((clones is not None, export is not None, query)) != 1:
        raise click.UsageError("Give one of --clones, --export and --query.")
    if query:
        click.echo(json.dumps({"query": QUERY}) if as_json else QUERY, nl=as_json)
        return 0
    if out is None:
        raise click.UsageError("Missing option '--out'.")
    check_results_folder(out)
    tables, excluded = read_export(*export) if export else _from_clones(clones or Path())
    counts = {
        "repositories": len(tables.repos["repo"]),
        "commits": len(tables.commits["repo"]),
        "languages": len(set(tables.languages["language"])),
        "repositories without a language": len(set(tables.repos["repo"]) - set(tables.languages["repo"])),
    }
    _finish(out, tables._asdict(), counts, excluded, as_json)
    return 0


@data.command(epilog="Example: presage data marketplace events.csv --out data/market --least 100")
@click.argument("log", type=PATH)
@click.option("--out", type=PATH, required=True, metavar="DIR", help="Write items, launch and calendar.parquet there.")
@click.option("--least", type=click.IntRange(min=1), default=100, show_default=True, help="Leave out items with fewer.")
@click.option("--prior", type=float, default=1.0, show_default=True, help="Average acquisitions to add to each item.")
@json_option
def marketplace(log: Path, out: Path, least: int, prior: float, as_json: bool) -> int:
    """Make tables of a market from an event log: Parquet, CSV or NDJSON with columns item, user, kind and at.

    A kind is acquire, engage or delete. What a user did within 2 days of acquiring an item is the proxy, within 7
    days the outcome.
    """
    check_results_folder(out)
    with console.status("reading the log"):
        tables, excluded = build_market(log, least, prior)
    counts = {
        "items": len(tables.items["item"]),
        "acquisitions of known outcome": int(tables.items["n"].sum()),
        "items seen from their launch": int(tables.items["in_launch"].sum()),
        "items on the calendar": int(tables.items["in_calendar"].sum()),
    }
    _finish(out, tables._asdict(), counts, excluded, as_json)
    return 0


def _from_clones(folder: Path) -> tuple[CommitTables, Exclusions]:
    with progress_bar("github: clones read", len(find_clones(folder))) as progress:
        return read_clones(folder, int(time.time()), progress)


def _finish(
    out: Path, tables: Mapping[str, Columns], counts: Mapping[str, int], excluded: Exclusions, as_json: bool
) -> None:
    """Write the tables and say what is in them."""
    files = write_results(out, parquet_files(tables))
    if as_json:
        paths = [str(path) for path in files]
        click.echo(json.dumps({"counts": counts, "left_out": excluded.counts, "files": paths}))
    show_table(["", "count"], [[name, f"{count:,}"] for name, count in counts.items()])
    tell_exclusions(excluded)
    console.print(f"Tables: {out}", markup=False, soft_wrap=True)


data.add_command(simulate)
