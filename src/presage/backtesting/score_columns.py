"""The columns of the table of scores, each declared once: for the terminal and the page, for CSV and for JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from presage.backtesting.scores import Score, plain_json
from presage.dataframes import Columns, columns_of
from presage.metrics.intervals import Interval

GAP = 2
"""Letters between columns."""

TextTable = tuple[list[str], list[list[str]]]
"""A head and its rows, as text."""

Value = Interval | float | list[float] | str | None
"""An interval, one number, a number for each outcome, or words."""


class ScoreColumn(NamedTuple):
    """One fact about a forecaster: its name in files, its head in the table (none: not shown), and its value."""

    name: str
    head: str
    value: Callable[[Score], Value]
    ends: tuple[str, str] | None = None  # what the ends of its interval are called; after the name if left out

    def numbers(self, score: Score, outcomes: Sequence[str]) -> dict[str, Value]:
        """The value as named numbers: an interval has ends, a list one number for each outcome."""
        value = self.value(score)
        if isinstance(value, list):
            return {f"{self.name}_{outcome}": each for outcome, each in zip(outcomes, value, strict=True)}
        if self.name in INTERVALS:
            low, high = self.ends or (f"{self.name}_low", f"{self.name}_high")
            return dict(zip((self.name, low, high), value if isinstance(value, Interval) else [None] * 3, strict=True))
        return {self.name: value}

    def cell(self, score: Score) -> str:
        """The value as the table shows it; empty where there is none."""
        value = self.value(score)
        if isinstance(value, Interval):
            return spread(value)
        if isinstance(value, list):
            value = float(np.mean(value))
        if value is None or isinstance(value, str):
            return value or ""
        digits = {"calibration_error": 4, "seconds": 1}.get(self.name, 3)
        return "" if np.isnan(value) else f"{value:.{digits}f}"


def _over_direct(part: str) -> Callable[[Score], Value]:
    return lambda score: score.losses.over_direct and getattr(score.losses.over_direct, part)


COLUMNS = (
    ScoreColumn("log_loss", "log loss", lambda score: score.losses.overall, ("low", "high")),
    ScoreColumn("log_loss_from_first_outcome", "from first outcome", lambda score: score.losses.from_first),
    ScoreColumn("new_instances", "new: log loss", lambda score: score.losses.new_instances),
    ScoreColumn("gain", "gain on marginal", lambda score: score.losses.gain),
    ScoreColumn("direct", "", _over_direct("against")),
    ScoreColumn("over_direct", "gain over direct", _over_direct("overall")),
    ScoreColumn("over_direct_new", "new: over direct", _over_direct("new_instances")),
    ScoreColumn("delay_cost", "delay cost", lambda score: score.losses.delay_cost),
    ScoreColumn("calibration_error", "calibration", lambda score: score.calibration_error),
    ScoreColumn("ndcg", "NDCG", lambda score: score.ndcg),
    ScoreColumn("mean_average_precision", "MAP", lambda score: score.mean_average_precision),
    ScoreColumn("predicted_to_observed", "", lambda score: score.predicted_to_observed),
    ScoreColumn("auc", "AUC", lambda score: score.auc),
    ScoreColumn("seconds", "seconds", lambda score: score.seconds),
)

INTERVALS = (
    *("log_loss", "log_loss_from_first_outcome", "new_instances"),
    "gain",
    "over_direct",
    "over_direct_new",
    "delay_cost",
)

SHOWN = (
    *("log_loss", "log_loss_from_first_outcome", "gain", "over_direct"),
    *("new_instances", "over_direct_new", "delay_cost"),
    *("calibration_error", "auc", "ndcg", "mean_average_precision", "seconds"),
)
"""The columns that the terminal and the page show, in their order."""

_NAMED = {column.name: column for column in COLUMNS}


def score_table(scores: Mapping[str, Score]) -> TextTable:
    """Head and rows for the terminal and the page; columns that hold nothing are left out."""
    shown = [_NAMED[name] for name in SHOWN]
    cells = {column.head: [column.cell(score) for score in scores.values()] for column in shown}
    for place, name in enumerate(scores):
        if name == "marginal":
            cells["gain on marginal"][place] = ""
    held = {"forecaster": list(scores)} | {head: column for head, column in cells.items() if any(column)}
    return list(held), [list(row) for row in zip(*held.values(), strict=True)]


def score_rows(scores: Mapping[str, Score], outcomes: Sequence[str]) -> Columns:
    """The table for files: a row for each forecaster; what there is for each outcome has columns of its own."""
    rows = []
    for name, score in scores.items():
        one = {column.name: column.numbers(score, outcomes) for column in COLUMNS}
        each = [one.pop("predicted_to_observed"), one.pop("auc")]
        row: dict[str, Value] = {"forecaster": name}
        for part in one.values():
            row |= part
        for pair in zip(*(part.items() for part in each), strict=True):
            row |= dict(pair)
        rows.append(row)
    return columns_of(rows, words={"forecaster", "direct"})


def score_json(score: Score) -> dict[str, Any]:
    """A score as JSON values; NaN becomes null."""
    values = {column.name: column.value(score) for column in COLUMNS}
    plain: dict[str, Any] = {
        name: value._asdict() if isinstance(value, Interval) else value for name, value in values.items()
    }
    direct, new = plain.pop("direct"), plain.pop("over_direct_new")
    if direct:
        plain["over_direct"] |= {"against": direct, "new_instances": new}
    mean, low, high = score.losses.overall
    plain |= {"log_loss": mean, "low": low, "high": high, "new_instances": score.losses.new_instances.mean}
    return {name: plain_json(value) for name, value in plain.items()}


def side_by_side(table: TextTable, width: int) -> list[TextTable]:
    """The table in pieces that fit into so many letters, each with the first column again.

    >>> side_by_side((["a", "b", "c"], [["1", "22", "333"]]), 6)
    [(['a', 'b'], [['1', '22']]), (['a', 'c'], [['1', '333']])]
    """
    head, rows = table
    columns = list(zip(*rows, strict=True))
    sizes = [max(map(len, [name, *cells])) for name, cells in zip(head, columns, strict=True)]
    pieces, used = [[0]], sizes[0]
    for place in range(1, len(head)):
        if used + GAP + sizes[place] > width and len(pieces[-1]) > 1:
            pieces.append([0])
            used = sizes[0]
        pieces[-1].append(place)
        used += GAP + sizes[place]
    return [([head[p] for p in piece], [[row[p] for p in piece] for row in rows]) for piece in pieces]


def spread(interval: Interval | None) -> str:
    """A mean with half the length of its interval; empty where there is none.

    >>> spread(Interval(0.5, 0.49, 0.51)), spread(None)
    ('0.5000 ±0.0100', '')
    """
    if interval is None or np.isnan(interval.mean):
        return ""
    return f"{interval.mean:.4f} ±{(interval.high - interval.low) / 2:.4f}"
