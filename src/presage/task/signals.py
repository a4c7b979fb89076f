"""Proxies and outcomes as a task declares them: in columns of the log, or defined on its events."""

from dataclasses import dataclass

from presage.task.spans import Span


@dataclass(frozen=True)
class Labelled:
    """A column that holds the value, and one that holds the moment it became known."""

    column: str
    known_at: str
    position: str | None = None  # of a log that a service exported: the position at which it became learnable


@dataclass(frozen=True)
class Counted:
    """How many events of these kinds come within a span, in buckets; or the first value once an `unless` comes."""

    kinds: tuple[str, ...]
    within: Span
    edges: tuple[float, ...]
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class First:
    """Which of these kinds of event comes first within a span: the n-th kind gives the n-th value."""

    kinds: tuple[str, ...]
    within: Span


@dataclass(frozen=True)
class Signal:
    """A proxy or the outcome: its values, how long it may take, and what its absence means (None: it is censored)."""

    name: str
    values: tuple[str, ...]
    horizon: Span
    absent: str | None
    source: Labelled | Counted | First

    @property
    def absent_symbol(self) -> int | None:
        """The symbol of `absent`."""
        return None if self.absent is None else self.values.index(self.absent)
