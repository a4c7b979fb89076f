"""Results on stdout, what commands say while they work on stderr, and the options they share."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from presage.errors import SettingError
from presage.logs.cleaning import Exclusions
from presage.logs.cuts import cut_lines

MOST_SEEDS = 1000

console = Console(stderr=True, highlight=False)
"""Talk: progress, what was left out, where files lie."""

results = Console(highlight=False)
"""Data: tables and verdicts."""


def table_width() -> int | None:
    """How wide tables of results may be: as the terminal, or as wide as they are where stdout is no terminal."""
    return results.width if results.is_terminal else None


def show_result(text: str = "", *, strong: bool = False) -> None:
    """A sentence on stdout."""
    results.print(text, markup=False, soft_wrap=True, style="bold red" if strong else None)


def show_results(head: list[str], rows: list[list[str]]) -> None:
    """A table on stdout: wrapped to fit into a terminal, in full width and without colours elsewhere."""
    width = table_width()
    if width is None:
        sizes = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
        for row in [head, *rows] if any(head) else rows:
            click.echo("  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip())
    else:
        results.print(_table(head, rows), width=width)


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while something long goes on; yields what advances it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def show_progress(what: str, steps: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, or a spinner where the number of steps is not known."""
    if steps is None:
        with console.status(what):
            yield lambda _: None
    else:
        with progress_bar(what, steps) as advance:
            yield advance


def tell_exclusions(exclusions: Exclusions) -> None:
    """What was left out of a log, or stayed unknown, a line for each reason."""
    for line in exclusions.told():
        console.print(line, markup=False, soft_wrap=True)


def tell_edges(settings: Mapping[str, Any]) -> None:
    """The edges that a log told, a line for each column that was cut."""
    for line in cut_lines(settings.get("edges", {})):
        console.print(line, markup=False, soft_wrap=True)


def show_table(head: list[str], rows: list[list[str]]) -> None:
    """A table on stderr."""
    console.print(_table(head, rows))


def _table(head: list[str], rows: list[list[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in head:
        table.add_column(Text(name))
    for row in rows:
        table.add_row(*map(Text, row))  # what stands in brackets in a log is no markup
    return table


def changed(settings: Any, changes: tuple[str, ...]) -> Any:
    """Settings with changes of the form name=value applied.

    >>> from presage.experiments.synthetic.settings import SMOKE
    >>> changed(SMOKE, ("delay=10", "useful=1,0.5")).useful
    (1.0, 0.5)
    """
    fields = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    hints = get_type_hints(type(settings))
    values = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals or name not in fields:
            raise SettingError("a setting is changed by name=value", change, f"the names are {', '.join(fields)}")
        values[name] = _parsed(name, text, hints[name], fields[name])
    return dataclasses.replace(settings, **values)


def _parsed(name: str, text: str, hint: Any, like: Any) -> Any:
    """The value of a setting of type `hint`, perhaps optional: one value, or several with commas between them."""
    if NoneType in get_args(hint):
        hint = next(each for each in get_args(hint) if each is not NoneType)
    several = get_origin(hint) is tuple
    kind = get_args(hint)[0] if several else hint
    try:
        parts = [kind(part) for part in text.split(",")]
    except ValueError as error:
        raise SettingError(f"{name} cannot be read as {kind.__name__}", text, f"give it like {like}") from error
    if not several and len(parts) > 1:
        raise SettingError(f"{name} takes one value", text, f"give it like {like}")
    return tuple(parts) if several else parts[0]


set_option = click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="Change a setting; may be given several times."
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout, and nothing else there."
)
skip_option = click.option(
    "--skip-bad-lines", is_flag=True, help="Leave out, and count, lines of CSV and NDJSON that cannot be read."
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed for all random draws."
)


class Seeds(click.ParamType[tuple[int, ...]]):
    """Seeds such as 0-11, or 0,3,7."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The seeds, in ascending order and none twice."""
        if isinstance(value, tuple):
            return value
        found: set[int] = set()
        for part in str(value).split(","):
            first, dash, last = part.strip().partition("-")
            if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
                self.fail(f"{value!r} is not a list of seeds such as 0-11 or 0,3,7", param, ctx)
            found.update(range(int(first), int(last or first) + 1))
        if len(found) > MOST_SEEDS:
            self.fail(f"{len(found):,} seeds are too many: give at most {MOST_SEEDS}", param, ctx)
        return tuple(sorted(found))
