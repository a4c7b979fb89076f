"""`presage reproduce`: the paper's figures, and which of its claims hold."""

import importlib
import json
from pathlib import Path
from typing import Any

import click

from presage.cli.output import Seeds, console, json_option, seed_option, set_option, show_table
from presage.cli.runs import ReproduceRequest, Result
from presage.errors import SettingError
from presage.experiments.claims import Verdict
from presage.experiments.report import Report
from presage.experiments.resumable_parts import forget_parts
from presage.files import check_results_folder, write_results

EXPERIMENTS = ("synthetic", "github", "marketplace")
FOLDERS = {"github": "github", "marketplace": "oulad"}
"""Where `all` looks for the data of each, in the folder it is given."""


@click.command(epilog="Example: presage reproduce github --trials 50 --out out/github --check")
@click.argument("experiment", type=click.Choice([*EXPERIMENTS, "all"]))
@click.option("--data", type=click.Path(path_type=Path), help="A folder of real data; without it, an embedded world.")
@click.option("--trials", type=click.IntRange(min=2), default=200, show_default=True, help="Trials to average.")
@seed_option
@click.option("--seeds", type=Seeds(), help="Several seeds, such as 0-11; claims are judged on all their trials.")
@click.option("--settings", type=click.Choice(["paper", "tuned"]), help="The paper's settings, or ours for this data.")
@click.option("--out", type=click.Path(path_type=Path), help="Write pictures, tables and settings to this folder.")
@click.option("--check", is_flag=True, help="Exit with 1 if a claim fails.")
@set_option
@json_option
def reproduce(  # noqa: PLR0917
    experiment: str,
    data: Path | None,
    trials: int,
    seed: int,
    seeds: tuple[int, ...] | None,
    settings: str | None,
    out: Path | None,
    check: bool,
    changes: tuple[str, ...],
    as_json: bool,
) -> int:
    """Reproduce figures of the paper and say which of its claims hold.

    \b
    synthetic    Figure 2: regret from adversarial to uniform schedules, and how it grows
    github       Figures 4 and 5: will a repository stay active, while the kind of repository shifts
    marketplace  Figures 6 and 7: engagement with items, with and without new items every day
    all          all three; with --data DIR, on DIR/github and DIR/oulad

    Each claim has a threshold, and holds or fails if its 95 % interval lies on one side of it; otherwise these trials
    cannot tell. Change a setting of an embedded world with --set world.NAME=VALUE. An interrupted run resumes where it
    stopped.
    """  # noqa: D301 - click wants the backspace itself
    names = EXPERIMENTS if experiment == "all" else (experiment,)
    if experiment == "all" and changes:
        raise SettingError("--set works with one experiment only", changes, "name the experiment, or leave --set out")
    if seeds and seed:
        raise SettingError("--seed and --seeds cannot be combined", f"{seed}, {seeds}", "leave one of them out")
    if out:
        check_results_folder(out)
    reports = []
    for name in names:
        own = name != "synthetic" or experiment == "synthetic"  # which has no data, and no other settings
        folder = data / FOLDERS[name] if data and own and experiment == "all" else data
        asked = ReproduceRequest(trials, seeds or (seed,), folder if own else None, settings if own else None, changes)
        report, files = _run(name, asked)
        if out:
            write_results(out, {})
            write_results(out / name if len(names) > 1 else out, files)
        _show(report)
        reports.append(report)
    for report in reports:
        for what in report.parts:
            forget_parts(what)
    if as_json:
        click.echo(json.dumps(_together(reports) if experiment == "all" else reports[0].as_json()))
    console.print(f"Pictures and tables: {out}" if out else "Add --out DIR to write pictures and tables.")
    return 1 if check and any(report.fails for report in reports) else 0


def _run(name: str, asked: ReproduceRequest) -> Result:
    result: Result = importlib.import_module(f"presage.cli.runs.{name}").run(asked)
    return result


def _show(report: Report) -> None:
    show_table(
        ["claim", "verdict", "", "measured"],
        [[claim.id, claim.verdict.value, claim.text, claim.measured] for claim in report.claims],
    )
    if len(report.by_seed) > 1:
        marks = {Verdict.HOLDS: "holds", Verdict.FAILS: "FAILS", Verdict.CANNOT_TELL: "?"}
        console.print("\nBy seed (? where the interval contains the threshold):")
        ids = [claim.id for claim in report.claims]
        rows = [[str(seed), *(marks[one.verdict] for one in claims)] for seed, claims in report.by_seed.items()]
        show_table(["seed", *ids], rows)
    console.print(f"{report.experiment}: {report.seconds.run:.1f} s, and {report.seconds.compile:.1f} s to compile.\n")


def _together(reports: list[Report]) -> dict[str, Any]:
    each = {report.experiment: report.as_json() for report in reports}
    return {
        "experiment": "all",
        "settings": {name: report["settings"] for name, report in each.items()},
        "seeds": next(iter(each.values()))["seeds"],
        "seconds": {part: sum(report["seconds"][part] for report in each.values()) for part in ("compile", "run")},
        "results": {name: report["results"] for name, report in each.items()},
        "claims": [claim for report in each.values() for claim in report["claims"]],
        "claims_by_seed": {name: report["claims_by_seed"] for name, report in each.items()},
    }
