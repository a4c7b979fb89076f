"""`presage fit` and `presage predict`: a model of your own log, and what it says of new rows."""

import json
from pathlib import Path
from typing import Any

import click

from presage.cli.output import (
    console,
    json_option,
    seed_option,
    show_progress,
    show_result,
    skip_option,
    tell_edges,
    tell_exclusions,
)
from presage.fitting import model as models
from presage.fitting.model import Model, check_scores_file
from presage.fitting.model_files import check_model_folder

PATH = click.Path(path_type=Path)


def choice_options(command: Any) -> Any:
    """A command with the options that say how a log is learnt."""
    options = (
        click.option("--task", "task_file", type=PATH, help="The task file of the log."),
        click.option("--forecaster", default="mixture", show_default=True, help="Which forecaster to fit."),
        click.option("--proxy", help="Which of the task's proxies to use; the first if left out."),
        click.option("--until", metavar="TIME", help="Use only what was known by then, in UTC."),
        click.option("--engine", type=click.Choice(["duckdb", "spark"]), default="duckdb", show_default=True),
        skip_option,
        seed_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command("fit", epilog="Example: presage fit log.parquet --task task.toml --out model")
@click.argument("log")
@choice_options
@click.option("--model", type=PATH, help="Go on from this model instead: learn what is new in the log.")
@click.option("--out", type=PATH, help="The folder of the model; that of --model if left out.")
@json_option
def fit_command(log: str, model: Path | None, out: Path | None, as_json: bool, **options: Any) -> None:
    """Learn everything known by the end of a log, and keep the model.

    With --model the log may be the one that was learnt, grown longer, or only what is new in it: later rows, and
    earlier ones whose feedback has come. Nothing is learnt twice.
    """
    folder = out or model
    if folder is None:
        raise click.UsageError("give --out FOLDER for the model")
    check_model_folder(folder)
    if model:
        _check_alone(("--task", "--forecaster", "--proxy", "--seed"))
        found = models.load_model(model)
        changes = {name: options[name] for name in ("until", "engine", "skip_bad_lines")}
        added = found.update(log, **changes)
        console.print(
            f"{added.rows:,} new rows, {added.feedback:,} feedback on earlier ones, {added.skipped:,} skipped."
        )
    else:
        found = _fitted(log, **options)
    found.save(folder)
    _tell_log(found)
    if as_json:
        click.echo(json.dumps(found.as_json()))
    else:
        show_result(f"{found}, {found.open:,} open: {folder}")


@click.command("predict", epilog="Example: presage predict today.csv --model model --out scores.csv")
@click.argument("rows")
@click.option("--log", help="The log to learn from.")
@choice_options
@click.option("--model", type=PATH, help="A saved model, instead of --log and --task.")
@click.option("--nowcast", is_flag=True, help="Use the proxies of rows that have one, in the proxy's column.")
@click.option("--save", type=PATH, help="Keep the model in this folder.")
@click.option("--out", type=PATH, help="The .parquet or .csv file to write; CSV on stdout if left out.")
def predict_command(
    rows: str,
    *,
    log: str | None,
    model: Path | None,
    nowcast: bool,
    save: Path | None,
    out: Path | None,
    **options: Any,
) -> None:
    """Score rows: the probability of each value of the outcome, with all that is known by the end of a log.

    ROWS is a file with the features of the task, under the names that they have in the log. A category that the log
    never showed is predicted like a new instance.
    """
    if (model is None) == (log is None):
        raise click.UsageError("give either --log LOG and --task FILE, or --model FOLDER")
    if out:
        check_scores_file(out)
    if save:
        check_model_folder(save)
    if model:
        _check_alone(("--task", "--forecaster", "--proxy", "--until", "--seed", "--engine", "--skip-bad-lines"))
        found = models.load_model(model)
    else:
        found = _fitted(str(log), **options)
    scores = found.nowcast(rows) if nowcast else found.predict(rows)
    _tell_log(found)
    for name, count in scores.unseen.items():
        line = f"{name}: {count:,} rows hold a value that the log never showed; they are predicted like new instances."
        console.print(line, markup=False, soft_wrap=True)
    if save:
        found.save(save)
    if out:
        scores.save(out)
        console.print(f"{scores.rows:,} rows scored by {found}: {out}", markup=False, soft_wrap=True)
    else:
        click.echo(scores.csv(), nl=False)


def _fitted(log: str, *, task_file: Path | None, **options: Any) -> Model:
    if task_file is None:
        raise click.UsageError("give --task FILE: it says what the log holds")
    return models.fit(log, task_file, progress=show_progress, **options)


def _tell_log(model: Model) -> None:
    """What was left out of the log, the edges that it told, and what to look at before believing a score."""
    tell_exclusions(model.left_out)
    tell_edges(model.as_json())
    for warning in model.warnings:
        console.print(warning.words, markup=False, soft_wrap=True)


def _check_alone(flags: tuple[str, ...]) -> None:
    """Raise UsageError if one of these was typed beside --model, which brings its own."""
    context = click.get_current_context()
    for option in context.command.params:
        typed = context.get_parameter_source(option.name or "") is click.core.ParameterSource.COMMANDLINE
        if typed and (flag := next((flag for flag in option.opts if flag in flags), None)):
            raise click.UsageError(f"--model brings its own {flag}: leave one of the two out")
