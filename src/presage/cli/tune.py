"""`presage tune`: a search for network settings that suit some data, done as in the paper."""

import dataclasses
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from presage.cli.experiment_data import commit_source, market_source
from presage.cli.output import changed, console, json_option, progress_bar, seed_option, set_option, show_table
from presage.experiments.github import settings as github
from presage.experiments.github.problem import score_github
from presage.experiments.marketplace import settings as marketplace
from presage.experiments.marketplace.problem import score_marketplace
from presage.experiments.networks import NAMES
from presage.experiments.tuning import APART, FIRST, SECOND, Search, Tried, combinations, tune
from presage.files import check_results_folder, write_results

Command = TypeVar("Command", bound=Callable[..., Any])


def _numbers(context: click.Context, parameter: click.Parameter, text: str) -> tuple[float, ...]:  # noqa: ARG001
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a list of numbers such as 0.1,0.3") from error


def _values(name: str, default: tuple[float, ...], what: str) -> Callable[[Command], Command]:
    text = ",".join(f"{value:g}" for value in default)
    return click.option(name, default=text, show_default=True, callback=_numbers, metavar="A,B,...", help=what)


@click.command("tune", epilog="Example: presage tune marketplace --trials 10 --out out/tuning")
@click.argument("experiment", type=click.Choice(["github", "marketplace"]))
@click.option("--data", type=click.Path(path_type=Path), help="A folder of real data; without it, an embedded world.")
@click.option("--trials", type=click.IntRange(min=2), default=10, show_default=True, help="Trials per combination.")
@click.option(
    "--search",
    "kind",
    type=click.Choice(["grid", "random"]),
    default="grid",
    show_default=True,
    help="How the first step picks values; the second always draws them at random.",
)
@click.option(
    "--draws", type=click.IntRange(1, 1000), default=Search.draws, show_default=True, help="Random draws to try."
)
@_values("--learning-rates", Search.learning_rates, "Step 1: learning rates of all towers.")
@_values("--l2s", Search.l2s, "Step 1: L2 of all towers.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Combinations tried in parallel."
)
@seed_option
@click.option("--out", type=click.Path(path_type=Path), help="Write the record of the search to this folder.")
@set_option
@json_option
def tune_command(  # noqa: PLR0917
    experiment: str,
    data: Path | None,
    trials: int,
    kind: str,
    draws: int,
    learning_rates: tuple[float, ...],
    l2s: tuple[float, ...],
    jobs: int,
    seed: int,
    out: Path | None,
    changes: tuple[str, ...],
    as_json: bool,
) -> int:
    """Search for settings in two steps, as the paper did: first for the direct network, then for the others.

    The first step chooses the learning rate and L2 of all towers by direct's loss. The second draws the layers, rate
    and L2 of the tower of h, the rate of g and that of the residual tower, and chooses by the mean of factored's and
    residual's losses. Worlds and trials use other seeds than those that `presage reproduce` reports.
    """
    search = Search(kind, learning_rates, l2s, draws=draws, jobs=jobs)
    paper: Any = github.PAPER if experiment == "github" else marketplace.PAPER
    settings = changed(dataclasses.replace(paper, trials=trials, seed=seed), changes)
    if out:
        check_results_folder(out)
    score: Any
    if experiment == "github":
        score = partial(score_github, *commit_source(data, (), seed + APART))
    else:
        score = partial(
            score_marketplace, *market_source(data, (), seed + APART, max(settings.launches, settings.items))
        )
    with progress_bar(f"{experiment}: combinations", combinations(search)) as progress:
        best, tried = tune(settings, score, search, progress)
    result: dict[str, Any] = {
        "experiment": experiment,
        "settings": dataclasses.asdict(settings),
        "search": dataclasses.asdict(search),
        "best": {name: getattr(best, name) for name in FIRST + SECOND},
        "tried": [{"step": one.step, **one.settings, **one.score._asdict()} for one in tried],
    }
    if out:
        write_results(out, {f"tuning-{experiment}.json": json.dumps(result, indent=1).encode()})
    if as_json:
        click.echo(json.dumps(result))
    figures = list(tried[0].score.figures)
    show_table(["step", *(name.replace("_", " ") for name in FIRST + SECOND), *NAMES, *figures], _rows(tried))
    console.print(f"Best: {', '.join(f'{name} {_shown(value)}' for name, value in result['best'].items())}")
    return 0


def _rows(tried: list[Tried]) -> list[list[str]]:
    """One row per combination; a star marks the best of its step."""
    best = [min(one.objective for one in tried if one.step == step) for step in (1, 2)]
    rows = []
    for one in tried:
        star = " *" if one.objective == best[one.step - 1] else ""
        numbers = [f"{value:.4f}" for value in (*one.score.losses.values(), *one.score.figures.values())]
        rows.append([f"{one.step}{star}", *map(_shown, one.settings.values()), *numbers])
    return rows


def _shown(value: Any) -> str:
    """A setting in few characters; one that is left out is the same as in all towers."""
    if value is None:
        return "same"
    return " ".join(map(str, value)) if isinstance(value, tuple) else f"{value:g}"
