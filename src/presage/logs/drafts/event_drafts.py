"""Which kinds of events in a log are probably its predictions, proxy and outcome, and how far apart they come."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from presage.logs.drafts.column_looks import ColumnLook, LogLook, name_words
from presage.logs.drafts.feature_drafts import INSTANCES, SUBJECTS, row_identifier
from presage.logs.drafts.horizon_guesses import PART, success_words, usual_days
from presage.logs.drafts.row_ages import DAY, USUAL_DAYS
from presage.logs.drafts.signal_guesses import HOLDS, TYPICAL
from presage.logs.tables import quoted

KINDS = ("kind", "event", "event_type", "event_name", "type", "action")
TIMES = ("at", "timestamp", "ts", "time", "date", "datetime", "event_time")

OUTCOME_KINDS = re.compile(
    "(order|purchas|buy|bought|pay|paid|checkout|sale|sold|conversion|convert|subscri|renew|finish|complete|completion|"
    "cancel|churn|return|refund)[a-z]*"
)

SOONER = 5
"""How many times as long an outcome takes as an early sign should."""


class EventGuesses(NamedTuple):
    """What is what in a log of events."""

    at: str | None  # None: it has no times
    kind: str
    id: str | None
    subject: str | None
    instance: str | None
    moment: str  # these are kinds
    proxy: str
    outcome: str
    early: tuple[str, str]  # the time in which the proxy is counted, and why
    late: tuple[str, str]
    unclear: bool  # whether no kind has the name of an outcome


class KindPair(NamedTuple):
    """How a kind of events comes after another of the same subject and instance."""

    both: int  # subjects and instances with both kinds
    after: int  # of those, in how many the first of this kind comes later than the first of the other
    events: int  # of this kind, after the first of the other
    typical: int  # how long after it most of them come, in microseconds
    usual: int  # the same for nearly all


NEVER = KindPair(0, 0, 0, 0, 0)


def kind_column(look: LogLook) -> ColumnLook | None:
    """The column that says of which kind an event is, where one does."""
    return next((c for c in look.columns.values() if "_".join(c.words) in KINDS and c.values), None)


def guessed_events(look: LogLook, kind: ColumnLook) -> EventGuesses:
    """The moments of prediction, the proxy and the outcome of a log of events."""
    times = [one for one in look.columns.values() if one.moment and one.filled]
    named = {"_".join(one.words): one for one in reversed(times)}
    at = next((named[name] for name in TIMES if name in named), times[0] if times else None)
    identifier, subject, instance = _keys(look, kind, at)
    keys = [name for name in (subject, instance) if name]
    pairs = _pairs(look, kind, at, keys) if at else {}
    counts = _counts(look, kind, keys)
    outcome, is_named = _outcome(kind.values, counts, pairs)
    moment = _moment(kind.values, outcome, counts, pairs)
    between = [one for one in kind.values if one not in (moment, outcome) and _comes_before(one, outcome, pairs)]
    proxy = max(between, key=lambda one: pairs.get((moment, one), NEVER).events, default=outcome)
    span = _span(look, at) if at else 0
    late = _late(pairs.get((moment, outcome), NEVER), span)
    early = _early(pairs.get((moment, proxy), NEVER), late[0])
    return EventGuesses(
        at.name if at else None,
        kind.name,
        identifier,
        subject,
        instance,
        moment,
        proxy,
        outcome,
        early,
        late,
        not is_named,
    )


def _keys(look: LogLook, kind: ColumnLook, at: ColumnLook | None) -> tuple[str | None, str | None, str | None]:
    """The columns with the id of an event, with what acts, and with what it acts on."""
    free = [one for one in look.columns.values() if one.kind in ("words", "whole") and one.name != kind.name]
    subjects = [one for one in free if set(one.words) & set(SUBJECTS)]
    instances = [one for one in free if set(one.words) & set(INSTANCES) and one not in subjects]
    known = {one.name for one in (*subjects, *instances)}
    identifier = row_identifier(look, {*known, kind.name, at.name if at else None})
    others = [one for one in free if one.name not in {*known, identifier} and one.name.lower() != "id"]
    others = sorted(others, key=lambda one: -one.different)
    subject = max(subjects, key=lambda one: one.different, default=None)
    instance = max(instances, key=lambda one: one.different, default=None)
    if instance is None and (subject is None or any(one.words[-1:] == ("id",) for one in others)):
        ids = [one for one in others if one.words[-1:] == ("id",)]
        instance = next(iter(ids or others), None)
    if subject is None and not instances:
        subject = next((one for one in others if one != instance), None)
    return identifier, subject.name if subject else None, instance.name if instance else None


def _events(kind: ColumnLook, keys: Sequence[str]) -> str:
    """SQL for the kind and the subject and instance of each event."""
    key = f"hash({', '.join(map(quoted, keys))})" if keys else "0"
    return f"SELECT trim({quoted(kind.name)}::VARCHAR) AS kind, {key} AS key"


def _counts(look: LogLook, kind: ColumnLook, keys: Sequence[str]) -> dict[str, tuple[int, int]]:
    """How many events and how many subjects and instances there are of each kind."""
    query = f"SELECT kind, count(*), count(DISTINCT key) FROM ({_events(kind, keys)} FROM rows) GROUP BY kind"
    return {str(name): (int(n), int(each)) for name, n, each in look.connection.execute(query).fetchall()}


def _pairs(look: LogLook, kind: ColumnLook, at: ColumnLook, keys: Sequence[str]) -> dict[tuple[str, str], KindPair]:
    """How each kind comes after each other one."""
    events = f"{_events(kind, keys)}, {at.moment} AS moment FROM rows WHERE {at.moment} IS NOT NULL"
    firsts = f"SELECT kind, key, min(moment) AS first FROM ({events}) GROUP BY ALL"
    delay = "e.moment - f.first"
    tallied = (
        f"SELECT f.kind AS one, e.kind AS other, e.key, min({delay}) > 0 AS after, count(*) FILTER ({delay} > 0) AS n, "
        f"list({delay}) FILTER ({delay} > 0) AS delays "
        f"FROM ({events}) e JOIN ({firsts}) f ON e.key = f.key AND e.kind <> f.kind GROUP BY ALL"
    )
    quantiles = f"quantile_disc(each, [{TYPICAL}, {HOLDS}])"
    query = (
        f"SELECT one, other, count(*), count(*) FILTER (after), sum(n)::BIGINT, "
        f"(SELECT {quantiles} FROM (SELECT unnest(flatten(list(delays))) AS each)) FROM ({tallied}) GROUP BY 1, 2"
    )
    found = look.connection.execute(query).fetchall()
    return {
        (str(a), str(b)): KindPair(both, after, n, *map(int, late or (0, 0))) for a, b, both, after, n, late in found
    }


def _comes_before(one: str, other: str, pairs: dict[tuple[str, str], KindPair]) -> bool:
    """Whether the first of a kind mostly comes sooner than the first of the other."""
    pair = pairs.get((one, other), NEVER)
    return 2 * pair.after > pair.both


def _outcome(
    kinds: Sequence[str], counts: dict[str, tuple[int, int]], pairs: dict[tuple[str, str], KindPair]
) -> tuple[str, bool]:
    """The kind with the name of an outcome, the more frequent one of two; otherwise that which comes last."""
    named = [one for one in kinds if any(OUTCOME_KINDS.fullmatch(word) for word in name_words(one))]
    if named and len(named) < len(kinds):
        return max(named, key=lambda one: counts[one][0]), True
    last = max(kinds[::-1], key=lambda one: sum(_comes_before(other, one, pairs) for other in kinds))
    return last, False


def _moment(
    kinds: Sequence[str], outcome: str, counts: dict[str, tuple[int, int]], pairs: dict[tuple[str, str], KindPair]
) -> str:
    """Of the kinds before the outcome that which comes most nearly once, for predictions should not overlap."""
    before = [one for one in kinds if one != outcome and _comes_before(one, outcome, pairs)]
    before = before or [one for one in kinds if one != outcome] or [outcome]

    def overlap(kind: str) -> tuple[float, int]:
        events, keys = counts[kind]
        return round(events / max(keys, 1), 1), -events

    return min(before, key=overlap)


def _span(look: LogLook, at: ColumnLook) -> int:
    return int(look.ask(f"SELECT max({at.moment}) - min({at.moment}) FROM rows")[0])


def _late(found: KindPair, span: int) -> tuple[str, str]:
    """The time in which an outcome is counted, and why."""
    if not found.events or span < PART * DAY:
        return _in_words(usual_days(7 * DAY, span // PART)), "correct this: the log does not tell"
    return success_words(found.typical, found.usual, span)


def _early(found: KindPair, late: str) -> tuple[str, str]:
    """The same for an early sign: sooner than the outcome."""
    amount, unit = late.split()
    whole = int(amount) * (DAY if unit.startswith("day") else DAY // 24)
    most = [days for days in USUAL_DAYS if SOONER * days * DAY <= whole]
    if not most:
        return f"{max(whole // DAY * 24 // SOONER, 1)} hours", "well before the outcome"
    days = next((days for days in most if found.events and days * DAY >= found.typical), most[-1])
    held = found.events and days * DAY >= found.typical
    return _in_words(days), "most come in this time" if held else "well before the outcome"


def _in_words(days: int) -> str:
    return f"{max(days, 1)} day{'s' * (days > 1)}"
