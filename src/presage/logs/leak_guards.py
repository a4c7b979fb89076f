"""Warnings of what a log may give away: features that know what became known only after the prediction.

They are judged on a sample, always the same one, by rules that honest logs keep: see docs/pitfalls.md.
"""

from collections.abc import Iterator
from typing import NamedTuple

import duckdb
import numpy as np

from presage.logs.columns import LATEST, feature_name
from presage.logs.leak_evidence import Determined, Told, binned, delay_scores, ordered, told
from presage.logs.signals import Fate
from presage.spaces import Array
from presage.task.features import Category, Count, Feature, Number, SetFeature, Timestamp
from presage.task.signals import Signal
from presage.task.task import Task


class LogWarning(NamedTuple):
    """Something about a log that its user should look at before believing a score."""

    kind: str  # in a few words with hyphens, such as "tells-the-outcome"
    column: str  # of the log, or the signal of the task
    text: str  # one sentence: what is wrong, and what to do
    evidence: dict[str, float | int | str]  # the figures behind it


SAMPLE = 100_000
"""Rows that are looked at; a longer log is thinned to about as many, always the same ones."""

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

AFTER = 0.01
"""A share of times after the prediction that is no mere difference of clocks."""

LIKE_AN_ID = 0.5
"""Different values per row from which on a category looks like an id."""

DAY = 86_400_000_000
YEARS = 30 * 366 * DAY
NO_TIME = float("nan")


class LogSample(NamedTuple):
    """The rows that are looked at, in the order of time."""

    connection: duckdb.DuckDBPyConnection  # in which they stand under `looked`
    shown_at: Array  # int64 [N]: microseconds
    symbols: tuple[Array, ...]  # by signal, [N]: -1 where not known
    delay: Array  # int64 [N]: of the outcome
    fate: Array  # [N]: of the outcome
    ripe: Array  # bool [N]: shown long enough before the end of the log


def leak_warnings(connection: duckdb.DuckDBPyConnection, task: Task) -> Iterator[LogWarning]:
    """What the features of a log, joined and settled in the database, give away."""
    sample = _sample(connection, task)
    for place, feature in enumerate(task.instance):
        yield from _feature_warnings(sample, task, place, feature)
    connection.execute("DROP TABLE looked")


def _sample(connection: duckdb.DuckDBPyConnection, task: Task) -> LogSample:
    last = len(task.signals) - 1
    rows = int(connection.execute("SELECT count(*) FROM joined").fetchall()[0][0])
    # The same rows whatever machine reads the log: neither the first ones nor every tenth, as many logs have a rhythm.
    thin = f'("row" * 2654435761) % 4294967296 < {int(2**32 * min(1.0, SAMPLE / max(rows, 1)))}'
    columns = ", ".join(
        [
            *(feature_name(place) for place in range(len(task.instance))),
            *(f"s{n}" for n in range(last + 1)),
            f"k{last} - shown_at AS delay, w{last} AS fate",
        ]
    )
    there = f"shown_at IS NOT NULL AND w{last} <> {Fate.EARLY}"
    query = f'SELECT "row", shown_at, {columns} FROM joined WHERE {there} AND {thin} ORDER BY shown_at, "row"'
    connection.execute(f"CREATE TEMP TABLE looked AS {query}")
    signals = ", ".join(f"s{n}" for n in range(last + 1))
    found = connection.execute(f"SELECT shown_at, {signals}, delay, fate FROM looked").fetchnumpy()
    fate, shown_at = np.asarray(found["fate"]), np.asarray(found["shown_at"])
    pending = shown_at[fate == Fate.OPEN]
    ripe = shown_at < pending.min() if len(pending) else np.ones(len(fate), bool)
    symbols = tuple(np.asarray(found[f"s{n}"]) for n in range(last + 1))
    return LogSample(connection, shown_at, symbols, np.asarray(found["delay"]), fate, ripe)


def _feature_warnings(sample: LogSample, task: Task, place: int, feature: Feature) -> Iterator[LogWarning]:
    """The warnings of one feature; those that follow from the first are left out."""
    name = feature_name(place)
    codes = _column(sample, f"hash({name})::UBIGINT")
    numbers = _numbers(sample, name, feature)
    late = _times_after(sample, task, feature, name, numbers)
    if late:
        yield late
        return
    gaps = _column(sample, f"len({name}) = 0" if isinstance(feature, SetFeature) else f"{name} IS NULL")
    found = list(_by_gaps(sample, task, feature, gaps))
    for signal, symbols in ((task.outcome, sample.symbols[-1]), *zip(task.proxies, sample.symbols, strict=False)):
        if not found:
            views = [codes] if numbers is None else [codes, binned(numbers)]
            found += list(_told_signal(task, feature, signal, symbols, views))
    if not found and len(np.unique(codes)) > LIKE_AN_ID * len(codes):
        found += list(_by_parts(sample, task, feature, name, numbers))
    if not found and isinstance(feature, SetFeature):
        found += list(_by_member(sample, task, feature, name))
    if not found and not getattr(feature, "identity", False):
        found += list(_told_delay(sample, task, feature, codes, numbers))
    yield from found[:1]


def _column(sample: LogSample, value: str) -> Array:
    found = sample.connection.execute(f"SELECT {value} AS v FROM looked").fetchnumpy()["v"]
    return np.ma.filled(found, 0) if isinstance(found, np.ma.MaskedArray) else np.asarray(found)


def _numbers(sample: LogSample, name: str, feature: Feature) -> Array | None:
    if not isinstance(feature, Number | Count | Timestamp):
        return None
    return _column(sample, f"coalesce({name}::DOUBLE, 'nan'::DOUBLE)")


def _told_signal(
    task: Task, feature: Feature, signal: Signal, symbols: Array, views: list[Array]
) -> Iterator[LogWarning]:
    """At most one warning, of a feature that knows a signal: by its values as they are, or as bins of numbers."""
    known = symbols >= 0
    for codes in views:
        found = told(codes[known], symbols[known], len(signal.values))
        if found is None:
            continue
        kind = "tells-the-outcome" if signal is task.outcome else "tells-the-proxy"
        enough = TELLS if signal is task.outcome else TELLS_DELAY
        remedy = "leave it out unless it was known when the prediction was made"
        if found.explained >= enough:
            part = f"{found.explained:.0%}"
            text = f"{feature.column} nearly determines {signal.name}: it explains {part} of its entropy in rows held "
            yield LogWarning(kind, feature.column, f"{text}out from the fit; {remedy}", _evidence(found))
            return
        sure = _sure(found) if signal is task.outcome else None
        if sure:
            text = f"{feature.column} has values that come with {signal.name} {signal.values[sure.label]!r} only"
            yield LogWarning(
                kind, feature.column, f"{text}, in {_of(sure)} of them held out; {remedy}", _evidence(found, sure)
            )
            return


def _sure(found: Told, least: float = PARTLY) -> Determined | None:
    """The label that some values say wholly: all of its rows or, without any exception, a good part of them."""
    for one in found.by_label:
        same = one.precision >= WHOLLY and one.recall >= COVERED and one.base <= COVERED
        part = one.precision >= NO_EXCEPTION and one.recall >= least and one.base <= 0.5 and one.rows >= FEW
        if same or part:
            return one
    return None


def _of(one: Determined) -> str:
    return f"{round(one.precision * one.rows):,} of the {one.rows:,} rows"


def _evidence(found: Told, one: Determined | None = None) -> dict[str, float | int | str]:
    figures: dict[str, float | int | str] = {"explained": round(found.explained, 4), "rows": found.rows}
    if one:
        figures |= {"rows_with_value": one.rows, "precision": round(one.precision, 4), "recall": round(one.recall, 4)}
    return figures


def _by_gaps(sample: LogSample, task: Task, feature: Feature, gaps: Array) -> Iterator[LogWarning]:
    """At most one warning, of a column that is filled where the outcome is of one kind, or is known at all."""
    if gaps.all() or not gaps.any():
        return
    outcome, ripe = sample.symbols[-1], sample.ripe
    known = outcome >= 0
    for which, labels, size in ((known, outcome, len(task.outcome.values)), (ripe, known.astype(int), 2)):
        found = told(gaps[which], labels[which], size)
        sure = _sure(found) if found else None
        if found is None or (found.explained < TELLS_BY_GAPS and sure is None):
            continue
        if size == 2 and labels is not outcome:
            shares = [float((~gaps[which])[labels[which] == k].mean()) for k in (0, 1)]
            when = f"in {shares[1]:.0%} of the rows whose outcome is known and in {shares[0]:.0%} of the others"
        else:
            filled = [float((~gaps[which])[labels[which] == k].mean()) for k in range(size) if (labels == k).any()]
            names = [value for k, value in enumerate(task.outcome.values) if (labels[which] == k).any()]
            most, least = int(np.argmax(filled)), int(np.argmin(filled))
            when = (
                f"in {filled[most]:.0%} of the rows with outcome {names[most]!r} and in {filled[least]:.0%} of those "
                f"with {names[least]!r}"
            )
        text = f"{feature.column} is filled {when}: leave it out unless it was filled before the prediction"
        yield LogWarning("filled-with-the-outcome", feature.column, text, _evidence(found, sure))
        return


def _times_after(
    sample: LogSample, task: Task, feature: Feature, name: str, numbers: Array | None
) -> LogWarning | None:
    """The warning of times later than the prediction, where a column holds times, written as times or as numbers."""
    if feature.column == task.log.shown_at:
        return None
    if isinstance(feature, Timestamp) and numbers is not None:
        times = numbers
    elif isinstance(feature, Category):
        parsed = f"CASE WHEN isfinite(try_cast({name} AS TIMESTAMPTZ)) THEN try_cast({name} AS TIMESTAMPTZ) END"
        some = f"SELECT {name} FROM looked WHERE {name} IS NOT NULL LIMIT 1000"
        written = sample.connection.execute(f"SELECT count({parsed}) >= 0.95 * count(*) FROM ({some})").fetchall()
        if not written[0][0]:
            return None
        times = _column(sample, f"coalesce(epoch_us({parsed})::DOUBLE, 'nan'::DOUBLE)")
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
        f"{feature.column} holds times after {task.log.shown_at} in {after.mean():.0%} of its rows: leave it out "
        "unless it is a plan that was known at the prediction"
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


def _by_parts(
    sample: LogSample, task: Task, feature: Feature, name: str, numbers: Array | None
) -> Iterator[LogWarning]:
    """At most one warning, of an id in which the outcome is written, or that was given out by outcome."""
    if not isinstance(feature, Category | Number | Count):
        return
    word = name if isinstance(feature, Category) else f"try_cast({name} AS BIGINT)::VARCHAR"
    known = sample.symbols[-1] >= 0
    labels = sample.symbols[-1][known]
    views = {what: _column(sample, f"hash({part.format(word)})::UBIGINT") for what, part in PARTS.items()}
    if numbers is None:
        digits = f"try_cast(right(regexp_replace({name}, '[^0-9]', '', 'g'), 15) AS DOUBLE)"
        numbers = _column(sample, f"coalesce({digits}, 'nan'::DOUBLE)")
    views["its order within a day"] = _order_within(numbers, sample.shown_at // DAY)
    for what, codes in views.items():
        found = told(codes[known], labels, len(task.outcome.values))
        if found and (found.explained >= TELLS_BY_GAPS or _sure(found)):
            text = (
                f"{feature.column} looks like an id, and {what} explains {max(found.explained, 0):.0%} of the "
                "outcome's entropy in rows held out from the fit: leave it out"
            )
            yield LogWarning("id-tells-the-outcome", feature.column, text, _evidence(found) | {"part": what})
            return


def _order_within(numbers: Array, days: Array) -> Array:
    """In which tenth of its day's rows, ordered by the number, each row is."""
    order = np.lexsort((numbers, days))
    _, first, size = np.unique(days[order], return_index=True, return_counts=True)
    rank = np.empty(len(numbers), np.int64)
    rank[order] = (np.arange(len(numbers)) - np.repeat(first, size)) * 10 // np.repeat(size, size)
    return rank


def _by_member(sample: LogSample, task: Task, feature: Feature, name: str) -> Iterator[LogWarning]:
    """At most one warning, of a set of which one member knows the outcome."""
    members = f"SELECT unnest({name}) AS m FROM looked"
    common = f"SELECT m FROM ({members}) GROUP BY m ORDER BY count(*) DESC, m LIMIT 20"
    for (member,) in sample.connection.execute(common).fetchall():
        text = "'" + str(member).replace("'", "''") + "'"
        codes = _column(sample, f"list_contains({name}, {text})")
        for found in _told_signal(task, feature, task.outcome, sample.symbols[-1], [codes]):
            said = found.text.replace(feature.column, f"{member!r} in {feature.column}", 1)
            yield found._replace(text=said, evidence=found.evidence | {"member": str(member)})
            return


def _told_delay(
    sample: LogSample, task: Task, feature: Feature, codes: Array, numbers: Array | None
) -> Iterator[LogWarning]:
    """At most one warning, of a feature that knows whether an outcome came, or how soon among those of its value.

    Delays are compared within blocks of time and among rows with the same outcome, so that neither drift nor an honest
    sign of an outcome that is known sooner is accused.
    """
    outcome = sample.symbols[-1]
    remedy = "leave it out unless it was known at the prediction"
    found = told(codes[sample.ripe], (outcome >= 0)[sample.ripe].astype(int), 2)
    if found and (found.explained >= TELLS or _sure(found, 1.0)):
        text = (
            f"{feature.column} tells whether the outcome came at all ({found.explained:.0%} of the entropy); {remedy}"
        )
        yield LogWarning("knows-the-delay", feature.column, text, _evidence(found))
        return
    came = sample.ripe & (sample.fate == Fate.KNOWN)
    blocks = min(max(len(outcome) // 200, 1), 20)
    groups = (np.arange(len(outcome)) * blocks // max(len(outcome), 1)) * len(task.outcome.values) + outcome
    delay, groups = sample.delay[came], groups[came]
    views = [delay_scores(codes[came] ^ outcome[came].astype(np.uint64), delay, groups)]
    for scores in views if numbers is None else [numbers[came], -numbers[came], *views]:
        how = ordered(scores, delay, groups)
        if how.pairs >= FEW and how.differing >= APART and how.concordance >= ORDERED:
            text = (
                f"{feature.column} orders the delays of the outcome: of two rows with the same outcome the same one is "
                f"known sooner in {how.concordance:.0%} of the cases; {remedy}"
            )
            figures = {"concordance": round(how.concordance, 4), "pairs": how.pairs}
            yield LogWarning("knows-the-delay", feature.column, text, {**figures})
            return
