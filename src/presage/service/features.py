"""Features of an instance from JSON values, encoded in the same way as those of a log."""

import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from presage.errors import FeatureError, SettingError
from presage.spaces import EMPTY
from presage.task.features import Boolean, Category, Count, Feature, Number, SetFeature, Timestamp, hashed_symbol
from presage.task.task import Task


class EncodedFeatures(NamedTuple):
    """The features of an instance: symbols and slots, and numbers."""

    symbols: list[int]
    dense: list[float]


Encode = Callable[[Mapping[str, Any]], EncodedFeatures]

PART: dict[str, Callable[[datetime], int]] = {
    "hour": lambda at: at.hour,
    "weekday": lambda at: at.weekday(),
    "day": lambda at: at.day - 1,
    "week": lambda at: at.isocalendar().week - 1,
    "month": lambda at: at.month - 1,
    "quarter": lambda at: (at.month - 1) // 3,
}


def check_servable(task: Task) -> None:
    """Raise SettingError if no service can serve the task, whatever its features are."""
    if task.in_rows:
        remedy = "give [log] a column of times, and the horizons as spans of time"
        raise SettingError("a service needs times, and the task has only the order of rows", "rows", remedy)
    for signal in task.signals:
        if signal.cuts and signal.cuts.is_open:
            remedy = "write the numbers that `presage task check FILE --log LOG` prints"
            raise SettingError(f"a service needs {task.path(signal)}.edges as numbers", str(signal.cuts), remedy)


def feature_encoder(task: Task, *, accepted: bool = False) -> Encode:
    """The function that encodes the features of an instance, given by name.

    A task that takes its categories from a log is refused: a service must know them before its first request. Numbers
    of instances that a service has `accepted` before are clipped where this task would refuse them.
    """
    for feature in task.learned:
        if not feature.hashed and not feature.values:
            remedy = f"add hashed = 65536, or values = [...], to instance.{feature.name}"
            raise SettingError("a service needs to know how many values a feature has", feature.name, remedy)
        if isinstance(feature, SetFeature) and feature.slots is None:
            wrong = "a service needs to know how large a set can be"
            raise SettingError(wrong, feature.name, "add slots = 8, for example")
    names = [feature.name for feature in task.instance]

    def encode(values: Mapping[str, Any]) -> EncodedFeatures:
        for name in values:
            if name not in names:
                raise FeatureError("no feature has this name", name, f"give {', '.join(names)}")
        symbols: list[int] = []
        slots: list[int] = []
        dense: list[float] = []
        for feature in task.instance:
            value = values.get(feature.name)
            value = feature.missing if value is None else value
            if value is None:
                remedy = "give it, or set missing = ... for it in the task file"
                raise FeatureError("a feature is missing", feature.name, remedy)
            if isinstance(feature, SetFeature):
                slots += _set(feature, value)
            elif isinstance(feature, Number):
                number = _number(feature, value)
                if not (accepted or feature.takes(number)):
                    raise FeatureError(
                        f"{feature.name} is {feature.beyond}", value, "give a number within these bounds"
                    )
                dense.append(feature.scaled(number))
            else:
                symbols += _symbols(feature, value)
        return EncodedFeatures(symbols + slots, dense)

    return encode


def _symbols(feature: Feature, value: Any) -> list[int]:
    if isinstance(feature, Category):
        return [_symbol(feature, value)]
    if isinstance(feature, Count):
        number = _number(feature, value)
        return [sum(number >= edge for edge in feature.edges)]
    if isinstance(feature, Boolean):
        if not isinstance(value, bool):
            raise FeatureError(f"{feature.name} must be true or false", value, "give a boolean")
        return [int(value)]
    assert isinstance(feature, Timestamp)
    at = as_moment(feature, value)
    return [PART[part](at) for part in feature.parts]


def _symbol(feature: Category | SetFeature, value: Any) -> int:
    if not isinstance(value, str):
        raise FeatureError(f"{feature.name} must be text", value, "give a string")
    if feature.hashed:
        return hashed_symbol(value, feature.hashed)
    if value not in feature.values:
        raise FeatureError(f"{feature.name} has no such value", value, f"give one of {', '.join(feature.values[:20])}")
    return feature.values.index(value)


def _set(feature: SetFeature, value: Any) -> list[int]:
    if isinstance(value, str):
        value = [word.strip() for word in value.split(feature.separator) if word.strip()]
    if not isinstance(value, list):
        raise FeatureError(f"{feature.name} must be a list of strings", value, "give a list")
    codes = sorted({_symbol(feature, word) for word in value})
    assert feature.slots is not None
    if len(codes) > feature.slots:
        raise FeatureError(f"{feature.name} has more values than slots", len(codes), f"give at most {feature.slots}")
    return codes + [EMPTY] * (feature.slots - len(codes))


def _number(feature: Feature, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise FeatureError(f"{feature.name} must be a number", value, "give a finite number")
    return float(value)


def as_moment(feature: Timestamp, value: Any) -> datetime:
    """The time, in UTC, that a text stands for."""
    try:
        given = datetime.fromisoformat(value)
        at = given.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        remedy = 'give text such as "2026-11-16T09:30:00Z"'
        raise FeatureError(f"{feature.name} is not a time", value, remedy) from error
    if given.tzinfo is None:
        raise FeatureError(f"{feature.name} has no time zone", value, "add one, such as Z")
    return at
