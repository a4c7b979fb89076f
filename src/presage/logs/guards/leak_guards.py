"""Warnings of what a log may give away: features that know what became known only after the prediction.

They are judged on a sample, always the same one, by rules that honest logs keep: see docs/pitfalls.md.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import duckdb
import numpy as np

from presage.logs.columns import LATEST, feature_name
from presage.logs.guards.leak_evidence import (
    Determined,
    Told,
    binned,
    delay_scores,
    order_within,
    ordered,
    percent,
    told,
)
from presage.logs.guards.log_sample import LogSample, log_sample
from presage.logs.signals import Fate
from presage.logs.tables import sql_text
from presage.spaces import Array
from presage.task.features import MOST_SCALES, Category, Count, Feature, Number, SetFeature, Timestamp
from presage.task.signals import Signal
from presage.task.task import Task


class LogWarning(NamedTuple):
    """Something about a log that its user should look at before believing a score."""

    kind: str  # in a few words with hyphens, such as "tells-the-outcome"
    column: str  # of the log, or the signal of the task
    text: str  # one sentence: what is wrong, and what to do
    evidence: dict[str, float | int | str]  # the figures behind it

    @property
    def words(self) -> str:
        """The warning as one sentence that stands out.

        >>> LogWarning("tells-the-outcome", "state", "It gives the outcome away: leave it out.", {}).words
        'WARNING, column state: It gives the outcome away: leave it out.'
        """
        return f"WARNING, column {self.column}: {self.text}"

    def as_json(self) -> dict[str, Any]:
        """The warning as JSON values."""
        return {"kind": self.kind, "column": self.column, "text": self.text, "evidence": dict(self.evidence)}


TELLS = 0.6
"""A share of the outcome's entropy that no early sign of our real logs explains; the best one explains half."""

TELLS_BY_GAPS = 0.3
"""The same for whether a value is there at all."""

TELLS_DELAY = 0.9
"""The same for whether an outcome came early or late: a route may well tell how long its flights take."""

ORDERED = 0.97
"""Of pairs of rows, the share that a feature orders as their delays; the route of a flight reaches 0.9."""
APART = 0.05
"""The least share of pairs it must tell apart."""

WHOLLY = 0.98
"""Of the rows with some values, the share that has one outcome; and of the rows with that outcome ..."""
COVERED = 0.9
"""... the share that has these values: then the two say the same."""

NO_EXCEPTION = 0.999
"""Written after the outcome, a value has no exceptions; an honest one has, such as 1 in 200 deposits not refunded."""
PARTLY = 0.25
FEW = 100

REMEDY = "leave it out unless it was known when the prediction was made"

MEMBERS = 20
"""Of a set, the commonest members that are looked at one by one."""

AFTER = 0.01
"""A share of times after the prediction that is no mere difference of clocks."""

LIKE_AN_ID = 0.5
"""Different values per row from which on a category looks like an id."""

DAY = 86_400_000_000
YEARS = 30 * 366 * DAY
NO_TIME = float("nan")


def leak_warnings(connection: duckdb.DuckDBPyConnection, task: Task) -> Iterator[LogWarning]:
    """What the features of a log, joined and settled in the database, give away."""
    sample = log_sample(connection, task)
    for place, feature in enumerate(task.instance):
        found = _leak(sample, task, place, feature)
        if found:
            yield found
    connection.execute("DROP TABLE looked")


def _leak(sample: LogSample, task: Task, place: int, feature: Feature) -> LogWarning | None:
    """The first thing that a feature gives away; the others mostly follow from it."""
    name = feature_name(place)
    codes, numbers = sample.column(f"hash({name})::UBIGINT"), _numbers(sample, name, feature)
    views = [codes] if numbers is None else [codes, binned(numbers)]
    found = _times_after(sample, task, feature, name, numbers) or _by_gaps(sample, task, feature, name)
    for signal, symbols in ((task.outcome, sample.symbols[-1]), *zip(task.proxies, sample.symbols, strict=False)):
        found = found or _told_signal(task, feature, signal, symbols, views)
    if isinstance(feature, SetFeature):
        found = found or _by_member(sample, task, feature, name)
    elif len(np.unique(codes)) > LIKE_AN_ID * len(codes):
        found = found or _by_parts(sample, task, feature, name, numbers)
    if not getattr(feature, "identity", False):
        found = found or _whether_it_came(sample, feature, codes) or _how_soon(sample, task, feature, codes, numbers)
    return found


def _numbers(sample: LogSample, name: str, feature: Feature) -> Array | None:
    if not isinstance(feature, Number | Count | Timestamp):
        return None
    numbers = sample.column(f"coalesce({name}::DOUBLE, 'nan'::DOUBLE)")
    return np.clip(numbers, -MOST_SCALES, MOST_SCALES)  # so that products of them stay numbers


def _told_signal(task: Task, feature: Feature, signal: Signal, symbols: Array, views: list[Array]) -> LogWarning | None:
    """A feature that knows a signal, by its values as they are or as bins of numbers."""
    known, of_outcome = symbols >= 0, signal is task.outcome
    kind = "tells-the-outcome" if of_outcome else "tells-the-proxy"
    for codes in views:
        found = told(codes[known], symbols[known], len(signal.values))
        sure = _sure(found) if found and of_outcome else None
        if found and found.explained >= (TELLS if of_outcome else TELLS_DELAY):
            part = percent(found.explained)
            text = f"It explains {part} of the entropy of {signal.name} in rows held out from the fit"
        elif found and sure:
            hits = f"{round(sure.precision * sure.rows):,} of {sure.rows:,} rows held out from the fit"
            text = f"Some of its values come with {signal.name} {signal.values[sure.label]!r} only, in {hits}"
        else:
            continue
        return LogWarning(kind, feature.column, f"{text}: {REMEDY}.", _evidence(found, sure))
    return None


def _sure(found: Told, least: float = PARTLY) -> Determined | None:
    """The label that some values say wholly: all of its rows or, without any exception, a good part of them."""
    for one in found.by_label:
        same = one.precision >= WHOLLY and one.recall >= COVERED and one.base <= COVERED
        part = one.precision >= NO_EXCEPTION and one.recall >= least and one.base <= 0.5 and one.rows >= FEW
        if same or part:
            return one
    return None


def _evidence(found: Told, one: Determined | None = None) -> dict[str, float | int | str]:
    figures: dict[str, float | int | str] = {"explained": round(found.explained, 4), "rows": found.rows}
    if one:
        figures |= {"rows_with_value": one.rows, "precision": round(one.precision, 4), "recall": round(one.recall, 4)}
    return figures


def _by_gaps(sample: LogSample, task: Task, feature: Feature, name: str) -> LogWarning | None:
    """A column that is filled where the outcome is of one kind, or is known at all."""
    gaps = sample.column(f"len({name}) = 0" if isinstance(feature, SetFeature) else f"{name} IS NULL")
    if gaps.all() or not gaps.any():
        return None
    outcome, ripe = sample.symbols[-1], sample.ripe
    known = outcome >= 0
    kinds = [f"with outcome {value!r}" for value in task.outcome.values]
    whether = ["whose outcome never came", "whose outcome is known"]
    for which, labels, names in ((known, outcome, kinds), (ripe, known.astype(int), whether)):
        found = told(gaps[which], labels[which], len(names))
        sure = _sure(found) if found else None
        if found and (found.explained >= TELLS_BY_GAPS or sure):
            filled = [((~gaps[which])[labels[which] == k].mean(), names[k]) for k in np.unique(labels[which])]
            (most, there), (least, here) = max(filled), min(filled)
            text = f"It is filled in {percent(most)} of the rows {there} and in {percent(least)} of those {here}"
            return LogWarning("filled-with-the-outcome", feature.column, f"{text}: {REMEDY}.", _evidence(found, sure))
    return None


def _times_after(
    sample: LogSample, task: Task, feature: Feature, name: str, numbers: Array | None
) -> LogWarning | None:
    """The warning of times later than the prediction, where a column holds times, written as times or as numbers."""
    if task.in_rows or feature.column == task.log.shown_at:
        return None
    if isinstance(feature, Timestamp) and numbers is not None:
        times = numbers
    elif isinstance(feature, Category):
        parsed = f"CASE WHEN isfinite(try_cast({name} AS TIMESTAMPTZ)) THEN try_cast({name} AS TIMESTAMPTZ) END"
        some = f"SELECT {name} FROM looked WHERE {name} IS NOT NULL LIMIT 1000"
        written = sample.connection.execute(f"SELECT count({parsed}) >= 0.95 * count(*) FROM ({some})").fetchall()
        if not written[0][0]:
            return None
        times = sample.column(f"coalesce(epoch_us({parsed})::DOUBLE, 'nan'::DOUBLE)")
    elif numbers is not None:
        times = _seconds(sample, numbers)
    else:
        return None
    there = np.isfinite(times)
    step = DAY if (sample.shown_at % DAY == 0).all() else 1_000_000
    after = times[there] >= sample.shown_at[there] + step
    if not there.any() or after.mean() < AFTER:
        return None
    text = (
        f"It holds times after {task.log.shown_at} in {percent(after.mean())} of its rows: leave it out unless it is a "
        "plan that was known when the prediction was made."
    )
    figures: dict[str, float | int | str] = {"share": round(float(after.mean()), 4), "rows": int(after.sum())}
    return LogWarning("after-the-prediction", feature.column, text, figures)


def _seconds(sample: LogSample, numbers: Array) -> Array:
    """Numbers read as seconds or milliseconds since 1970, where all of them lie near the log; otherwise no times."""
    there = np.isfinite(numbers)
    if not there.any():
        return numbers
    first, last = int(sample.shown_at[0]), int(sample.shown_at[-1])
    for unit in (1_000_000, 1_000):
        times = numbers * unit
        if (np.abs(numbers[there]) > LATEST / 100).all() and (times[there] > first - YEARS).all():
            near = times[there] < last + YEARS
            if near.all():
                return times
    return np.full(len(numbers), NO_TIME)


PARTS = {
    "its last character": "right({}, 1)",
    "its last two characters": "right({}, 2)",
    "its first character": "left({}, 1)",
    "its first three characters": "left({}, 3)",
    "the part before its first separator": "regexp_extract({}, '^[A-Za-z0-9]+')",
    "the part after its last separator": "regexp_extract({}, '[A-Za-z0-9]+$')",
    "its length": "len({})::VARCHAR",
}


def _by_parts(sample: LogSample, task: Task, feature: Feature, name: str, numbers: Array | None) -> LogWarning | None:
    """An id in which the outcome is written, or that was given out by outcome."""
    if not isinstance(feature, Category | Number | Count):
        return None
    word = name if isinstance(feature, Category) else f"try_cast({name} AS BIGINT)::VARCHAR"
    known = sample.symbols[-1] >= 0
    labels = sample.symbols[-1][known]
    views = {what: sample.column(f"hash({part.format(word)})::UBIGINT") for what, part in PARTS.items()}
    if numbers is None:
        digits = f"try_cast(right(regexp_replace({name}, '[^0-9]', '', 'g'), 15) AS DOUBLE)"
        numbers = sample.column(f"coalesce({digits}, 'nan'::DOUBLE)")
    views["its order within a day"] = order_within(numbers, sample.shown_at // DAY)
    for what, codes in views.items():
        found = told(codes[known], labels, len(task.outcome.values))
        sure = _sure(found) if found else None
        if found and (found.explained >= TELLS_BY_GAPS or sure):
            text = (
                f"It looks like an id, and {what} explains {percent(max(found.explained, 0))} of the outcome's entropy "
                f"in rows held out from the fit: {REMEDY}."
            )
            return LogWarning("id-tells-the-outcome", feature.column, text, _evidence(found, sure) | {"part": what})
    return None


def _by_member(sample: LogSample, task: Task, feature: Feature, name: str) -> LogWarning | None:
    """A set of which one member knows the outcome."""
    members = f"SELECT unnest({name}) AS m FROM looked"
    common = f"SELECT m FROM ({members}) GROUP BY m ORDER BY count(*) DESC, m LIMIT {MEMBERS}"
    for (member,) in sample.connection.execute(common).fetchall():
        codes = sample.column(f"list_contains({name}, {sql_text(str(member))})")
        found = _told_signal(task, feature, task.outcome, sample.symbols[-1], [codes])
        if found:
            text = f"Of its members look at {member!r}. {found.text}"
            return found._replace(text=text, evidence=found.evidence | {"member": str(member)})
    return None


def _whether_it_came(sample: LogSample, feature: Feature, codes: Array) -> LogWarning | None:
    """A feature that knows whether an outcome came at all, of rows shown long enough ago."""
    found = told(codes[sample.ripe], (sample.symbols[-1] >= 0)[sample.ripe].astype(int), 2)
    sure = _sure(found, 1.0) if found else None
    if found and (found.explained >= TELLS or sure):
        text = f"It explains {percent(found.explained)} of the entropy of whether the outcome came at all"
        if sure and found.explained < TELLS:
            text = (
                f"Some of its values say whether the outcome came at all, in {sure.rows:,} rows held out from the fit"
            )
        return LogWarning("knows-the-delay", feature.column, f"{text}: {REMEDY}.", _evidence(found, sure))
    return None


def _how_soon(
    sample: LogSample, task: Task, feature: Feature, codes: Array, numbers: Array | None
) -> LogWarning | None:
    """A feature that knows how soon an outcome came.

    Delays are compared within blocks of time and among rows with the same outcome, so that neither drift nor an honest
    sign of an outcome that is known sooner is accused.
    """
    outcome = sample.symbols[-1]
    came = sample.ripe & (sample.fate == Fate.KNOWN)
    blocks = min(max(len(outcome) // 200, 1), 20)
    groups = (np.arange(len(outcome)) * blocks // max(len(outcome), 1)) * len(task.outcome.values) + outcome
    delay, groups = sample.delay[came], groups[came]
    views = [delay_scores(codes[came] ^ outcome[came].astype(np.uint64), delay, groups)]
    for scores in views if numbers is None else [numbers[came], -numbers[came], *views]:
        how = ordered(scores, delay, groups)
        if how.pairs >= FEW and how.differing >= APART and how.concordance >= ORDERED:
            text = (
                f"In {percent(how.concordance)} of the pairs of rows with the same outcome it says which was known "
                f"sooner: {REMEDY}."
            )
            figures: dict[str, float | int | str] = {"concordance": round(how.concordance, 4), "pairs": how.pairs}
            return LogWarning("knows-the-delay", feature.column, text, figures)
    return None
