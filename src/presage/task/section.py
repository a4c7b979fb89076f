"""One table of a task file, read key by key: what is missing, wrong or unknown is refused by its dotted path."""

import difflib
import sys
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from presage.errors import SettingError
from presage.task.spans import Span, span


class TaskSection:
    """The keys of one table; `finish` refuses those that nobody asked for.

    >>> TaskSection({"horizn": "7 days"}, "proxy").span("horizon")
    Traceback (most recent call last):
    presage.errors.SettingError: proxy.horizn is not a key: found 'horizn'; did you mean horizon?
    """

    def __init__(self, table: Any, path: str) -> None:
        self.path = path
        if not isinstance(table, Mapping):
            raise SettingError(f"{path} must be a table", table, f"write [{path}] and its keys below it")
        self.table = table
        self._asked: list[str] = []

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        self._asked.append(key)
        return key in self.table

    def refuse(self, key: str, wrong: str, remedy: str) -> SettingError:
        """The error that names this key, its value and the remedy."""
        return SettingError(f"{self.at(key)} {wrong}", self.table.get(key), remedy)

    def at(self, key: str) -> str:
        """The dotted path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def text(self, key: str, default: str | None = None) -> str:
        """Words that are not empty."""
        value = self._value(key, default, 'give it in quotes, such as "a name"')
        if not isinstance(value, str) or not value.strip():
            raise self.refuse(key, "must be words", 'give it in quotes, such as "a name"')
        return value

    def text_or_none(self, key: str) -> str | None:
        """Words, or None where the key is left out."""
        return self.text(key) if self.has(key) else None

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Several different words, at least one; numbers and booleans are taken as a log writes them."""
        remedy = 'give a list, such as ["no", "yes"]'
        values = self._value(key, default, remedy)
        values = [values] if isinstance(values, str) else values
        if not isinstance(values, list | tuple) or not values:
            raise self.refuse(key, "must be a list of words", remedy)
        words = tuple(_word(value) for value in values)
        if any(not word for word in words):
            raise self.refuse(key, "must be a list of words", remedy)
        if len(set(words)) < len(words):
            raise self.refuse(key, "names something twice", "name each once")
        return tuple(word or "" for word in words)

    def number(self, key: str, default: float) -> float:
        """A finite number."""
        value = self._value(key, default, "give a number")
        if not _is_number(value):
            raise self.refuse(key, "must be a finite number", f"give a number, such as {default}")
        return float(value)

    def whole_or_none(self, key: str, least: int) -> int | None:
        """A whole number of at least `least`, or None where the key is left out."""
        if not self.has(key):
            return None
        value = self.table[key]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
            raise self.refuse(key, f"must be a whole number of at least {least}", f"give {least} or more")
        return value

    def edges(self, key: str) -> tuple[float, ...]:
        """Numbers that rise: a count falls into as many buckets and one more."""
        remedy = "give rising numbers, such as [1, 2, 4]"
        values = self._value(key, None, remedy)
        if not isinstance(values, list) or not values or not all(_is_number(value) for value in values):
            raise self.refuse(key, "must be a list of numbers", remedy)
        if any(low >= high for low, high in pairwise(map(float, values))):
            raise self.refuse(key, "must rise", remedy)
        return tuple(values)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._value(key, default, "give true or false")
        if not isinstance(value, bool):
            raise self.refuse(key, "must be true or false", "give true or false, without quotes")
        return value

    def span(self, key: str) -> Span | None:
        """A span such as "7 days", or None where the key is left out."""
        found = span(self.at(key), self.table[key]) if self.has(key) else None
        if found is None:
            self._refuse_unlike(key)
        return found

    def table_of(self, key: str) -> "TaskSection":
        """A table within this one; empty where it is left out."""
        return TaskSection(self.table[key] if self.has(key) else {}, self.at(key))

    def finish(self) -> None:
        """Nothing, or the error of the first key that nobody asked for."""
        for key in self.table:
            if key not in self._asked:
                near = difflib.get_close_matches(key, self._asked, 1, 0.6)
                remedy = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(dict.fromkeys(self._asked))}"
                raise SettingError(f"{self.at(key)} is not a key", key, remedy)

    def _value(self, key: str, default: Any, remedy: str) -> Any:
        if self.has(key):
            return self.table[key]
        if default is None:
            self._refuse_unlike(key)
            raise SettingError(f"{self.at(key)} is missing", list(self.table), remedy)
        return default

    def _refuse_unlike(self, key: str) -> None:
        """Where a key that is wanted is not there, one spelt much like it is the likelier mistake."""
        unknown = [name for name in self.table if name not in self._asked]
        for near in difflib.get_close_matches(key, unknown, 1, 0.8):
            raise SettingError(f"{self.at(near)} is not a key", near, f"did you mean {key}?")


def _word(value: object) -> str | None:
    """A value as a log writes it: true, 1 and words; None where it is none of them."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | str) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
