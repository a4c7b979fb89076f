"""`presage tune`: the learning rates and L2 that suit some data, found the way the paper did."""

import dataclasses
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from presage.cli.sources import commit_source, market_source
from presage.cli.talk import changed, console, json_option, progress_bar, seed_option, set_option, show_table
from presage.experiments.github import settings as github
from presage.experiments.github.problem import score_github
from presage.experiments.marketplace import settings as marketplace
from presage.experiments.marketplace.problem import score_marketplace
from presage.experiments.networks import NAMES
from presage.experiments.tuning import APART, Search, Tried, trials_played, tune
from presage.store.files import check_folder, write_together

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
@click.option("--data", type=click.Path(path_type=Path), help="Real data, in a folder; an embedded world if left out.")
@click.option("--trials", type=click.IntRange(min=2), default=10, show_default=True, help="Trials of each combination.")
@click.option("--search", "kind", type=click.Choice(["grid", "random"]), default="grid", show_default=True)
@click.option("--draws", type=click.IntRange(min=1), default=12, show_default=True, help="Of a random search, a stage.")
@_values("--learning-rates", Search.learning_rates, "Stage 1: learning rates of the towers.")
@_values("--l2s", Search.l2s, "Stage 1: weights of L2.")
@_values("--proxy-rates", Search.proxy_rates, "Stage 2: learning rates from proxies to outcomes.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Combinations tried at a time.")
@seed_option
@click.option("--out", type=click.Path(path_type=Path), help="Keep the record of the search in this folder.")
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
    proxy_rates: tuple[float, ...],
    jobs: int,
    seed: int,
    out: Path | None,
    changes: tuple[str, ...],
    as_json: bool,
) -> int:
    """Search settings in two stages, as the paper did: first those of the direct network, then the others.

    Worlds and trials are drawn with seeds apart from those that `presage reproduce` reports.
    """
    search = Search(kind, learning_rates, l2s, proxy_rates, draws, jobs)
    paper: Any = github.PAPER if experiment == "github" else marketplace.PAPER
    settings = changed(dataclasses.replace(paper, trials=trials, seed=seed), changes)
    if out:
        check_folder(out)
    score: Any
    if experiment == "github":
        score = partial(score_github, *commit_source(data, (), seed + APART))
    else:
        score = partial(
            score_marketplace, *market_source(data, (), seed + APART, max(settings.launches, settings.items))
        )
    with progress_bar(f"{experiment}: combinations", trials_played(search)) as progress:
        best, tried = tune(settings, score, search, progress)
    result: dict[str, Any] = {
        "experiment": experiment,
        "settings": dataclasses.asdict(settings),
        "search": dataclasses.asdict(search),
        "best": {name: getattr(best, name) for name in ("learning_rate", "l2", "proxy_rate")},
        "tried": [one._asdict() for one in tried],
    }
    if out:
        write_together(out, {f"tuning-{experiment}.json": json.dumps(result, indent=1).encode()})
    if as_json:
        click.echo(json.dumps(result))
    show_table(["stage", "learning rate", "l2", "proxy rate", *NAMES], [_row(one, tried) for one in tried])
    console.print(f"Best: {', '.join(f'{name} {value:g}' for name, value in result['best'].items())}")
    return 0


def _row(one: Tried, tried: list[Tried]) -> list[str]:
    best = one.objective == min(other.objective for other in tried if other.stage == one.stage)
    numbers = [f"{one.learning_rate:g}", f"{one.l2:g}", f"{one.proxy_rate:g}"]
    return [f"{one.stage}{' *' if best else ''}", *numbers, *(f"{one.losses[name]:.4f}" for name in NAMES)]
