"""A log joined by an engine into one table: a row for each prediction, with what became of every signal."""

from typing import Any

from presage.errors import DataError
from presage.logs.engines import Engine
from presage.logs.kinds import TIME
from presage.logs.resolved import labelled
from presage.logs.unused import event_counts
from presage.logs.wanted import wanted_events, wanted_moments, wanted_predictions
from presage.logs.windows import followed
from presage.task.columns import EventColumns
from presage.task.spans import in_words
from presage.task.task import Task


def join_log(task: Task, log: Any, engine: Engine, moments: Any = None) -> tuple[str, dict[str, int]]:
    """What errors call the log, which now stands as `joined`; and how many events were of no use, by reason."""
    if isinstance(task.log, EventColumns):
        return _join_events(task, task.log, log, engine, moments)
    wanted = wanted_predictions(task)
    name = engine.read("predictions", log, wanted)
    last = ", ".join(["max(shown_at)", *(f"max(t{n})" for n in range(len(task.signals)))])
    first, end, rows = engine.ask(f"SELECT min(shown_at), greatest({last}), count(*) FROM predictions")
    until = _check_length(task, name, task.log.shown_at, (first, end, rows))
    engine.join(labelled(task, wanted, until))
    return name, {}


def _join_events(
    task: Task, columns: EventColumns, log: Any, engine: Engine, moments: Any
) -> tuple[str, dict[str, int]]:
    wanted = wanted_events(task, columns)
    name = engine.read("events", log, wanted)
    chosen = tuple(one for one in wanted if one.name not in ("at", "kind"))
    if columns.moments:
        chosen = wanted_moments(task, columns)
        engine.read("moments", task.folder / columns.moments if moments is None else moments, chosen)
    first, end, rows = engine.ask('SELECT min("at"), max("at"), count(*) FROM events')
    until = _check_length(task, name, columns.at, (first, end, rows))
    reasons = event_counts(task, columns)
    counts = engine.ask(f"SELECT {', '.join(reasons.values())} FROM events")
    engine.join(followed(task, columns, chosen, until))
    return name, {reason: count for reason, count in zip(reasons, counts, strict=True) if count}


def _check_length(task: Task, name: str, column: str, found: tuple[int | None, int | None, int | None]) -> int:
    """Until when the log is complete; refused if it is empty, or too short to show the horizon of every signal."""
    first, end, rows = found
    if not rows:
        raise DataError(f"{name} holds no rows", 0, "write or export it again")
    if first is None or end is None:
        remedy = f"give {TIME.words}, or name another column in the task"
        raise DataError(f"no row of {name} has a valid {column}", f"{rows:,} rows", remedy)
    until = end if task.log.until is None else task.log.until
    if task.log.model:
        return until  # a service decided what came in time
    longest = max(task.signals, key=lambda signal: signal.horizon.microseconds)
    if longest.horizon.microseconds > until - first:
        wrong = f"the horizon of {task.path(longest)} is longer than {name}"
        remedy = "give a longer log or a shorter horizon"
        raise DataError(wrong, f"{longest.horizon} in a log of {in_words(max(until - first, 0))}", remedy)
    return until
