"""What was left out of a log while it was read, or stayed unknown, counted by reason: nothing goes without a word."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class Exclusions(NamedTuple):
    """How many were left out for each reason, and one of them by name where they have names.

    Rows that were kept though a signal of theirs did not come in time are counted too; `kept` says what was made of
    that signal instead.
    """

    counts: dict[str, int]
    examples: dict[str, str]
    kept: Mapping[str, str] = MappingProxyType({})

    def lines(self) -> list[str]:
        """One line to print for each reason that left something out.

        >>> left_out({"shallow clones": ["a", "b"], "empty repositories": [], "commits after the snapshot": 7}).lines()
        ['shallow clones: 2, such as a', 'commits after the snapshot: 7']
        """
        return [self._line(reason) for reason, count in self.counts.items() if count]

    def told(self) -> list[str]:
        """The same lines, each with what became of those it counts.

        >>> Exclusions({"rows without a time": 2, "outcome came late": 1}, {}, {"outcome came late": "censored"}).told()
        ['left out: rows without a time: 2', 'censored: outcome came late: 1']
        """
        reasons = [reason for reason, count in self.counts.items() if count]
        return [f"{self.kept.get(reason, 'left out')}: {self._line(reason)}" for reason in reasons]

    def _line(self, reason: str) -> str:
        example = f", such as {self.examples[reason]}" if reason in self.examples else ""
        return f"{reason}: {self.counts[reason]:,}{example}"


def left_out(found: Mapping[str, Sequence[str] | int]) -> Exclusions:
    """Exclusions from the names, or the number, of what was left out for each reason."""
    counts = {reason: one if isinstance(one, int) else len(one) for reason, one in found.items()}
    examples = {reason: one[0] for reason, one in found.items() if not isinstance(one, int) and one}
    return Exclusions(counts, examples)
