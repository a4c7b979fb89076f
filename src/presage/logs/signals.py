"""SQL that settles every signal of every prediction: its symbol, when it became known, and what happened to it.

Written once, in DuckDB's dialect and in whole numbers, so that any engine gives the same table.
"""

from enum import IntEnum

import numpy as np

from presage.logs.columns import WantedColumn
from presage.logs.tables import sql_text
from presage.task.edges import NumberCuts
from presage.task.signals import HappenedAt, Labelled, Signal
from presage.task.spans import ROW
from presage.task.task import Task

NEVER_AT = int(np.iinfo(np.int64).max)
"""The moment of what never becomes known, in microseconds: later than any other."""

OUTSIDE_SYMBOL = -2


class Fate(IntEnum):
    """What happened to a signal."""

    KNOWN = 0
    ABSENT = 1  # nothing by the horizon, which is a value
    SILENT = 2  # nothing by the horizon: censored
    OPEN = 3  # nothing yet, and the log ends before the horizon: censored
    LATE = 4  # came after the horizon: as if it had not come
    UNDATED = 5  # a value, but not when it became known: censored
    EARLY = 6  # known before the prediction
    OUTSIDE = 7  # not among the values


def settled_signals(task: Task, source: str, columns: tuple[str, ...], until: int) -> str:
    """SQL for predictions out of `source`, which has v<n> (a symbol, or NULL) and t<n> (a moment) for each signal.

    Gives the other columns and, for the n-th signal, s<n> (symbol, -1 where censored), k<n> (known at, in
    microseconds) and w<n> (a Fate).
    """
    fates = ", ".join(f"{_fate(signal, n, until)} AS w{n}" for n, signal in enumerate(task.signals))
    kept = ", ".join(columns)
    values = ", ".join(f"v{n}, t{n}" for n in range(len(task.signals)))
    settled = ", ".join(_settled(signal, n) for n, signal in enumerate(task.signals))
    inner = f"SELECT {kept}, {values}, {fates} FROM {source} AS given"
    return f"SELECT {kept}, {settled} FROM ({inner}) AS fated"


def prediction_rows(task: Task) -> str:
    """SQL for the relation of a log with one row per prediction; without times, its rows are the moments."""
    return f'(SELECT *, "row" * {ROW} AS shown_at FROM predictions) AS numbered' if task.in_rows else "predictions"


def labelled_predictions(task: Task, wanted: tuple[WantedColumn, ...], until: int) -> str:
    """SQL for the predictions of a log with one row each, out of the relation `predictions`.

    Where a value is not among those declared, or is no number or time where one belongs, o<n> holds it.
    """
    places = range(len(task.signals))
    ours = {f"{letter}{n}" for letter in "vtg" for n in places} | {"shown_at"}
    columns = ('"row"', "shown_at", *(one.name for one in wanted if one.name not in ours))
    signals = [_happened(signal, n, until) if isinstance(signal.source, HappenedAt) else _labelled(signal, n, until)
               for n, signal in enumerate(task.signals)]  # fmt: skip
    inner = f"SELECT {', '.join((*columns, *signals))} FROM {prediction_rows(task)}"
    return settled_signals(task, f"({inner})", (*columns, *(f"o{n}" for n in places)), until)


def _labelled(signal: Signal, n: int, until: int) -> str:
    """The symbol of a label or number, NULL where there is none; what is neither; and the moment it became known."""
    source = signal.source
    assert isinstance(source, Labelled)
    symbol = _symbol(signal, n) if source.cuts is None else _cut(source.cuts, n)
    odd = _odd_label(signal, n) if source.cuts is None else _odd_number(n)
    if source.known_at:
        return f"{symbol} AS v{n}, {odd} AS o{n}, t{n}"
    by = f"shown_at + {signal.horizon.microseconds}"
    return f"CASE WHEN {by} <= {until} THEN {symbol} END AS v{n}, {odd} AS o{n}, {by} AS t{n}"


def _happened(signal: Signal, n: int, until: int) -> str:
    """The same of a signal of which the log has only the times of successes: without one it is NULL."""
    assert isinstance(signal.source, HappenedAt)
    odd = f"CASE WHEN t{n} IS NULL AND trim(g{n}) <> '' THEN g{n} END AS o{n}"
    by = f"shown_at + {signal.horizon.microseconds}"
    happens = signal.source.as_it_happens
    known = f"{by} <= {until} OR t{n} < shown_at" + (f" OR t{n} <= {by}" if happens else "")
    symbol = f"CASE WHEN t{n} IS NOT NULL AND ({known}) THEN 1 END"
    moment = f"t{n}" if happens else f"CASE WHEN t{n} >= shown_at AND t{n} <= {by} THEN {by} ELSE t{n} END"
    return f"{symbol} AS v{n}, {odd}, {moment} AS t{n}"


def _symbol(signal: Signal, n: int) -> str:
    """The symbol of a label, NULL where there is none."""
    cases = " ".join(f"WHEN v{n} = {sql_text(value)} THEN {symbol}" for symbol, value in enumerate(signal.values))
    return f"CASE {cases} WHEN v{n} IS NOT NULL THEN {OUTSIDE_SYMBOL} END"


def _odd_label(signal: Signal, n: int) -> str:
    return f"CASE WHEN v{n} NOT IN ({', '.join(sql_text(value) for value in signal.values)}) THEN v{n} END"


def _cut(cuts: NumberCuts, n: int) -> str:
    """The symbol of a number: how many edges it reaches; NULL where there is none."""
    reached = " + ".join(f"CASE WHEN v{n} >= {edge!r} THEN 1 ELSE 0 END" for edge in cuts.edges)
    return f"CASE WHEN v{n} IS NOT NULL THEN {reached} END"


def _odd_number(n: int) -> str:
    listed = ", ".join(sql_text(word) for word in NO_NUMBERS)
    return f"CASE WHEN v{n} IS NULL AND lower(g{n}) NOT IN ({listed}) THEN g{n} END"


NO_NUMBERS = tuple(sign + word for word in ("nan", "inf", "infinity") for sign in ("", "-", "+"))
"""How numbers that are not finite are written: they count as missing."""


def _fate(signal: Signal, n: int, until: int) -> str:
    by = f"shown_at + {signal.horizon.microseconds}"
    nothing = Fate.SILENT if signal.absent is None else Fate.ABSENT
    if isinstance(signal.source, Labelled) and signal.source.position:  # a service decided what came in time
        return (
            f"CASE WHEN v{n} IS NULL AND p{n} IS NULL THEN {Fate.OPEN} WHEN v{n} IS NULL THEN {nothing} "
            f"WHEN v{n} = {OUTSIDE_SYMBOL} THEN {Fate.OUTSIDE} WHEN p{n} IS NULL OR t{n} IS NULL THEN {Fate.UNDATED} "
            f"WHEN t{n} < shown_at THEN {Fate.EARLY} ELSE {Fate.KNOWN} END"
        )
    return (
        f"CASE WHEN v{n} IS NULL AND {by} > {until} THEN {Fate.OPEN} WHEN v{n} IS NULL THEN {nothing} "
        f"WHEN v{n} = {OUTSIDE_SYMBOL} THEN {Fate.OUTSIDE} WHEN t{n} IS NULL THEN {Fate.UNDATED} "
        f"WHEN t{n} < shown_at THEN {Fate.EARLY} WHEN t{n} > {by} THEN {Fate.LATE} ELSE {Fate.KNOWN} END"
    )


def _settled(signal: Signal, n: int) -> str:
    missed, when = "-1", str(NEVER_AT)
    if signal.absent_symbol is not None:
        gone = f"w{n} = {Fate.ABSENT} OR w{n} = {Fate.LATE}"
        missed = f"CASE WHEN {gone} THEN {signal.absent_symbol} ELSE -1 END"
        when = f"CASE WHEN {gone} THEN shown_at + {signal.horizon.microseconds} ELSE {NEVER_AT} END"
    known = f"w{n} = {Fate.KNOWN}"
    return (
        f"CASE WHEN {known} THEN v{n} ELSE {missed} END AS s{n}, "
        f"CASE WHEN {known} THEN t{n} ELSE {when} END AS k{n}, w{n}"
    )
