"""Whether a log that was read out of core fits into memory once it is arrays."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from presage.errors import DataError, SettingError
from presage.logs.cleaning import Exclusions, check_values, clean_log, repeats
from presage.logs.columns import CELL, TIME, WantedColumn, wanted_events, wanted_moments, wanted_predictions
from presage.logs.csv_errors import one_line, reading_errors
from presage.logs.encoding import LearntVocabularies, fetch, fetch_instances, learn_vocabularies, order_rows
from presage.logs.engines import LogEngine, LogReading, engine_called, reading_of
from presage.logs.event_windows import check_kinds, unused_events, windowed_signals
from presage.logs.guards.leak_guards import LogWarning, leak_warnings
from presage.logs.guards.repeated_rows import repeated_id_warnings, repeated_row_warnings
from presage.logs.guards.signal_delays import SignalDelays, delay_warnings, signal_delays
from presage.logs.signals import labelled_predictions, prediction_rows
from presage.logs.tables import connected, sql_text
from presage.spaces import Array, Features, Instance
from presage.task.columns import EventColumns
from presage.task.spans import in_words
from presage.task.task import Task, Vocabulary

EXTRA = "extra"
"""Our name for a column that is read beside those of the task, before its number."""

GIB = 2**30
MEMINFO = Path("/proc/meminfo")


def free_memory(meminfo: Path = MEMINFO) -> int | None:
    """The bytes that a process can still get, or None where the system does not tell."""
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    kilobytes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(kilobytes[0]) * 1024 if kilobytes else None


def check_memory(name: str, rows: int, features: Features, signals: int) -> None:
    """Nothing, or the error that the arrays of so many rows would not fit into memory."""
    widest = 8  # one column of numbers is on its way while the others are there
    each = 8 + 8 + 4 * (features.slots + features.dense) + (4 + 8) * signals + widest
    free = free_memory()
    if free is not None and rows * each > free:
        wrong = f"{name} has too many rows for the memory of this machine"
        found = f"{rows:,} rows of {each} bytes make {rows * each / GIB:.1f} GiB, {free / GIB:.1f} GiB are free"
        raise DataError(wrong, found, "give a part of the log, such as fewer months, or a larger machine")


def join_log(
    task: Task,
    log: Any,
    engine: LogEngine,
    moments: Any = None,
    *,
    extra: Sequence[str] = (),
    whole: bool = True,
) -> tuple[str, dict[str, int]]:
    """What errors call the log, which now stands as `joined`; and how many events were of no use, by reason."""
    further = tuple(WantedColumn(f"{EXTRA}{n}", column, CELL, "--by") for n, column in enumerate(extra))
    if isinstance(task.log, EventColumns):
        return _join_events(task, task.log, log, engine, moments=moments, further=further, whole=whole)
    wanted = (*wanted_predictions(task), *further)
    name = engine.read("predictions", log, wanted)
    times = [f"max({one.name})" for one in wanted if one.kind is TIME and one.name[0] == "t"]
    last = f"greatest({', '.join(['max(shown_at)', *times])})" if times else "max(shown_at)"
    first, end, rows = engine.ask(f"SELECT min(shown_at), {last}, count(*) FROM {prediction_rows(task)}")
    until = _check_length(task, name, task.log.shown_at or "", (first, end, rows), whole)
    engine.join(labelled_predictions(task, wanted, until))
    return name, {}


def _join_events(
    task: Task,
    columns: EventColumns,
    log: Any,
    engine: LogEngine,
    *,
    moments: Any,
    further: tuple[WantedColumn, ...],
    whole: bool,
) -> tuple[str, dict[str, int]]:
    wanted = (*wanted_events(task, columns), *(() if columns.moments else further))
    name = engine.read("events", log, wanted)
    chosen = tuple(one for one in wanted if one.name not in ("at", "kind"))
    if columns.moments:
        chosen = (*wanted_moments(task, columns), *further)
        engine.read("moments", task.folder / columns.moments if moments is None else moments, chosen)
    first, end, rows = engine.ask('SELECT min("at"), max("at"), count(*) FROM events')
    until = _check_length(task, name, columns.at, (first, end, rows), whole)
    if whole:
        check_kinds(task, columns, name, engine)
    reasons = unused_events(task, columns)
    counts = engine.ask(f"SELECT {', '.join(reasons.values())} FROM events")
    engine.join(windowed_signals(task, columns, chosen, until))
    return name, {reason: count for reason, count in zip(reasons, counts, strict=True) if count}


def _check_length(
    task: Task, name: str, column: str, found: tuple[int | None, int | None, int | None], whole: bool
) -> int:
    """Until when the log is complete; refused if it is empty or, if whole, too short for the horizon of a signal."""
    first, end, rows = found
    if not rows:
        raise DataError(f"{name} holds no rows", 0, "write or export it again")
    if first is None or end is None:
        remedy = f"give {TIME.words}, or name another column in the task"
        raise DataError(f"no row of {name} has a valid {column}", f"{rows:,} rows", remedy)
    until = end if task.log.until is None else task.log.until
    if task.log.model or not whole:
        return until  # a service decided what came in time; the other parts of a log show the horizons
    longest = max(task.signals, key=lambda signal: signal.horizon.microseconds)
    if task.in_rows and longest.horizon.microseconds > until - first:
        wrong = f"the horizon of {task.path(longest)} is not shorter than {name}"
        lengths = f"{longest.horizon} in a log of {in_words(until, rows=True)}"
        raise DataError(wrong, lengths, "give a longer log or a shorter horizon")
    if longest.horizon.microseconds > until - first:
        wrong = f"the horizon of {task.path(longest)} is longer than {name}"
        remedy = "give a longer log or a shorter horizon"
        raise DataError(wrong, f"{longest.horizon} in a log of {in_words(max(until - first, 0))}", remedy)
    return until


MEMORY = "2GB"
"""What DuckDB may use before it goes to the disk."""


class SignalRows(NamedTuple):
    """One signal of every row."""

    name: str
    symbols: Array  # int32 [N]: -1 where censored
    known_at: Array  # int64 [N]: microseconds since 1970 UTC; NEVER_AT where censored
    position: Array | None = None  # int64 [N]: of a log that a service exported, that at which it became learnable


class LogRows(NamedTuple):
    """N predictions by shown_at; those of one instant in the order of their ids, or as they came."""

    id: Array  # [N]: whole numbers or words; the number of the row in the log where the task names no id
    shown_at: Array  # int64 [N]: microseconds since 1970 UTC
    instances: Instance  # symbols [N, S], the identity first; dense [N, F]
    proxies: tuple[SignalRows, ...]
    outcome: SignalRows
    group: Array | None  # int64 [N]: which predictions compete with each other
    features: Features
    vocabularies: dict[str, Vocabulary]  # by feature
    models: Array | None = None  # int64 [N]: of a log that a service exported, the position its model had learnt up to
    json: Array | None = None  # text [N]: the features as a JSON object by name, where they were asked for
    extra: dict[str, Array] | None = None  # text [N] or None, by column of the log: those asked for beside the task's
    warnings: tuple[LogWarning, ...] = ()  # what to look at before believing a score
    delays: tuple[SignalDelays, ...] = ()  # of the proxies, then of the outcome

    def proxy(self, name: str | None = None) -> SignalRows:
        """A candidate by name; the first where no name is given."""
        for proxy in self.proxies:
            if name in (None, proxy.name):
                return proxy
        names = ", ".join(proxy.name for proxy in self.proxies)
        raise DataError("the log was read without this proxy", name, f"choose one of {names}")


def read_log(
    task: Task,
    log: Any,
    *,
    engine: str = "duckdb",
    moments: Any = None,
    memory: str = MEMORY,
    session: Any = None,
    raw: bool = False,
    extra: Sequence[str] = (),
    skip_bad_lines: bool = False,
    earlier: LearntVocabularies | None = None,
) -> tuple[LogRows, Exclusions]:
    """The rows of a log, and what was left out of it or stayed unknown.

    Args:
        task: Says which columns are what.
        log: A file or folder of Parquet, CSV or NDJSON, FILE.duckdb::TABLE, or a dataframe.
        engine: "duckdb" or "spark".
        moments: For raw events, the log of moments, where it is not the file that the task names.
        memory: What DuckDB may use before it goes to the disk.
        session: A Spark session; without one Spark is started, and stopped in the end.
        raw: Whether the features are wanted as JSON, too.
        extra: Further columns of the log that are wanted as text.
        skip_bad_lines: Whether lines of CSV or NDJSON that cannot be read are left out and counted.
        earlier: What was learnt of an earlier part of the log, of which this is a later one: it may be short.
    """
    for signal in task.signals:
        if signal.cuts and signal.cuts.is_open:
            remedy = "give them as numbers, or let presage.logs.cuts.resolve_cuts find them in the log"
            raise SettingError(f"{task.path(signal)}.edges are not numbers yet", str(signal.cuts), remedy)
    reading = reading_of(task, log, moments, skip_bad_lines=skip_bad_lines)
    with opened_engine(task, engine, memory, session, reading) as (connection, working):
        name, unused = join_log(task, log, working, moments, extra=extra, whole=earlier is None)
        rows, excluded = _rows(connection, task, name, unused, raw=raw, extra=extra, earlier=earlier)
        return rows, working.left_out.plus(excluded)


@contextmanager
def opened_engine(
    task: Task, engine: str, memory: str, session: Any, reading: LogReading
) -> Iterator[tuple[duckdb.DuckDBPyConnection, LogEngine]]:
    """A database on disk and the engine that brings the log of a task into it, for as long as both are used."""
    if task.in_rows and engine == "spark":
        remedy = "use the engine duckdb, or give the log a column of times"
        raise DataError("Spark does not keep the order of the rows", engine, remedy)
    with reading_errors("the log"), tempfile.TemporaryDirectory(prefix="presage-") as scratch:
        folder = Path(scratch)
        with connected(memory_limit=memory, temp_directory=str(folder / "spill")) as connection:
            # In a file, unlike in memory, tables are compressed.
            connection.execute(f"ATTACH {sql_text(str(folder / 'rows.duckdb'))} AS scratch")
            connection.execute("USE scratch")
            try:
                with engine_called(engine, connection, folder, session, reading) as working:
                    yield connection, working
            except duckdb.Error as error:
                remedy = "correct the log, or make room on the disk"
                raise DataError("the log cannot be read to its end", one_line(error), remedy) from error


def _rows(
    connection: duckdb.DuckDBPyConnection,
    task: Task,
    name: str,
    unused: dict[str, int],
    *,
    raw: bool,
    extra: Sequence[str],
    earlier: LearntVocabularies | None,
) -> tuple[LogRows, Exclusions]:
    judged = clean_log(connection, task, name, earlier is None)
    check_values(connection, task, name)
    vocabularies = learn_vocabularies(connection, task, name, earlier)
    features = task.features(vocabularies)
    check_memory(name, judged.kept, features, len(task.signals))
    extras = {column: f"{EXTRA}{n}" for n, column in enumerate(extra)}
    order_rows(connection, task, vocabularies, raw, tuple(extras.values()))
    delays = signal_delays(connection, task)
    warnings = (
        *leak_warnings(connection, task),
        *repeated_row_warnings(connection, task),
        *repeated_id_warnings(task, judged.rows, judged.excluded.counts.get(repeats(task.log.id or ""), 0)),
        *delay_warnings(connection, task, delays),
    )
    served = task.log.model is not None
    revealed = tuple(
        SignalRows(
            signal.name,
            fetch(connection, f"s{n}"),
            fetch(connection, f"k{n}"),
            fetch(connection, f"p{n}") if served else None,
        )
        for n, signal in enumerate(task.signals)
    )
    rows = LogRows(
        id=fetch(connection, "id"),
        shown_at=fetch(connection, "shown_at"),
        instances=fetch_instances(connection, features, judged.kept),
        proxies=revealed[:-1],
        outcome=revealed[-1],
        group=fetch(connection, "grp") if task.log.group else None,
        features=features,
        vocabularies=vocabularies,
        models=fetch(connection, "model") if served else None,
        json=fetch(connection, "json") if raw else None,
        extra={column: _words(fetch(connection, ours)) for column, ours in extras.items()} or None,
        warnings=warnings,
        delays=delays,
    )
    if rows.models is not None and (np.diff(rows.models) < 0).any():
        wrong, remedy = f"the models of {name} do not follow their predictions", "export the log again"
        raise DataError(wrong, int(rows.id[np.argmax(np.diff(rows.models) < 0)]), remedy)
    return rows, judged.excluded._replace(counts=unused | judged.excluded.counts)


def _words(column: Array) -> Array:
    """Text as objects, None where there is none."""
    words = np.asarray(np.ma.getdata(column), object).copy()
    words[np.ma.getmaskarray(column)] = None
    return words
