"""Features of an instance: their kinds, and how the task file declares them."""

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from presage.errors import SettingError
from presage.task.section import TaskSection


def hashed_symbol(value: str, size: int) -> int:
    """The symbol below `size` of `value`: the last eight bytes of its MD5 as a little-endian number, modulo `size`.

    >>> hashed_symbol("abc", 1000)
    838
    """
    digest = hashlib.md5(value.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little") % size


PARTS = {"hour": 24, "weekday": 7, "day": 31, "week": 53, "month": 12, "quarter": 4}
"""The parts of a timestamp and how many symbols each has; Monday is weekday 0, January month 0."""


@dataclass(frozen=True)
class Feature:
    """A feature by name, the column of the log that holds it, and what stands for a missing value (None: refused)."""

    name: str
    column: str
    missing: str | float | bool | None


@dataclass(frozen=True)
class Category(Feature):
    """One symbol: from the `values` declared, from those of the log, or by a hash into `hashed` symbols."""

    identity: bool = False
    hashed: int | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetFeature(Feature):
    """Up to `slots` symbols (None: as many as the fullest set of the log): a list, or words parted by `separator`."""

    separator: str = ","
    slots: int | None = None
    hashed: int | None = None
    values: tuple[str, ...] = ()


MOST_SCALES = 1e30
"""No number lies more scales from its centre: it is clipped, so that it stays far inside the range of float32."""


@dataclass(frozen=True)
class Number(Feature):
    """One dense number: (value - centre) / scale. A value beyond `least` or `most` is refused, or becomes that bound.

    >>> price = Number("price", "price", None, scale=2.0, most=100.0, clips=True)
    >>> price.scaled(150.0), price.takes(150.0), price.beyond
    (50.0, True, 'above 100')
    """

    centre: float = 0.0
    scale: float = 1.0
    least: float | None = None
    most: float | None = None
    clips: bool = False

    def takes(self, value: float) -> bool:
        """Whether a value is taken, as it is or clipped."""
        return self.clips or value == self._bounded(value)

    def scaled(self, value: float) -> float:
        """What a value becomes, between its bounds."""
        return max(min((self._bounded(value) - self.centre) / self.scale, MOST_SCALES), -MOST_SCALES)

    @property
    def beyond(self) -> str:
        """What a value is that is out of bounds, in words; empty without bounds."""
        if self.least is None:
            return "" if self.most is None else f"above {self.most:,.15g}"
        return f"below {self.least:,.15g}" + ("" if self.most is None else f" or above {self.most:,.15g}")

    def _bounded(self, value: float) -> float:
        value = value if self.least is None else max(value, self.least)
        return value if self.most is None else min(value, self.most)


@dataclass(frozen=True)
class Count(Feature):
    """One symbol: how many of the edges the value reaches."""

    edges: tuple[float, ...] = ()


@dataclass(frozen=True)
class Boolean(Feature):
    """One symbol: 0 or 1."""


@dataclass(frozen=True)
class Timestamp(Feature):
    """One symbol for each part, in UTC."""

    parts: tuple[str, ...] = ()


def symbol_names(features: tuple[Feature, ...]) -> tuple[str, ...]:
    """The names of the symbol columns: a feature's own, or feature.part for the parts of a timestamp.

    >>> symbol_names((Category("user", "user", None), Timestamp("at", "at", None, ("hour", "month"))))
    ('user', 'at.hour', 'at.month')
    """
    names: list[str] = []
    for feature in features:
        if isinstance(feature, Timestamp):
            names += [f"{feature.name}.{part}" for part in feature.parts]
        elif isinstance(feature, Category | Count | Boolean):
            names.append(feature.name)
    return tuple(names)


def read_instance(section: TaskSection) -> tuple[Feature, ...]:
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


def _feature(section: TaskSection, name: str) -> Feature:
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


def _category(keys: TaskSection, name: str, column: str) -> Feature:
    hashed, values = _symbols(keys)
    missing = keys.text_or_none("missing")
    _check_missing(keys, missing, values)
    return Category(name, column, missing, keys.flag("identity", False), hashed, values)


def _set(keys: TaskSection, name: str, column: str) -> Feature:
    hashed, values = _symbols(keys)
    return SetFeature(name, column, None, keys.text("separator", ","), keys.whole_or_none("slots", 1), hashed, values)


def _number(keys: TaskSection, name: str, column: str) -> Feature:
    centre, scale = keys.number("centre", 0.0), keys.number("scale", 1.0)
    if scale <= 0:
        raise keys.refuse("scale", "must be above 0", "give the size of a usual difference")
    least, most = (keys.number(key, 0.0) if keys.has(key) else None for key in ("min", "max"))
    if least is not None and most is not None and least >= most:
        raise keys.refuse("max", "must be above min", f"give more than {least:,.15g}")
    if keys.has("outside") and least is None and most is None:
        raise keys.refuse("outside", "says nothing without bounds", "give min, max or both, or leave it out")
    outside = keys.text("outside", "refuse")
    if outside not in ("refuse", "clip"):
        raise keys.refuse("outside", "is unknown", "choose refuse or clip")
    missing = _number_or_none(keys)
    number = Number(name, column, missing, centre, scale, least, most, outside == "clip")
    if missing is not None and not number.takes(missing):
        raise keys.refuse("missing", f"is {number.beyond}", 'give a number within min and max, or outside = "clip"')
    return number


def _count(keys: TaskSection, name: str, column: str) -> Feature:
    return Count(name, column, _number_or_none(keys), keys.edges("edges"))


def _boolean(keys: TaskSection, name: str, column: str) -> Feature:
    return Boolean(name, column, keys.flag("missing", False) if keys.has("missing") else None)


def _timestamp(keys: TaskSection, name: str, column: str) -> Feature:
    parts = keys.texts("parts")
    if any(part not in PARTS for part in parts):
        raise keys.refuse("parts", "names an unknown part", f"choose among {', '.join(PARTS)}")
    return Timestamp(name, column, None, parts)


KINDS: dict[str, Callable[[TaskSection, str, str], Feature]] = {
    "category": _category,
    "set": _set,
    "number": _number,
    "count": _count,
    "boolean": _boolean,
    "timestamp": _timestamp,
}


def _symbols(keys: TaskSection) -> tuple[int | None, tuple[str, ...]]:
    """Into how many symbols values are hashed, or which values there are; neither where the log tells."""
    hashed = keys.whole_or_none("hashed", 2)
    values = keys.texts("values") if keys.has("values") else ()
    if hashed and values:
        raise keys.refuse("hashed", "contradicts values", "leave one of the two out")
    return hashed, values


def _check_missing(keys: TaskSection, missing: str | None, values: tuple[str, ...]) -> None:
    if missing is not None and values and missing not in values:
        raise keys.refuse("missing", "is not among its values", f"choose one of {', '.join(values)}")


def _number_or_none(keys: TaskSection) -> float | None:
    return keys.number("missing", 0.0) if keys.has("missing") else None
