"""The ranges a setting may lie in: each check returns the value or refuses it."""

import difflib
import math
from collections.abc import Iterable, Sequence

from presage.errors import SettingError


def whole(name: str, value: int, least: int = 1) -> int:
    """`value` as an int of at least `least`."""
    if isinstance(value, bool) or not _is_whole(value) or value < least:
        raise SettingError(f"{name} must be a whole number of at least {least}", value, f"give {name}={least} or more")
    return int(value)


def positive(name: str, value: float) -> float:
    """`value` as a finite float above zero."""
    if not _is_number(value) or not value > 0:
        raise SettingError(f"{name} must be a finite number above 0", value, f"give {name} a positive number")
    return float(value)


STRENGTHS = 1e-9, 1e30
"""The least and the greatest weight of a prior. Beyond them float32, in which tables may be read, makes zeros or
infinities of a prior and NaN of an answer."""


def strength(name: str, value: float) -> float:
    """`value`, checked as the weight of a prior in observations."""
    low, high = STRENGTHS
    if not low <= positive(name, value) <= high:
        raise SettingError(f"{name} must lie in [{low:g}, {high:g}]", value, f"choose {name} in that range")
    return float(value)


def between(name: str, value: float, low: float, high: float) -> float:
    """`value` as a float with low <= value < high."""
    if not _is_number(value) or not low <= value < high:
        raise SettingError(f"{name} must lie in [{low}, {high})", value, f"choose {name} in that range")
    return float(value)


def share(name: str, value: float) -> float:
    """`value` as a float from 0 to 1."""
    if not _is_number(value) or not 0 <= value <= 1:
        raise SettingError(f"{name} must be a share from 0 to 1", value, f"choose {name} in that range")
    return float(value)


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """`value`, if it is one of `choices`."""
    if value not in choices:
        raise SettingError(f"{name} is unknown", value, f"choose one of {', '.join(choices)}")
    return value


def nearest(name: str, names: Iterable[str]) -> str:
    """What to do about a name that is none of `names`: take the one it resembles, or any.

    >>> nearest("mixtur", ["marginal", "mixture"]), nearest("oracle", ["marginal", "mixture"])
    ('did you mean mixture?', 'choose one of marginal, mixture')
    """
    known = list(names)
    near = difflib.get_close_matches(name, known, 1, 0.7)
    return f"did you mean {near[0]}?" if near else f"choose one of {', '.join(known)}"


def _is_whole(value: object) -> bool:
    return hasattr(value, "__index__")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
