"""Warnings of what a log may give away: columns that tell the outcome too early, and delays that make no sense."""

from typing import Any, NamedTuple


class LogWarning(NamedTuple):
    """Something about a log that its user should look at before believing a score."""

    kind: str  # in a few words with hyphens, such as "tells-the-outcome"
    column: str  # of the log, or the signal of the task
    text: str  # one sentence: what is wrong, and what to do
    evidence: dict[str, float | int | str]  # the figures behind it

    @property
    def words(self) -> str:
        """The warning as one sentence that stands out.

        >>> LogWarning("tells-the-outcome", "state", "It gives the outcome away: leave it out.", {}).words
        'WARNING, column state: It gives the outcome away: leave it out.'
        """
        return f"WARNING, column {self.column}: {self.text}"

    def as_json(self) -> dict[str, Any]:
        """The warning as JSON values."""
        return {"kind": self.kind, "column": self.column, "text": self.text, "evidence": dict(self.evidence)}
