"""Where a column of numbers is cut into values, and what these are called."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from presage.task.section import TaskSection

MOST_QUANTILES = 20


@dataclass(frozen=True)
class NumberCuts:
    """A number's value is how many of the edges it reaches; a log finds the edges where only quantiles are given."""

    edges: tuple[float, ...]
    quantiles: int | None = None  # into so many parts, equally full
    told: str = ""  # from which rows of a log the edges are

    @property
    def is_open(self) -> bool:
        """Whether a log has yet to tell the edges."""
        return not self.edges

    def __str__(self) -> str:
        return f"quantiles:{self.quantiles}" if self.is_open else f"[{', '.join(map(edge_words, self.edges))}]"

    def symbol(self, number: float) -> int:
        """The symbol of a number.

        >>> [NumberCuts((10, 20)).symbol(number) for number in (9.5, 10, 25)]
        [0, 1, 2]
        """
        return bisect_right(self.edges, number)


def read_cuts(section: TaskSection) -> NumberCuts | None:
    """The edges of a table: rising numbers, or how many quantiles; None where it has none."""
    if not section.has("edges"):
        return None
    given = section.table["edges"]
    if not isinstance(given, str):
        return NumberCuts(tuple(map(float, section.edges("edges"))))
    parts = re.fullmatch(r"quantiles:(\d{1,3})", given)
    if not parts or not 2 <= int(parts[1]) <= MOST_QUANTILES:
        wrong = f'must be rising numbers, or "quantiles:N" with N from 2 to {MOST_QUANTILES}'
        raise section.refuse("edges", wrong, 'write edges = [1, 5] or edges = "quantiles:4"')
    return NumberCuts((), int(parts[1]))


def edge_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """What the values between edges are called: always the same, and each differently.

    >>> edge_labels([10, 20.5])
    ('below 10', '10 to 20.5', '20.5 or more')
    """
    words = [edge_words(edge) for edge in edges]
    between = [f"{low} to {high}" for low, high in pairwise(words)]
    return (f"below {words[0]}", *between, f"{words[-1]} or more")


def edge_words(edge: float) -> str:
    """A number, exactly and as short as it can be.

    >>> [edge_words(edge) for edge in (2.0, 0.1, 1e300)]
    ['2', '0.1', '1e+300']
    """
    return str(int(edge)) if edge == int(edge) and abs(edge) < 1e15 else repr(float(edge))
