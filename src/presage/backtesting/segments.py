"""Scores by segment: the rows of a log cut by a column, each part scored on its own."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from presage.backtesting.replay import Said
from presage.backtesting.score_columns import TextTable, spread
from presage.backtesting.scores import percent_of, plain_json
from presage.dataframes import Columns, columns_of
from presage.drivers.threads import over_cores
from presage.metrics.bootstrap import LEAST, bootstrap_mean
from presage.metrics.families import numbered
from presage.metrics.intervals import Interval
from presage.metrics.losses import log_loss
from presage.spaces import Array
from presage.task.features import Category
from presage.task.task import Task

MOST = 20
"""How many values of a column are told apart, the most frequent; a column with more numbers is cut at quartiles, one
with more times into months, or years."""

OTHER, EMPTY_CELL = "other", "no value"

DATE = re.compile(r"\d{4}-\d{2}-\d{2}($|[ T])")
"""How a time begins where a column is read as text."""

UNKNOWN = Interval(np.nan, np.nan, np.nan)


class Compared(NamedTuple):
    """The forecasters of which segments are scored; None where it was not played."""

    default: str | None
    direct: str | None
    best: str
    ours: str | None  # what gains over the direct one: the best that uses the early sign


class Segment(NamedTuple):
    """The scores on the rows that have one value of a column."""

    by: str
    value: str
    rows: int
    scored: int  # how many of them have a known outcome and were shown once some outcome was known
    losses: dict[str, Interval]  # of what is compared, by forecaster
    gain: Interval  # of the early sign, in nats
    percent: Interval  # the same in percent of the direct forecaster's log loss


def by_column(task: Task, name: str) -> str:
    """The column of the log that scores are wanted by: that of a feature, or any other."""
    return next((feature.column for feature in task.instance if feature.name == name), name)


def parts_of(task: Task, by: str, words: Array) -> Iterator[tuple[str, Array]]:
    """The names of the segments of a column [N], and which rows (bool [N]) each has."""
    there = np.array([word is not None for word in words])
    values, place = np.unique(np.where(there, words, "").astype(str), return_inverse=True)
    sizes: Array = np.bincount(place[there], minlength=len(values))
    numbers = _numbers(values[sizes > 0])
    named = any(isinstance(feature, Category) and by in (feature.name, feature.column) for feature in task.instance)
    many = np.count_nonzero(sizes) > MOST and not named
    if many and all(map(DATE.match, values[sizes > 0])):
        yield from _by_time(np.where(there, values[place], ""))
    elif many and numbers is not None:
        each = np.full(len(values), np.nan)
        each[sizes > 0] = numbers
        yield from _by_number(np.where(there, each[place], np.nan))
    else:
        order = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
        for value in order[:MOST]:
            yield str(values[value]), there & (place == value)
        if len(order) > MOST:
            yield OTHER, there & np.isin(place, order[MOST:])
    if not there.all():
        yield EMPTY_CELL, ~there


def _numbers(values: Array) -> Array | None:
    """Words as numbers; None if one of them is none."""
    try:
        numbers = values.astype(np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _by_time(words: Array) -> Iterator[tuple[str, Array]]:
    """Months in their order, or years where there would be too many; rows without a time have "".

    >>> [(name, rows.tolist()) for name, rows in _by_time(np.array(["2024-02-01", "", "2024-01-31 10:00:00"]))]
    [('2024-01', [False, False, True]), ('2024-02', [True, False, False])]
    """
    spans = words.astype("U7")
    if len(np.unique(spans[spans != ""])) > MOST:
        spans = words.astype("U4")
    for span in np.unique(spans[spans != ""]):
        yield str(span), spans == span


def _by_number(numbers: Array) -> Iterator[tuple[str, Array]]:
    """Quarters of equally many rows, from the least numbers to the greatest; equal numbers stay together.

    >>> [(name, rows.tolist()) for name, rows in _by_number(np.array([5.0, 1.0, np.nan, 1.0]))]
    [('1', [False, True, False, True]), ('5', [True, False, False, False])]
    """
    there = ~np.isnan(numbers)
    edges = np.unique(np.quantile(numbers[there], (0.25, 0.5, 0.75), method="lower"))
    quarter: Array = np.searchsorted(edges, numbers, side="left")
    for each in numbered(quarter[there])[0]:
        rows = there & (quarter == each)
        low, high = f"{numbers[rows].min():g}", f"{numbers[rows].max():g}"
        yield low if low == high else f"{low} to {high}", rows


def score_segments(task: Task, columns: dict[str, Array], said: Said, y: Array, compared: Compared) -> list[Segment]:
    """The scores by each of these columns [N], by what was said of the outcomes y [N] that count."""
    names = dict.fromkeys(name for name in compared if name is not None)
    losses = {name: log_loss(said[name], y) for name in names}
    parts = [(by, value, rows) for by, words in columns.items() for value, rows in parts_of(task, by, words)]

    def score(place: int) -> Segment:
        by, value, rows = parts[place]
        known = rows & (y >= 0)
        found = {name: _mean(own[known]) for name, own in losses.items()}
        if compared.ours is None or compared.direct is None:
            gain = UNKNOWN
        else:
            gain = _mean((losses[compared.direct] - losses[compared.ours])[known])
        varies = len(np.unique(y[known])) > 1  # of one outcome value there is next to no log loss to take percents of
        percent = percent_of(gain, found[compared.direct].mean) if compared.direct and varies else UNKNOWN
        return Segment(by, value, int(rows.sum()), int(known.sum()), found, gain, percent)

    return list(over_cores(score, range(len(parts))))


def _mean(values: Array) -> Interval:
    """The mean of the rows of a segment, in order of time, with its interval; NaN for too few."""
    return bootstrap_mean(values) if len(values) >= LEAST else UNKNOWN


def segment_tables(segments: Sequence[Segment], compared: Compared) -> Iterator[TextTable]:
    """For each column a head and its rows for the terminal and the page."""
    roles = _roles(compared)
    for by in dict.fromkeys(segment.by for segment in segments):
        head = [by, "predictions", "scored", *(f"{role}: log loss" for role in roles), "gain", "gain in %"]
        rows = [
            [
                segment.value,
                f"{segment.rows:,}",
                f"{segment.scored:,}",
                *(spread(segment.losses[name]) for name in roles.values()),
                spread(segment.gain),
                percent_spread(segment.percent),
            ]
            for segment in segments
            if segment.by == by
        ]
        yield head, rows


def percent_spread(percent: Interval) -> str:
    """A percentage with both ends of its interval; empty where there is none.

    >>> percent_spread(Interval(2.1, 1.4, 2.8))
    '2.1 (1.4 to 2.8)'
    """
    mean, low, high = (round(part, 1) + 0.0 for part in percent)  # 0.0 rather than -0.0
    return "" if np.isnan(mean) else f"{mean:.1f} ({low:.1f} to {high:.1f})"


def _roles(compared: Compared) -> dict[str, str]:
    """The forecasters that are scored, by what they are here."""
    roles = {"default": compared.default, "direct": compared.direct, "best": compared.best}
    return {role: name for role, name in roles.items() if name is not None}


def segment_columns(segments: Sequence[Segment], compared: Compared) -> Columns:
    """A row for each segment, each interval in three columns."""
    rows = []
    for segment in segments:
        row: dict[str, Any] = {"by": segment.by, "value": segment.value}
        row |= {"rows": segment.rows, "outcomes": segment.scored}
        told = {f"{role}_log_loss": segment.losses[name] for role, name in _roles(compared).items()}
        for name, interval in (told | {"gain": segment.gain, "gain_percent": segment.percent}).items():
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), interval, strict=True))
        rows.append(row)
    return columns_of(rows, words={"by", "value"}) if rows else {}


def segments_json(segments: Sequence[Segment], compared: Compared) -> dict[str, list[dict[str, Any]]]:
    """The segments of each column as JSON values."""
    found: dict[str, list[dict[str, Any]]] = {segment.by: [] for segment in segments}
    for segment in segments:
        told = {role: {"forecaster": name, **segment.losses[name]._asdict()} for role, name in _roles(compared).items()}
        pair = {"forecaster": compared.ours, "against": compared.direct}
        plain = {
            "value": segment.value,
            "rows": segment.rows,
            "outcomes": segment.scored,
            **told,
            "gain": pair | segment.gain._asdict(),
            "gain_percent": segment.percent._asdict(),
        }
        found[segment.by].append(plain_json(plain))
    return found
