"""SQL that counts raw events in a window after each prediction."""

from presage.errors import DataError
from presage.logs.columns import WantedColumn
from presage.logs.engines import LogEngine
from presage.logs.signals import settled_signals
from presage.logs.tables import sql_text
from presage.settings import nearest
from presage.task.columns import EventColumns
from presage.task.signals import CountedEvents, First
from presage.task.task import Task

START = 0
"""The number of the point at which a prediction is made; the ends of its windows count from 1."""


def windowed_signals(task: Task, log: EventColumns, wanted: tuple[WantedColumn, ...], until: int) -> str:
    """SQL for the predictions of a log of events, out of `events` and, where there is such a log, `moments`."""
    keys = [name for name, column in (("subject", log.subject), ("instance", log.instance)) if column is not None]
    columns = ['"row"', *keys, "shown_at", *(one.name for one in wanted if one.name not in (*keys, "shown_at"))]
    values = ", ".join(_value(task, n, until) for n in range(len(task.signals)))
    chosen = ", ".join(f"moment.{column}" for column in columns)
    source = f'(SELECT {chosen}, {values} FROM moment LEFT JOIN tally ON moment."row" = tally."row")'
    parts = {
        "event": _events(log),
        "moment": _moments(log, keys, columns),
        "point": _points(task, keys),
        "run": _run(task, keys),
        "tally": _tally(task),
    }
    tables = ", ".join(f"{name} AS ({query})" for name, query in parts.items())
    return f"WITH {tables} {settled_signals(task, source, tuple(columns), until)}"


def _events(log: EventColumns) -> str:
    """The events, each once where they have ids."""
    every = "SELECT * FROM events" if log.every is None else f"SELECT *, {sql_text(log.every)} AS kind FROM events"
    if log.moments or not log.id:
        return every
    nth = 'row_number() OVER (PARTITION BY id ORDER BY "at", "row")'
    return f"SELECT * FROM (SELECT *, {nth} AS nth FROM ({every}) AS e) AS numbered WHERE nth = 1 OR id IS NULL"


def _moments(log: EventColumns, keys: list[str], columns: list[str]) -> str:
    shown = "shown_at" if log.moments else '"at" AS shown_at'
    chosen = ", ".join(shown if column == "shown_at" else column for column in columns)
    source = "moments" if log.moments else "event"
    where = "" if log.moments else f" WHERE {is_one_of(log.moment)}"
    every = f"SELECT {chosen} FROM {source}{where}"
    if not log.once:
        return every
    nth = f'row_number() OVER (PARTITION BY {", ".join(keys)} ORDER BY shown_at, "row")'
    return f"SELECT {', '.join(columns)} FROM (SELECT *, {nth} AS nth FROM ({every}) AS every_one) AS o WHERE nth = 1"


def _points(task: Task, keys: list[str]) -> str:
    """Events, predictions and the ends of their windows, with what each adds to the count of each signal."""
    nothing = [f"0 AS n{n}, 0 AS u{n}" if isinstance(s.source, CountedEvents) else f"{_no_firsts(s.source, n)}"
               for n, s in enumerate(task.signals)]  # fmt: skip
    whole = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    parts = []
    for place, span in enumerate((0, *_spans(task))):
        at = f'shown_at + {span} AS "at"'
        parts.append(
            f'SELECT {", ".join(keys)}, {at}, 0 AS happened, "row", {place} AS part, {", ".join(nothing)} '
            f"FROM moment WHERE shown_at IS NOT NULL AND {whole}"
        )
    happened = ", ".join(_added(s.source, n) for n, s in enumerate(task.signals))
    event = f'SELECT {", ".join(keys)}, "at", 1 AS happened, NULL AS "row", NULL AS part, {happened}'
    parts.append(f'{event} FROM event WHERE "at" IS NOT NULL AND {whole}')
    return " UNION ALL ".join(parts)


def _run(task: Task, keys: list[str]) -> str:
    """What was counted up to each point, its own instant included, and what comes next after it."""
    over = f"PARTITION BY {', '.join(keys)} ORDER BY"
    sums: list[str] = []
    for n, signal in enumerate(task.signals):
        if isinstance(signal.source, CountedEvents):
            sums += [f'sum({c}{n}) OVER ({over} "at") AS {c}{n}' for c in "nu"]
        elif isinstance(signal.source, First):
            names = [f"e{n}_{k}" for k in range(len(signal.source.kinds))]
            sums += [f'min({name}) OVER ({over} "at" DESC, happened) AS {name}' for name in names]
    return f'SELECT "row", part, {", ".join(sums)} FROM point'


def _tally(task: Task) -> str:
    """One row for each prediction: the counts of its windows, and the first event of each kind after it."""
    places = {span: place for place, span in enumerate(_spans(task), 1)}
    results: list[str] = []
    for n, signal in enumerate(task.signals):
        source = signal.source
        if isinstance(source, CountedEvents):
            end = places[source.within.microseconds]
            results += [f"{_at_part(f'{c}{n}', end)} - {_at_part(f'{c}{n}', START)} AS {c}{n}" for c in "nu"]
        elif isinstance(source, First):
            results += [f"{_at_part(f'e{n}_{k}', START)} AS e{n}_{k}" for k in range(len(source.kinds))]
    return f'SELECT "row", {", ".join(results)} FROM run WHERE "row" IS NOT NULL GROUP BY "row"'


def _value(task: Task, n: int, until: int) -> str:
    """The symbol and the moment of a signal, NULL where nothing can be said yet."""
    source = task.signals[n].source
    if isinstance(source, CountedEvents):
        by = f"moment.shown_at + {source.within.microseconds}"
        more = " + ".join(f"CASE WHEN coalesce(n{n}, 0) >= {edge} THEN 1 ELSE 0 END" for edge in source.edges)
        symbol = f"CASE WHEN coalesce(u{n}, 0) > 0 THEN 0 ELSE 1 + {more} END" if source.unless else more
        return f"CASE WHEN {by} <= {until} THEN {symbol} END AS v{n}, {by} AS t{n}"
    assert isinstance(source, First)
    names = [f"e{n}_{k}" for k in range(len(source.kinds))]
    soonest = f"least({', '.join(names)})" if len(names) > 1 else names[0]
    inside = f"{soonest} <= moment.shown_at + {source.within.microseconds}"
    cases = " ".join(f"WHEN {name} = {soonest} THEN {k}" for k, name in enumerate(names))
    return f"CASE WHEN {inside} THEN CASE {cases} END END AS v{n}, {soonest} AS t{n}"


def _spans(task: Task) -> list[int]:
    sources = (signal.source for signal in task.signals)
    return sorted({source.within.microseconds for source in sources if isinstance(source, CountedEvents)})


def _at_part(column: str, part: int) -> str:
    return f"max(CASE WHEN part = {part} THEN {column} END)"


def _no_firsts(source: object, n: int) -> str:
    assert isinstance(source, First)
    return ", ".join(f"CAST(NULL AS BIGINT) AS e{n}_{k}" for k in range(len(source.kinds)))


def _added(source: object, n: int) -> str:
    if isinstance(source, CountedEvents):
        unless = f"CASE WHEN {is_one_of(source.unless)} THEN 1 ELSE 0 END" if source.unless else "0"
        return f"CASE WHEN {is_one_of(source.kinds)} THEN 1 ELSE 0 END AS n{n}, {unless} AS u{n}"
    assert isinstance(source, First)
    return ", ".join(f'CASE WHEN {is_one_of((kind,))} THEN "at" END AS e{n}_{k}' for k, kind in enumerate(source.kinds))


def is_one_of(kinds: tuple[str, ...]) -> str:
    """SQL that says whether an event is of one of these kinds."""
    return f"kind IN ({', '.join(sql_text(kind) for kind in kinds)})"


def check_kinds(task: Task, columns: EventColumns, name: str, engine: LogEngine) -> None:
    """Nothing, or the error of a kind of events that the task names and the log never holds."""
    named = _named_kinds(task, columns)
    if columns.kind is None or not named:
        return
    for (kind, key), count in zip(named.items(), engine.ask(_kind_counts(tuple(named))), strict=True):
        if not count:
            there = engine.words("SELECT DISTINCT kind FROM events WHERE kind IS NOT NULL ORDER BY kind LIMIT 50")
            near = nearest(kind, there)
            remedy = (
                f"correct it{f', {near}' if near.startswith('did you mean') else ''}; the log holds {', '.join(there)}"
            )
            raise DataError(f"{key} names a kind of events that {name} never holds", kind, remedy)


def _named_kinds(task: Task, log: EventColumns) -> dict[str, str]:
    """The kinds of events that a task names, and the key under which each stands first."""
    named = dict.fromkeys(log.moment, "log.moment") if log.moments is None else {}
    for signal in reversed(task.signals):
        source, path = signal.source, task.path(signal)
        if isinstance(source, CountedEvents):
            named |= dict.fromkeys(source.unless, f"{path}.unless") | dict.fromkeys(source.kinds, f"{path}.count")
        elif isinstance(source, First):
            named |= dict.fromkeys(source.kinds, f"{path}.first")
    return named


def _kind_counts(kinds: tuple[str, ...]) -> str:
    """SQL for how many events there are of each kind."""
    return f"SELECT {', '.join(f'sum(CASE WHEN {is_one_of((kind,))} THEN 1 ELSE 0 END)' for kind in kinds)} FROM events"


def unused_events(task: Task, log: EventColumns) -> dict[str, str]:
    """Why an event may be of no use, in words, and SQL that counts such events."""
    sources = [signal.source for signal in task.signals]
    used = {kind for source in sources if isinstance(source, CountedEvents | First) for kind in source.kinds}
    used |= {kind for source in sources if isinstance(source, CountedEvents) for kind in source.unless} | set(
        log.moment
    )
    named = {"at": log.at, "subject": log.subject, "instance": log.instance, "kind": log.kind}
    counts = {
        f"events without a valid {column}": f'sum(CASE WHEN "{ours}" IS NULL THEN 1 ELSE 0 END)'
        for ours, column in named.items()
        if column is not None
    }
    if log.kind is not None:
        other = f"sum(CASE WHEN NOT {is_one_of(tuple(sorted(used)))} THEN 1 ELSE 0 END)"
        counts["events of kinds that the task does not name"] = other
    if log.id is not None and log.moments is None:
        counts[f"events that repeat the {log.id} of an earlier one"] = "count(id) - count(DISTINCT id)"
    return counts
