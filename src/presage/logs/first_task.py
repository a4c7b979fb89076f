"""A first task file for a log, guessed from its columns and full of comments: to be read, corrected and checked."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from presage.errors import DataError
from presage.logs.columns import NUMBER
from presage.logs.sources import open_source
from presage.logs.tables import connected, quoted
from presage.task.spans import UNITS

SAMPLE = 20_000
MOST_LISTED = 20


class ColumnLook(NamedTuple):
    """What a column looks like in the sample."""

    name: str
    kind: str  # time, set, boolean, whole, number or words
    different: int  # values
    filled: int  # rows that hold one
    values: tuple[str, ...]  # all of them where they are few, numbers in their order
    most: float | None  # the largest number


def look_at(log: Any) -> tuple[str, int, tuple[ColumnLook, ...]]:
    """The name of a log, how many rows were looked at, and what each column looks like in them."""
    with connected() as connection:
        source = open_source(connection, log, "given")
        connection.execute(f"CREATE TABLE sample AS FROM {source.relation} LIMIT {SAMPLE}")
        rows = int(connection.execute("SELECT count(*) FROM sample").fetchall()[0][0])
        if not rows:
            raise DataError(f"{source.name} holds no rows", 0, "write or export it again")
        looks = tuple(
            _look(connection, name, declared, source.form != "CSV") for name, declared in source.types.items()
        )
    return source.name, rows, looks


def _look(connection: duckdb.DuckDBPyConnection, name: str, declared: str, typed: bool) -> ColumnLook:
    words = f"nullif(trim({quoted(name)}::VARCHAR), '')"
    number = f"try_cast({words} AS DOUBLE)"
    filled, different, times, numbers, wholes, flags, largest = connection.execute(
        f"SELECT count({words}), count(DISTINCT {words}), count(try_cast({words} AS TIMESTAMPTZ)), "
        f"count(try_cast({words} AS DOUBLE)), count(*) FILTER ({number} = floor({number})), "
        f"count(*) FILTER (lower({words}) IN ('true', 'false')), "
        f"max(try_cast({words} AS DOUBLE)) FROM sample"
    ).fetchall()[0]
    if declared.endswith("[]"):
        kind = "set"
    elif declared.startswith(("TIMESTAMP", "DATE")) or (filled and times == filled and numbers < filled):
        kind = "time"
    elif declared == "BOOLEAN" or (filled and flags == filled):
        kind = "boolean"
    elif declared.startswith("VARCHAR") and (typed or numbers < filled or not filled):
        kind = "words"  # where a file has types, numbers written as words are names
    elif NUMBER.takes(declared):
        kind = "whole" if wholes == filled and not declared.startswith(("FLOAT", "DOUBLE", "DECIMAL")) else "number"
    else:
        kind = "words"
    values = () if kind in ("set", "time") else _values(connection, "sample", name)
    return ColumnLook(name, kind, different, filled, values, largest)


def look_at_signal(log: Any, shown_at: str, column: str, known_at: str) -> tuple[int, tuple[str, ...]]:
    """The longest delay of a signal in the whole log, in microseconds (0: none), and its values where they are few."""
    with connected() as connection:
        relation = open_source(connection, log, "given").relation
        moments = [f"epoch_us(try_cast({quoted(one)}::VARCHAR AS TIMESTAMPTZ))" for one in (known_at, shown_at)]
        delay = connection.execute(f"SELECT max({moments[0]} - {moments[1]}) FROM {relation}").fetchall()[0][0]
        return max(int(delay or 0), 0), _values(connection, relation, column)


def _values(connection: duckdb.DuckDBPyConnection, relation: str, column: str) -> tuple[str, ...]:
    """The different values of a column, numbers in their order; none where there are many."""
    words = f"nullif(trim({quoted(column)}::VARCHAR), '')"
    different = f"SELECT DISTINCT {words} AS v FROM {relation} WHERE {words} IS NOT NULL LIMIT {MOST_LISTED + 1}"
    found = connection.execute(f"SELECT v FROM ({different}) ORDER BY try_cast(v AS DOUBLE), v").fetchall()
    return tuple(str(value) for (value,) in found) if len(found) <= MOST_LISTED else ()


KINDS = ("kind", "event", "event_type", "event_name", "type", "action")
IDENTITIES = ("instance", "item", "product", "title", "repository", "repo", "user", "subject")
SHOWN = ("shown_at", "predicted_at", "at", "timestamp", "time", "date", "created_at")


def first_task(log: Any) -> str:
    """The text of a task file that fits the log as far as its first rows tell."""
    name, rows, looks = look_at(log)
    by_name = {look.name: look for look in looks}
    pairs = {n: f"{n}_at" for n in by_name if f"{n}_at" in by_name and by_name[f"{n}_at"].kind == "time"}
    kind = next((n for n in KINDS if n in by_name and by_name[n].values), None)
    head = ["version = 1", f"name = {json.dumps(name)}  # what is predicted, in a few words", ""]
    if kind and not pairs:
        return "\n".join([*head, *_events(looks, by_name[kind], rows)])
    return "\n".join([*head, *_predictions(log, looks, pairs, rows)])


def _predictions(log: Any, looks: Sequence[ColumnLook], pairs: dict[str, str], rows: int) -> list[str]:
    shown = _moment(looks, set(pairs.values()))
    signals = {n: look_at_signal(log, shown, n, at) for n, at in pairs.items()}
    ordered = sorted(signals, key=lambda n: (n == "outcome", signals[n][0]))
    outcome, proxies = (ordered[-1], ordered[:-1]) if ordered else ("outcome", ["proxy"])
    used = {shown, outcome, *proxies, *pairs.values(), *(f"{n}_at" for n in (outcome, *proxies))}
    number = next((look.name for look in looks if look.name == "id"), None)
    lines = ["[instance]  # features of what is predicted, as they were known then", *_features(looks, used, rows), ""]
    for n in proxies or ["proxy"]:
        lines += _signal("proxy" if len(proxies) < 2 else f"proxy.{n}", n, *signals.get(n, (0, ())))
    lines += _signal("outcome", outcome, *signals.get(outcome, (0, ())))
    lines += ["[log]", f"shown_at = {json.dumps(shown)}  # the moment of the prediction"]
    lines += [f"id = {json.dumps(number)}"] if number else ['# id = "COLUMN"  # then rows that come twice are noticed']
    lines += ['# group = "COLUMN"  # predictions that compete with each other, for ranking', ""]
    return [*lines, *_forecaster(_categories(looks, used, rows))]


def _events(looks: Sequence[ColumnLook], kind: ColumnLook, rows: int) -> list[str]:
    at = _moment(looks, set())
    keys = [look for look in looks if look.kind in ("words", "whole") and look.name != kind.name]
    keys = sorted((look for look in keys if look.name != "id"), key=lambda look: -look.different)[:2]
    first, *others = kind.values
    told = others[0] if others else first
    lines = ["[instance]  # features of the events that are predictions", *_features(looks, {at, kind.name}, rows), ""]
    lines += [
        "[proxy]  # counted in the days after a prediction",
        'values = ["none", "one", "many"]',
        f'count = {json.dumps(told)}\nwithin = "2 days"\nedges = [1, 2]',
        "",
        "[outcome]",
        'values = ["no", "yes"]',
        f'count = {json.dumps(told)}\nwithin = "7 days"\nedges = [1]',
        "",
        f"[log]  # kinds in the first rows: {', '.join(kind.values)}",
        f"at = {json.dumps(at)}\nkind = {json.dumps(kind.name)}",
        f"moment = [{json.dumps(first)}]  # events that are predictions",
    ]
    names = ("instance", "subject")
    lines += [f"{name} = {json.dumps(look.name)}" for name, look in zip(names, keys, strict=False)]
    return [*lines, "", *_forecaster(_categories(looks, {at, kind.name}, rows))]


def _signal(table: str, column: str, delay: int, found: tuple[str, ...]) -> list[str]:
    values = found if len(found) > 1 else ("no", "yes")
    listed = ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
    advice = "in their order, if they have one" if len(found) > 1 else "correct this: the log does not tell"
    return [
        f"[{table}]",
        f"values = [{listed}]  # {advice}",
        f'horizon = "{_rounded(delay)}"  # later is too late',
        f"column = {json.dumps(column)}\nknown_at = {json.dumps(f'{column}_at')}",
        f"# absent = {json.dumps(values[0])}  # if nothing by the horizon means this; otherwise it is censored",
        "",
    ]


def _features(looks: Sequence[ColumnLook], used: set[str], rows: int) -> list[str]:
    lines = {look.name: _feature(look, rows) for look in looks if look.name not in used and look.name != "id"}
    for identity in _categories(looks, used, rows)[:1]:
        lines[identity] = lines[identity].replace(" }", ", identity = true }", 1)
    return [f"{'# ' if line.startswith('#') else ''}{_key(n)} = {line.removeprefix('# ')}" for n, line in lines.items()]


def _categories(looks: Sequence[ColumnLook], used: set[str], rows: int) -> list[str]:
    """The names of the identity, where there is one, and of the categories coarser than it, the coarsest first."""
    found = {look.name: look for look in looks if look.name not in used and look.name != "id"}
    names = [n for n, look in found.items() if _feature(look, rows).startswith('{ kind = "category"')]
    identity = next((n for n in IDENTITIES if n in names), names[0] if names else None)
    if identity is None:
        return []
    coarser = [n for n in names if found[n].different < found[identity].different]
    return [identity, *sorted(coarser, key=lambda n: found[n].different)]


def _feature(look: ColumnLook, rows: int) -> str:
    named = "" if _key(look.name) == look.name else f", column = {json.dumps(look.name)}"
    if look.name.startswith("truth_"):
        return f'# {{ kind = "number"{named} }}  # the truth is nothing to predict from'
    if look.kind == "whole" and look.different > 2 and look.name not in IDENTITIES and not look.name.endswith("id"):
        return f'{{ kind = "count", edges = [{", ".join(str(e) for e in _edges(look))}]{named} }}'
    if look.kind == "time":
        return f'# {{ kind = "timestamp", parts = ["hour", "weekday"]{named} }}  # was it known then?'
    if look.kind in ("set", "boolean", "number"):
        return f'{{ kind = "{look.kind}"{named} }}'
    if look.different > rows / 2 and rows > 100:
        return f'# {{ kind = "category", hashed = 65536{named} }}  # nearly every row has another one'
    return f'{{ kind = "category"{named} }}'


def _edges(look: ColumnLook) -> list[int]:
    most = int(look.most or 1)
    return [1 << power for power in range(min(max(most.bit_length(), 1), 6))]


def _moment(looks: Sequence[ColumnLook], taken: set[str]) -> str:
    times = [look.name for look in looks if look.kind == "time" and look.name not in taken]
    return next((n for n in SHOWN if n in times), times[0] if times else "shown_at")


def _rounded(microseconds: int) -> str:
    """The whole hours or days that hold a delay; a week where none was seen."""
    for unit, most in (("hour", 24), ("day", 10**6)):
        amount = -(-microseconds // (UNITS[unit] * 1_000_000))
        if 0 < amount < most:
            return f"{amount} {unit}{'s' * (amount > 1)}"
    return "7 days"


def _key(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in name)


def _forecaster(categories: Sequence[str]) -> list[str]:
    """The last table; what instances share is for the reader to say."""
    lines = ["[forecaster]", 'kind = "mixture"  # the safe default']
    if len(categories) > 1:
        groups = [[_key(name) for name in categories[1:last]] for last in (2, 3) if last <= len(categories)]
        why = f"what a new {categories[0]} shares with others, coarse to fine"
        lines.append(f"# back_off = {json.dumps(groups)}  # {why}")
    return [*lines, ""]
