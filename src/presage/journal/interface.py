"""The durable log, as the rest of the service uses it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from presage.joining.counters import Counters
from presage.joining.entries import Entry, EntryKind
from presage.joining.join import Known


class Head(NamedTuple):
    """The last entry of a log."""

    seq: int
    chain: bytes
    at: int


class Commit(NamedTuple):
    """Entries and state to write together or not at all."""

    entries: list[Entry]
    known: dict[str, Known]  # of the ids that the entries name
    counters: Counters


class LogStore(Protocol):
    """A log with one writer, and the state of every id in it."""

    @property
    def format(self) -> int:
        """The format of its entries."""
        ...

    @property
    def head(self) -> Head:
        """The last entry; seq 0 if there is none."""
        ...

    @property
    def counters(self) -> Counters:
        """Counts of the entries and lessons of the log."""
        ...

    def find(self, ids: Iterable[str]) -> dict[str, Known]:
        """The states of ids; unknown ones are left out."""
        ...

    def commit(self, commit: Commit) -> Head:
        """The new head, once the entries are durable."""
        ...

    def read(self, after: int, limit: int) -> list[Entry]:
        """The entries after a position, as many as there are up to a limit, checked against the chain."""
        ...

    def entries(self, seqs: Sequence[int]) -> list[Entry]:
        """Single entries, in the given order."""
        ...

    def notes(self, kind: EntryKind) -> list[Entry]:
        """The notes of a kind, in order; a log of format 1 has none."""
        ...

    def notes_before(self, seq: int) -> int:
        """How many notes of any kind lie before a position."""
        ...

    def chain_at(self, seq: int) -> bytes | None:
        """The hash of the log up to an entry that ended a commit; None for any other position."""
        ...

    def due(self, kind: EntryKind, before: int, limit: int) -> list[str]:
        """Ids predicted before a time that still lack their proxy or outcome, oldest first."""
        ...

    def check_files(self) -> None:
        """Raise StoreFailedError if what holds the log was deleted or replaced since it was opened."""
        ...

    def tidy(self) -> None:
        """Clean up between commits."""
        ...

    def close(self) -> None:
        """Close the log."""
        ...
