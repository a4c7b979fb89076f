"""What was left out of a log while it was read, counted by reason: nothing is dropped without a word."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Exclusions(NamedTuple):
    """How many were left out for each reason, and one of them by name where they have names."""

    counts: dict[str, int]
    examples: dict[str, str]

    def lines(self) -> list[str]:
        """One line to print for each reason that left something out.

        >>> left_out({"shallow clones": ["a", "b"], "empty repositories": [], "commits after the snapshot": 7}).lines()
        ['shallow clones: 2, such as a', 'commits after the snapshot: 7']
        """
        return [
            f"{reason}: {count:,}" + (f", such as {self.examples[reason]}" if reason in self.examples else "")
            for reason, count in self.counts.items()
            if count
        ]


def left_out(found: Mapping[str, Sequence[str] | int]) -> Exclusions:
    """Exclusions from the names, or the number, of what was left out for each reason."""
    counts = {reason: one if isinstance(one, int) else len(one) for reason, one in found.items()}
    examples = {reason: one[0] for reason, one in found.items() if not isinstance(one, int) and one}
    return Exclusions(counts, examples)
