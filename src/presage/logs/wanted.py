"""What a task needs of a log: the columns, what each must hold, and the name it goes by from then on."""

from collections.abc import Mapping
from typing import NamedTuple

from presage.errors import DataError
from presage.logs.kinds import NUMBER, NUMBER_TYPES, TIME, WHOLE, WHOLE_TYPES, Kind
from presage.task.columns import EventColumns
from presage.task.features import Boolean, Category, Feature, SetFeature, Timestamp
from presage.task.signals import Labelled
from presage.task.task import Task

WORD_TYPES = (*NUMBER_TYPES, "UUID", "BOOLEAN", "ENUM")
LABEL = Kind("words, whole numbers or booleans", WORD_TYPES)
FLAG = Kind("true or false", ("BOOLEAN", "VARCHAR", *WHOLE_TYPES))
TEXTS = Kind("a list of words, or words with a separator", (*WORD_TYPES,))


class Wanted(NamedTuple):
    """A column of the log, the kind of value it must hold, the key of the task that names it, and our name for it."""

    name: str
    column: str
    kind: Kind
    key: str
    separator: str = ","


def feature_name(place: int) -> str:
    """Our name for the feature at a place of the instance."""
    return f"f{place}"


def wanted_predictions(task: Task) -> tuple[Wanted, ...]:
    """What a log with one row per prediction must hold."""
    signals: list[Wanted] = []
    for place, signal in enumerate(task.signals):
        if isinstance(signal.source, Labelled):
            key = task.path(signal)
            signals.append(Wanted(f"v{place}", signal.source.column, LABEL, f"{key}.column"))
            signals.append(Wanted(f"t{place}", signal.source.known_at, TIME, f"{key}.known_at"))
            if signal.source.position:
                signals.append(Wanted(f"p{place}", signal.source.position, WHOLE, f"{key}.position"))
    if task.log.model:
        signals.append(Wanted("model", task.log.model, WHOLE, "log.model"))
    return (*_moment(task), *signals)


def wanted_events(task: Task, log: EventColumns) -> tuple[Wanted, ...]:
    """What a log of raw events must hold: more where some events are moments of prediction themselves."""
    kind = () if log.kind is None else (Wanted("kind", log.kind, LABEL, "log.kind"),)
    moment = () if log.moments else tuple(one for one in _moment(task) if one.name != "shown_at")
    return (*_keys(log), *kind, Wanted("at", log.at, TIME, "log.at"), *moment)


def wanted_moments(task: Task, log: EventColumns) -> tuple[Wanted, ...]:
    """What the second log, of moments, must hold."""
    return (*_keys(log), *_moment(task))


def check_columns(name: str, types: Mapping[str, str], wanted: tuple[Wanted, ...]) -> None:
    """Nothing, or the error of a column that is missing or of the wrong type."""
    missing = {one.column: one.key for one in wanted if one.column not in types}
    if missing:
        remedy = "rename or add them, or say in the task which columns they are: " + ", ".join(missing.values())
        raise DataError(f"{name} lacks the columns {', '.join(missing)}", list(types), remedy)
    for one in wanted:
        declared = types[one.column]
        if one.kind is TEXTS and declared.endswith("[]"):
            declared = declared.removesuffix("[]")
        if not one.kind.takes(declared):
            wrong = f"column {one.column} of {name} has the wrong type"
            raise DataError(wrong, types[one.column], f"make it {one.kind.words}, or change {one.key}")


def _moment(task: Task) -> tuple[Wanted, ...]:
    log = task.log
    extra = [Wanted(name, column, LABEL, f"log.{key}") for name, column, key in
             (("id", log.id, "id"), ("grp", log.group, "group")) if column is not None]  # fmt: skip
    features = [
        Wanted(feature_name(place), f.column, _kind(f), f"instance.{f.name}", getattr(f, "separator", ","))
        for place, f in enumerate(task.instance)
    ]
    return (Wanted("shown_at", log.shown_at, TIME, "log.shown_at"), *extra, *features)


def _keys(log: EventColumns) -> tuple[Wanted, ...]:
    names = (("subject", log.subject), ("instance", log.instance))
    return tuple(Wanted(name, column, LABEL, f"log.{name}") for name, column in names if column is not None)


def _kind(feature: Feature) -> Kind:
    if isinstance(feature, Category):
        return LABEL
    if isinstance(feature, SetFeature):
        return TEXTS
    if isinstance(feature, Boolean):
        return FLAG
    return TIME if isinstance(feature, Timestamp) else NUMBER
