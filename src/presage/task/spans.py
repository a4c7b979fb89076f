"""Spans of time in words: "7 days", "2 hours"."""

import re
from typing import NamedTuple

from presage.errors import SettingError

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
"""Seconds in each."""

REMEDY = 'write a number and a unit, such as "7 days" or "2 hours" (seconds, minutes, hours, days, weeks)'
LONGEST = 100 * 366 * 86_400


class Span(NamedTuple):
    """A span as it was written, and in microseconds."""

    words: str
    microseconds: int

    def __str__(self) -> str:
        return self.words


def span(name: str, value: object) -> Span:
    """The span that `value` says; `name` is what an error calls it.

    >>> span("horizon", "1.5 hours").microseconds
    5400000000
    """
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", value) if isinstance(value, str) else None
    seconds = float(parts[1]) * UNITS.get(parts[2], 0) if parts else 0.0
    if not 0 < seconds <= LONGEST:
        raise SettingError(f"{name} must be a span of time", value, REMEDY)
    return Span(str(value).strip(), round(seconds * 1_000_000))


def in_words(microseconds: int) -> str:
    """A span in the largest unit it fills at least once.

    >>> in_words(5_400_000_000)
    '1.5 hours'
    """
    seconds = microseconds / 1_000_000
    unit = next((name for name in reversed(UNITS) if name != "week" and seconds >= UNITS[name]), "second")
    amount = round(seconds / UNITS[unit], 1)
    return f"{amount:g} {unit}" + ("" if amount == 1 else "s")
