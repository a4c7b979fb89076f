"""How late each signal of a log becomes known, and warnings of delays that make no sense."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import duckdb
import numpy as np

from presage.logs.guards.leak_evidence import percent
from presage.logs.guards.leak_guards import LogWarning
from presage.logs.signals import Fate
from presage.task.signals import HappenedAt, Labelled, Signal
from presage.task.spans import in_words
from presage.task.task import Task

AT_ONCE = 0.05
"""A share of signals known at the moment of the prediction that deserves a warning, where times are fine."""

MOSTLY = 0.5

UNDATED = 0.05
"""A share of rows with a value but no time for it that deserves a warning, where all others have the same value."""

FEW = 20
SURELY = 5
"""Standard deviations by which successes must have become rarer for chance to be no reason."""

DAY = 86_400_000_000


class SignalDelays(NamedTuple):
    """What became of one signal in the rows that were kept, and how long it took where it came."""

    name: str
    rows: int
    known: int  # came within the horizon
    at_once: int  # of those, known at the moment of the prediction
    absent: int  # nothing by the horizon, which is a value
    open: int  # the log ends before the horizon
    censored: int  # nothing, too late, or a value without a time
    quartiles: tuple[int, int, int]  # of the delays of those that came, in microseconds
    in_rows: bool = False  # a log without times: delays are numbers of rows

    def words(self) -> str:
        """The delays in words, and the shares of what did not come.

        >>> SignalDelays("outcome", 100, 80, 0, 10, 0, 10, (DAY, 2 * DAY, 7 * DAY)).words()
        'a quarter known within 1 day, half within 2 days, three quarters within 7 days; 10 % absent, 10 % censored'
        """
        low, middle, high = (in_words(one, self.in_rows) for one in self.quartiles)
        said = f"a quarter known within {low}, half within {middle}, three quarters within {high}"
        if low == high:
            said = f"known after {middle}"
        shares = {
            "known at once": self.at_once,
            "absent": self.absent,
            "censored": self.censored,
            "not yet known at the end of the log": self.open,
        }
        rest = ", ".join(f"{percent(count / max(self.rows, 1))} {what}" for what, count in shares.items() if count)
        return f"{said}; {rest}" if rest else said

    def figures(self) -> dict[str, int | list[float]]:
        """The same as numbers, delays in seconds."""
        return {
            "rows": self.rows,
            "known": self.known,
            "known_at_once": self.at_once,
            "absent": self.absent,
            "censored": self.censored,
            "open": self.open,
            "quartiles_rows" if self.in_rows else "quartiles_seconds": [one / 1_000_000 for one in self.quartiles],
        }


def signal_delays(connection: duckdb.DuckDBPyConnection, task: Task) -> tuple[SignalDelays, ...]:
    """The delays of the proxies, then of the outcome, in the rows that were kept."""
    return tuple(_delays(connection, signal, n)._replace(in_rows=task.in_rows) for n, signal in enumerate(task.signals))


def _delays(connection: duckdb.DuckDBPyConnection, signal: Signal, n: int) -> SignalDelays:
    came = f"w{n} = {Fate.KNOWN}"
    delay = f"quantile_disc(k{n} - shown_at, [0.25, 0.5, 0.75]) FILTER ({came})"
    counted = f"SELECT count(*), count(*) FILTER ({came} AND k{n} = shown_at), {delay} FROM kept"
    rows, at_once, quartiles = connection.execute(counted).fetchall()[0]
    fates: dict[int, int] = dict(connection.execute(f"SELECT w{n}, count(*) FROM kept GROUP BY 1").fetchall())
    missed = fates.get(Fate.LATE, 0)
    unknown = fates.get(Fate.SILENT, 0) + fates.get(Fate.UNDATED, 0)
    absent = fates.get(Fate.ABSENT, 0) + (missed if signal.absent is not None else 0)
    censored = unknown + (missed if signal.absent is None else 0)
    low, middle, high = (int(one) for one in quartiles or (0, 0, 0))
    known = fates.get(Fate.KNOWN, 0)
    return SignalDelays(
        signal.name, rows, known, at_once, absent, fates.get(Fate.OPEN, 0), censored, (low, middle, high)
    )


def delay_warnings(
    connection: duckdb.DuckDBPyConnection, task: Task, delays: Sequence[SignalDelays]
) -> Iterator[LogWarning]:
    """Signals known in the moment of the prediction, and proxies that come no sooner than their outcome."""
    coarse = connection.execute(f"SELECT bool_and(shown_at % {DAY} = 0) FROM kept").fetchall()[0][0]
    for signal, found in zip(task.signals, delays, strict=True):
        if found.at_once > (MOSTLY if coarse else AT_ONCE) * max(found.known, 1):
            part = percent(found.at_once / max(found.known, 1))
            yield LogWarning(
                "known-at-once",
                signal.columns.get("known_at", signal.columns.get("happened_at", signal.name)),
                f"Of the {signal.name} values that came, {part} are known at the moment of the prediction: give "
                "the time at which each became known, not that of the prediction.",
                {"share": round(found.at_once / found.known, 4), "rows": found.at_once},
            )
    for n, signal in enumerate(task.signals):
        yield from _lost_values(connection, signal, n)
        if not task.in_rows and task.log.until is None:
            yield from _times_ahead(connection, signal, n)
    yield from _useless_proxies(connection, task)


def _lost_values(connection: duckdb.DuckDBPyConnection, signal: Signal, n: int) -> Iterator[LogWarning]:
    """A time that only one of the values has, or few of the rows: it is rather a time of success."""
    source = signal.source
    if not isinstance(source, Labelled) or not source.known_at or source.position:
        return
    asked = f"count(*), count(*) FILTER (w{n} = {Fate.UNDATED}), count(DISTINCT s{n}) FILTER (w{n} = {Fate.KNOWN})"
    rows, undated, different, one = connection.execute(
        f"SELECT {asked}, max(s{n}) FILTER (w{n} = {Fate.KNOWN}) FROM kept"
    ).fetchall()[0]
    remedy = f'write happened_at = "{source.known_at}" instead of column and known_at'
    figures: dict[str, float | int | str] = {"share": round(undated / max(rows, 1), 4), "rows": undated}
    if different == 1 and undated > UNDATED * rows:
        text = f"Of its values only {signal.values[one]!r} ever becomes known, the others have no {source.known_at}"
        yield LogWarning(
            "one-value-known", source.column, f"{text}: {remedy}.", figures | {"value": signal.values[one]}
        )
    elif undated > MOSTLY * rows:
        text = (
            f"In {percent(undated / rows)} of the rows it has a value but no {source.known_at}, and they are censored"
        )
        yield LogWarning("mostly-undated", source.column, f"{text}: if that is a time of success {remedy}.", figures)


def _times_ahead(connection: duckdb.DuckDBPyConnection, signal: Signal, n: int) -> Iterator[LogWarning]:
    """Times of success later than the last row, though the newest rows have far fewer of them: they were planned."""
    source, horizon = signal.source, signal.horizon.microseconds
    if not isinstance(source, HappenedAt) or source.as_it_happens:
        return
    new = f"shown_at > (SELECT max(shown_at) FROM kept) - {horizon // 2}"
    asked = ", ".join(
        f"count(*) FILTER ({which}), count(*) FILTER ({which} AND s{n} = 1)" for which in (new, f"NOT ({new})")
    )
    query = f"SELECT max(shown_at), {asked} FROM kept WHERE s{n} >= 0"
    last, newest, came, older, before = connection.execute(query).fetchall()[0]
    usual = before / max(older, 1)
    missing = usual * newest - came
    if newest >= FEW and came < usual * newest / 2 and missing > SURELY * (usual * (1 - usual) * newest) ** 0.5:
        until = str(np.datetime64(last, "us"))[:19]
        text = (
            f"It holds times after the last row, but of the newest rows {percent(came / newest)} succeed within "
            f"{signal.horizon}, of the older ones {percent(usual)}: if those times are planned or booked, and the log "
            f'ends with its rows, write [log] until = "{until}Z".'
        )
        figures: dict[str, float | int | str] = {
            "newest": newest,
            "share": round(came / newest, 4),
            "usual": round(usual, 4),
        }
        yield LogWarning("times-ahead", source.column, text, figures)


def _useless_proxies(connection: duckdb.DuckDBPyConnection, task: Task) -> Iterator[LogWarning]:
    last = len(task.signals) - 1
    for n, proxy in enumerate(task.proxies):
        both = f"s{n} >= 0 AND s{last} >= 0"
        query = f"SELECT count(*), count(*) FILTER (k{n} >= k{last}) FROM kept WHERE {both}"
        rows, after = connection.execute(query).fetchall()[0]
        if rows and after > MOSTLY * rows:
            yield LogWarning(
                "proxy-after-the-outcome",
                proxy.columns.get("known_at", proxy.columns.get("happened_at", proxy.name)),
                f"In {percent(after / rows)} of the rows {proxy.name} becomes known no sooner than the outcome: "
                "choose an earlier sign, or correct its time.",
                {"share": round(after / rows, 4), "rows": after},
            )
        if proxy.horizon.microseconds >= task.outcome.horizon.microseconds:
            yield LogWarning(
                "proxy-horizon",
                proxy.name,
                f"Its horizon of {proxy.horizon} is not shorter than the outcome's of {task.outcome.horizon}: give a "
                "proxy a shorter one, for it must come early to be of use.",
                {"proxy": str(proxy.horizon), "outcome": str(task.outcome.horizon)},
            )
