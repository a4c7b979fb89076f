"""Spans of time in words, such as "7 days", and of rows, such as "500 rows"."""

import re
from typing import NamedTuple

from presage.errors import SettingError

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
"""Seconds in each."""

REMEDY = 'write a number and a unit, such as "7 days" or "2 hours" (seconds, minutes, hours, days, weeks)'
LONGEST = 100 * 366 * 86_400

ROW = 1_000_000
"""Microseconds that stand for one row of a log without times: its first row is one second into 1970.

So whatever works with moments and spans of time works with the numbers of rows.
"""


class Span(NamedTuple):
    """A span as it was written, and in microseconds; a row counts as `ROW` of them."""

    words: str
    microseconds: int
    rows: bool = False

    def __str__(self) -> str:
        return self.words


def span(name: str, value: object) -> Span:
    """The span that `value` says; `name` is what an error calls it.

    >>> span("horizon", "1.5 hours").microseconds
    5400000000
    >>> span("horizon", "500 rows").microseconds // ROW
    500
    """
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", value) if isinstance(value, str) else None
    rows = parts is not None and parts[2] == "row"
    if rows and parts and not parts[1].isdigit():
        raise SettingError(f"{name} must be a whole number of rows", value, 'write it like "500 rows"')
    seconds = float(parts[1]) * (ROW / 1_000_000 if rows else UNITS.get(parts[2], 0)) if parts else 0.0
    if not 0 < seconds <= LONGEST:
        raise SettingError(f"{name} must be a span of time", value, REMEDY)
    return Span(str(value).strip(), round(seconds * 1_000_000), rows)


def in_words(microseconds: int, rows: bool = False) -> str:
    """A span in the largest unit it fills at least once, or in rows.

    >>> in_words(5_400_000_000), in_words(12_000 * ROW, rows=True)
    ('1.5 hours', '12,000 rows')
    """
    if rows:
        number = round(microseconds / ROW)
        return f"{number:,} row" + ("" if number == 1 else "s")
    seconds = microseconds / 1_000_000
    unit = next((name for name in reversed(UNITS) if name != "week" and seconds >= UNITS[name]), "second")
    amount = round(seconds / UNITS[unit], 1)
    return f"{amount:g} {unit}" + ("" if amount == 1 else "s")


def row_at(microseconds: int) -> str:
    """The row that a moment stands for in a log without times.

    >>> row_at(12_000 * ROW)
    'row 12,000'
    """
    return f"row {round(microseconds / ROW):,}"
