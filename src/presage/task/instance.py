"""The [instance] table of a task file, read into features."""

import dataclasses
from collections.abc import Callable

from presage.errors import SettingError
from presage.task.features import PARTS, Boolean, Category, Count, Feature, Number, SetFeature, Timestamp
from presage.task.section import Section


def read_instance(section: Section) -> tuple[Feature, ...]:
    """The features declared, the identity first: the category marked so, otherwise the first one."""
    features = [_feature(section, name) for name in section.table]
    if not features:
        raise SettingError("instance declares no feature", {}, 'write one, such as item = { kind = "category" }')
    categories = [feature for feature in features if isinstance(feature, Category)]
    marked = [feature.name for feature in categories if feature.identity]
    if len(marked) > 1:
        raise SettingError("instance has more than one identity", marked, "mark one category with identity = true")
    for place, feature in enumerate(features):
        if isinstance(feature, Category) and feature.name == (marked or [categories[0].name])[0]:
            identity = dataclasses.replace(feature, identity=True)
            return (identity, *features[:place], *features[place + 1 :])
    return tuple(features)


def _feature(section: Section, name: str) -> Feature:
    if "." in name:
        raise SettingError(
            f"{section.at(name)} has a dot in its name", name, 'name it without, and give column = "..."'
        )
    keys = section.table_of(name)
    kind = keys.text("kind")
    if kind not in KINDS:
        raise keys.refuse("kind", "is unknown", f"choose one of {', '.join(KINDS)}")
    feature = KINDS[kind](keys, name, keys.text("column", name))
    keys.finish()
    return feature


def _category(keys: Section, name: str, column: str) -> Feature:
    hashed, values = _symbols(keys)
    missing = keys.text_or_none("missing")
    _check_missing(keys, missing, values)
    return Category(name, column, missing, keys.flag("identity", False), hashed, values)


def _set(keys: Section, name: str, column: str) -> Feature:
    hashed, values = _symbols(keys)
    return SetFeature(name, column, None, keys.text("separator", ","), keys.whole_or_none("slots", 1), hashed, values)


def _number(keys: Section, name: str, column: str) -> Feature:
    centre, scale = keys.number("centre", 0.0), keys.number("scale", 1.0)
    if scale <= 0:
        raise keys.refuse("scale", "must be above 0", "give the size of a usual difference")
    return Number(name, column, _number_or_none(keys), centre, scale)


def _count(keys: Section, name: str, column: str) -> Feature:
    return Count(name, column, _number_or_none(keys), keys.edges("edges"))


def _boolean(keys: Section, name: str, column: str) -> Feature:
    return Boolean(name, column, keys.flag("missing", False) if keys.has("missing") else None)


def _timestamp(keys: Section, name: str, column: str) -> Feature:
    parts = keys.texts("parts")
    if any(part not in PARTS for part in parts):
        raise keys.refuse("parts", "names an unknown part", f"choose among {', '.join(PARTS)}")
    return Timestamp(name, column, None, parts)


KINDS: dict[str, Callable[[Section, str, str], Feature]] = {
    "category": _category,
    "set": _set,
    "number": _number,
    "count": _count,
    "boolean": _boolean,
    "timestamp": _timestamp,
}


def _symbols(keys: Section) -> tuple[int | None, tuple[str, ...]]:
    """Into how many symbols values are hashed, or which values there are; neither where the log tells."""
    hashed = keys.whole_or_none("hashed", 2)
    values = keys.texts("values") if keys.has("values") else ()
    if hashed and values:
        raise keys.refuse("hashed", "contradicts values", "leave one of the two out")
    return hashed, values


def _check_missing(keys: Section, missing: str | None, values: tuple[str, ...]) -> None:
    if missing is not None and values and missing not in values:
        raise keys.refuse("missing", "is not among its values", f"choose one of {', '.join(values)}")


def _number_or_none(keys: Section) -> float | None:
    return keys.number("missing", 0.0) if keys.has("missing") else None
