"""What an instance is made of, as a task declares it: six kinds of feature."""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Number(Feature):
    """One dense number: (value - centre) / scale."""

    centre: float = 0.0
    scale: float = 1.0


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
