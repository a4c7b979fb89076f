"""What a column of a log may hold, and which columns a task reads."""

import difflib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from presage.errors import DataError
from presage.task.columns import EventColumns
from presage.task.features import Boolean, Category, Feature, SetFeature, Timestamp
from presage.task.signals import HappenedAt, Labelled
from presage.task.task import Task

WHOLE_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
NUMBER_TYPES = (*WHOLE_TYPES, "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR")
TIME_TYPES = (*WHOLE_TYPES, "TIMESTAMP", "DATE", "VARCHAR")

LATEST = 2**33
"""Seconds since 1970 that are still taken for a time (the year 2242): beyond it they are rather milliseconds."""


class ColumnKind(NamedTuple):
    """What a column holds, in words and as the types of DuckDB that are taken for it."""

    words: str
    types: tuple[str, ...]

    def takes(self, declared: str) -> bool:
        """Whether a column of this type, such as DECIMAL(4,2), may hold this kind."""
        return declared.startswith(self.types) and not declared.endswith("[]")

    def value(self, column: str, declared: str) -> str:
        """SQL for the value in a column, NULL where there is none of this kind."""
        if self is TIME:
            return _time(column, declared)
        if self in (WHOLE, NUMBER):
            number = f"try_cast({column} AS DOUBLE)"
            whole = f"AND {number} = floor({number})" if self is WHOLE else ""
            return f"CASE WHEN isfinite({number}) {whole} THEN {number} END::{'BIGINT' if whole else 'DOUBLE'}"
        return f"nullif({column}::VARCHAR, '')"


TEXT = ColumnKind("text", ("VARCHAR",))
KEY = ColumnKind("a name or a whole number", ("VARCHAR", "UUID", *WHOLE_TYPES))
TIME = ColumnKind("a time (such as 2017-05-01 12:00:00 UTC, or seconds since 1970)", TIME_TYPES)
WHOLE = ColumnKind("a whole number", NUMBER_TYPES)
NUMBER = ColumnKind("a finite number", NUMBER_TYPES)


def _time(column: str, declared: str) -> str:
    # A time without a zone is UTC; so is the session that runs this.
    seconds = f"try_cast({column} AS BIGINT)"
    seconds = f"to_timestamp(CASE WHEN abs({seconds}) < {LATEST} THEN {seconds} END)"
    if declared.startswith(WHOLE_TYPES):
        moment = seconds
    elif declared.startswith("VARCHAR"):
        moment = f"coalesce(try_cast({column} AS TIMESTAMPTZ), {seconds})"
    else:
        moment = f"{column}::TIMESTAMPTZ"
    return f"CASE WHEN isfinite({moment}) THEN {moment}::TIMESTAMP END"


WORD_TYPES = (*NUMBER_TYPES, "UUID", "BOOLEAN", "ENUM")
LABEL = ColumnKind("words, whole numbers or booleans", WORD_TYPES)
CELL = ColumnKind("words, numbers, booleans or times", (*WORD_TYPES, "TIMESTAMP", "DATE"))
"""What scores may be wanted by."""
GIVEN = ColumnKind(TIME.words, TIME_TYPES)
"""What a column of times holds as words, to tell what is no time from nothing."""
FLAG = ColumnKind("true or false", ("BOOLEAN", "VARCHAR", *WHOLE_TYPES))
TEXTS = ColumnKind("a list of words, or words with a separator", (*WORD_TYPES,))


class WantedColumn(NamedTuple):
    """A column of the log, the kind of value it must hold, the key of the task that names it, and our name for it."""

    name: str
    column: str
    kind: ColumnKind
    key: str
    separator: str = ","


def feature_name(place: int) -> str:
    """Our name for the feature at a place of the instance."""
    return f"f{place}"


def wanted_predictions(task: Task) -> tuple[WantedColumn, ...]:
    """What a log with one row per prediction must hold."""
    signals: list[WantedColumn] = []
    for place, signal in enumerate(task.signals):
        key, source = task.path(signal), signal.source
        if isinstance(source, Labelled):
            signals.append(WantedColumn(f"v{place}", source.column, NUMBER if source.cuts else LABEL, f"{key}.column"))
            if source.cuts:
                signals.append(WantedColumn(f"g{place}", source.column, LABEL, f"{key}.column"))
            if source.known_at:
                signals.append(WantedColumn(f"t{place}", source.known_at, TIME, f"{key}.known_at"))
            if source.position:
                signals.append(WantedColumn(f"p{place}", source.position, WHOLE, f"{key}.position"))
        elif isinstance(source, HappenedAt):
            signals.append(WantedColumn(f"t{place}", source.column, TIME, f"{key}.happened_at"))
            signals.append(WantedColumn(f"g{place}", source.column, GIVEN, f"{key}.happened_at"))
    if task.log.model:
        signals.append(WantedColumn("model", task.log.model, WHOLE, "log.model"))
    return (*_moment(task), *signals)


def wanted_events(task: Task, log: EventColumns) -> tuple[WantedColumn, ...]:
    """What a log of raw events must hold: more where some events are moments of prediction themselves."""
    kind = () if log.kind is None else (WantedColumn("kind", log.kind, LABEL, "log.kind"),)
    moment = () if log.moments else tuple(one for one in _moment(task) if one.name != "shown_at")
    return (*_keys(log), *kind, WantedColumn("at", log.at, TIME, "log.at"), *moment)


def wanted_moments(task: Task, log: EventColumns) -> tuple[WantedColumn, ...]:
    """What the second log, of moments, must hold."""
    return (*_keys(log), *_moment(task))


def check_columns(name: str, types: Mapping[str, str], wanted: tuple[WantedColumn, ...]) -> None:
    """Nothing, or the error of a column that is missing or of the wrong type."""
    missing = {one.column: one.key for one in wanted if one.column not in types}
    if missing:
        remedy = "rename or add them, or say in the task which columns they are: " + ", ".join(missing.values())
        if any(key.endswith(".known_at") for key in missing.values()):
            remedy += '; a value known when its horizon has passed needs known = "at horizon" instead of known_at'
        named = {one.column for one in wanted}
        free = {column.lower(): column for column in types if column not in named}
        near = {column: free.get(column.lower()) or _near(column, free.values()) for column in missing}
        if all(near.values()):
            remedy = f"did you mean {', '.join(map(str, near.values()))}? Then correct {', '.join(missing.values())}"
        raise DataError(f"{name} lacks the columns {', '.join(missing)}", list(types), remedy)
    for one in wanted:
        declared = types[one.column]
        if one.kind is TEXTS and declared.endswith("[]"):
            declared = declared.removesuffix("[]")
        if not one.kind.takes(declared):
            wrong = f"column {one.column} of {name} has the wrong type"
            remedy = f"make it {one.kind.words}, or change {one.key}"
            if declared == "BOOLEAN" and one.key.endswith(".happened_at"):
                remedy = flag_remedy(one.key, one.column)
            raise DataError(wrong, types[one.column], remedy)


def _near(column: str, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(column, list(names), 1, 0.8)), None)


def flag_remedy(key: str, column: str) -> str:
    """What to write where happened_at names a flag."""
    return (
        f'in [{key.removesuffix(".happened_at")}] write column = "{column}" with its values and known = "at horizon"; '
        "happened_at is for a time where it happened, and nothing where it did not"
    )


def _moment(task: Task) -> tuple[WantedColumn, ...]:
    log = task.log
    extra = [WantedColumn(name, column, LABEL, f"log.{key}") for name, column, key in
             (("id", log.id, "id"), ("grp", log.group, "group")) if column is not None]  # fmt: skip
    shown = () if log.shown_at is None else (WantedColumn("shown_at", log.shown_at, TIME, "log.shown_at"),)
    return (*shown, *extra, *wanted_features(task))


def wanted_features(task: Task) -> tuple[WantedColumn, ...]:
    """The features of an instance."""
    return tuple(
        WantedColumn(feature_name(place), f.column, _kind(f), f"instance.{f.name}", getattr(f, "separator", ","))
        for place, f in enumerate(task.instance)
    )


def _keys(log: EventColumns) -> tuple[WantedColumn, ...]:
    names = (("subject", log.subject), ("instance", log.instance))
    return tuple(WantedColumn(name, column, LABEL, f"log.{name}") for name, column in names if column is not None)


def _kind(feature: Feature) -> ColumnKind:
    if isinstance(feature, Category):
        return LABEL
    if isinstance(feature, SetFeature):
        return TEXTS
    if isinstance(feature, Boolean):
        return FLAG
    return TIME if isinstance(feature, Timestamp) else NUMBER
