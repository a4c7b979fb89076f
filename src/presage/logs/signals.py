"""SQL that settles every signal of every prediction: its symbol, when it became known, and what happened to it.

Written once, in DuckDB's dialect and in whole numbers, so that any engine gives the same table.
"""

from enum import IntEnum

import numpy as np

from presage.logs.columns import WantedColumn
from presage.logs.tables import sql_text
from presage.task.signals import Labelled, Signal
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


def labelled_predictions(task: Task, wanted: tuple[WantedColumn, ...], until: int) -> str:
    """SQL for the predictions of a log with one row each, out of the relation `predictions`.

    Where a value is not among those declared, o<n> holds it.
    """
    columns = ('"row"', *(one.name for one in wanted if not one.name.startswith(("v", "t"))))
    signals = [f"{_symbol(one, n)} AS v{n}, {_odd(one, n)} AS o{n}, t{n}" for n, one in enumerate(task.signals)]
    odd = tuple(f"o{n}" for n in range(len(task.signals)))
    inner = f"SELECT {', '.join((*columns, *signals))} FROM predictions"
    return settled_signals(task, f"({inner})", (*columns, *odd), until)


def _symbol(signal: Signal, n: int) -> str:
    """The symbol of a label, NULL where there is none."""
    assert isinstance(signal.source, Labelled)
    cases = " ".join(f"WHEN v{n} = {sql_text(value)} THEN {symbol}" for symbol, value in enumerate(signal.values))
    return f"CASE {cases} WHEN v{n} IS NOT NULL THEN {OUTSIDE_SYMBOL} END"


def _odd(signal: Signal, n: int) -> str:
    return f"CASE WHEN v{n} NOT IN ({', '.join(sql_text(value) for value in signal.values)}) THEN v{n} END"


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
