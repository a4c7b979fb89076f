"""The early signs of a task, judged on its log: a card for each, and the report of all of them."""

import html
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from presage.dataframes import Table, as_csv
from presage.errors import SettingError
from presage.files import write_results
from presage.logs.cleaning import Exclusions
from presage.logs.cuts import found_cuts, resolve_cuts
from presage.logs.guards.leak_guards import LogWarning
from presage.logs.rows import LogRows, SignalRows, read_log
from presage.metrics.families import numbered
from presage.metrics.intervals import Estimate
from presage.progress import Progress, silent
from presage.proxies.candidates import cut_points, cuts_of, with_horizons
from presage.proxies.card import Card, card_columns
from presage.proxies.gain import DAY
from presage.proxies.judge import judge_proxy, spoken
from presage.proxies.signals import PredictionRows, ProxyCandidate, ProxyFeatures
from presage.spaces import Array
from presage.task.spans import ROW, Span, span
from presage.task.task import Task, load_task


@dataclass(frozen=True)
class ProxyReport:
    """The cards of a task's proxies, best first."""

    cards: tuple[Card, ...]
    left_out: Exclusions
    settings: Mapping[str, Any]  # as JSON values
    warnings: tuple[LogWarning, ...] = ()  # of the log: what to look at before believing a card

    @property
    def table(self) -> Table:
        """A row for each card."""
        return Table(card_columns(self.cards))

    @property
    def verdict(self) -> list[str]:
        """The warnings of the log, then what each proxy comes to; the best first."""
        cards = [f"{card.label}: {card.verdict}" for card in self.cards]
        return [warning.words for warning in self.warnings] + cards

    def as_json(self) -> dict[str, Any]:
        """The cards and warnings as JSON values."""
        found: dict[str, Any] = {
            "proxies": [card.as_json() for card in self.cards],
            "warnings": [warning.as_json() for warning in self.warnings],
        }
        return found | {"edges": self.settings["edges"]} if "edges" in self.settings else found

    def save(self, folder: str | Path) -> Path:
        """Where the cards are now kept: proxies.json, with the settings, and proxies.csv."""
        kept = self.as_json() | {"settings": dict(self.settings), "version": version("presage")}
        table = as_csv(card_columns(self.cards), missing="nan")
        files = {"proxies.json": json.dumps(kept, indent=1).encode(), "proxies.csv": table}
        return write_results(Path(folder), files)[0].parent

    def __str__(self) -> str:
        return "\n".join(self.verdict)

    def _repr_html_(self) -> str:
        warned = "".join(f"<p><b>{html.escape(warning.words)}</b></p>" for warning in self.warnings)
        words = "".join(f"<p><b>{html.escape(card.label)}</b>: {html.escape(card.verdict)}</p>" for card in self.cards)
        return warned + words + _short(self.cards)._repr_html_()


def _short(cards: Sequence[Card]) -> Table:
    """What a notebook shows of the cards: the columns that decide; `table` has all."""
    columns: dict[str, Callable[[Card], str]] = {
        "proxy": lambda card: card.label,
        "verdict": lambda card: card.kind.words,
        "information (nats)": lambda card: _number(card.information),
        "gain on new items (nats)": lambda card: _number(card.gain),
        "lead": _lead,
    }
    return Table({name: np.array([tell(card) for card in cards], object) for name, tell in columns.items()})


def _number(estimate: Estimate) -> str:
    value, low, high = (round(part, 4) + 0.0 for part in estimate)  # 0.0 rather than -0.0
    return "" if math.isnan(value) else f"{value:.4f} ({low:.4f} to {high:.4f})"


def _lead(card: Card) -> str:
    if math.isnan(card.lead.value):
        return ""
    return spoken(card.lead.value, card.unit) if card.lead.value > 0 else "none"


def judge_proxies(
    log: Any,
    task: str | Path | Task,
    *,
    cuts: bool = False,
    horizons: str | Sequence[str] | None = None,
    engine: str = "duckdb",
    skip_bad_lines: bool = False,
    progress: Progress = silent,
) -> ProxyReport:
    """The report cards of the early signs that a task declares: what each tells of the outcome, and whether it pays.

    Args:
        log: A file or folder of Parquet, CSV or NDJSON, FILE.duckdb::TABLE, or a dataframe.
        task: The task, or its file or text.
        cuts: Whether every way to merge neighbouring symbols is judged, too.
        horizons: Judge proxies that are defined on raw events at these horizons, too, such as ("1 day", "3 days"); the
            usual ones if left out, none with ().
        engine: "duckdb" or "spark".
        skip_bad_lines: Whether lines of CSV or NDJSON that cannot be read are left out and counted.
        progress: Shows how far it is.
    """
    task = task if isinstance(task, Task) else load_task(task)
    wanted = with_horizons(task, None if horizons is None else _spans(horizons))
    with progress("reading the log", None):
        wanted = resolve_cuts(wanted, log, engine=engine, skip_bad_lines=skip_bad_lines)
        rows, left_out = read_log(wanted, log, engine=engine, skip_bad_lines=skip_bad_lines)
    with progress("proxies: judged", candidate_count(wanted, cuts=cuts)) as step:
        cards = judge_log(wanted, rows, cuts=cuts, progress=lambda _: step(1))
    names = [each.name for each in wanted.proxies]
    source = str(log) if isinstance(log, str | Path) else "dataframe"
    settings = {"log": source, "task": task.text, "proxies": names, "cuts": cuts, "engine": engine}
    if edges := found_cuts(wanted):
        settings["edges"] = edges
    return ProxyReport(tuple(cards), left_out, settings, rows.warnings)


def _spans(horizons: str | Sequence[str]) -> list[Span]:
    words = horizons.split(",") if isinstance(horizons, str) else horizons
    found = [span("horizons", part) for part in words]
    again = [str(one) for place, one in enumerate(found) if one.microseconds in {o.microseconds for o in found[:place]}]
    if again:
        raise SettingError("horizons name one twice", again[0], "name each once")
    return found


def judge_log(task: Task, rows: LogRows, *, cuts: bool, progress: Callable[[str], None]) -> list[Card]:
    """The report cards of a task's proxies, best first; with `cuts`, of all ways to merge their neighbouring symbols.

    The gain pools through the groups that the task backs off through; cohorts are the coarsest of them.
    """
    return judge_proxy(log_predictions(task, rows), _candidates(task, rows, cuts), progress=progress)


def candidate_count(task: Task, *, cuts: bool) -> int:
    """How many candidates `judge_log` judges."""
    return sum(1 + (len(cuts_of(len(proxy.values))) if cuts else 0) for proxy in task.proxies)


def log_predictions(task: Task, rows: LogRows) -> PredictionRows:
    """The rows of a log as predictions to judge proxies by, with the groups of the task."""
    if not task.symbols:
        found = ", ".join(feature.name for feature in task.instance)
        remedy = "declare what identifies an instance in [instance] with kind = category"
        raise SettingError("proxies are judged by instances, and the task has no symbols for them", found, remedy)
    groups = [_group(task, rows, names) for names in task.forecaster.back_off]
    unit = _unit(task)
    return PredictionRows(
        rows.instances.symbols[:, 0],
        (rows.shown_at - rows.shown_at[0]) / unit,
        rows.outcome.symbols,
        _delay(rows, rows.outcome, unit),
        len(task.outcome.values),
        groups[0] if groups else None,
        tuple(groups[1:]),
        "day" if unit == DAY else "row",
    )


def _unit(task: Task) -> int:
    """The microseconds of the unit that moments are counted in: days, or rows of a log without times."""
    return ROW if task.in_rows else DAY


def _candidates(task: Task, rows: LogRows, cuts: bool) -> Iterator[ProxyCandidate]:
    """One after the other: those of a long log would not fit into memory together."""
    for proxy in rows.proxies:
        signal = task.proxy(proxy.name)
        task.spaces_of(rows.features, proxy.name)  # refuses features that make too many symbols
        features = None
        if signal.features:
            values = _group(task, rows, signal.features)
            features = ProxyFeatures(signal.features, values, int(values.max()) + 1)
        whole = ProxyCandidate(
            proxy.name, proxy.symbols, _delay(rows, proxy, _unit(task)), len(signal.values), features
        )
        yield whole
        if cuts:
            yield from cut_points(whole)


def _group(task: Task, rows: LogRows, names: tuple[str, ...]) -> Array:
    """Which group each row is in, by the features of these names."""
    group = np.zeros(len(rows.shown_at), np.int64)
    for name in names:
        column = rows.instances.symbols[:, task.symbols.index(name)]
        group = numbered(group * (int(column.max()) + 1) + column)[1]
    return group


def _delay(rows: LogRows, signal: SignalRows, unit: int) -> Array:
    """Days, or rows, until a signal was known; NaN where it never was."""
    return np.where(signal.symbols < 0, np.nan, (signal.known_at - rows.shown_at) / unit)
