"""A log in memory: the same contract as the one on disk, in the simplest way."""

from collections.abc import Iterable, Sequence

from presage.joining.counters import Counters
from presage.joining.entries import FORMAT, Entry, EntryKind
from presage.joining.hash_chain import CHAIN, SEED, chain_start, seal
from presage.joining.join import Bin, Known
from presage.journal.interface import Commit, Head


class MemoryLog:
    def __init__(self, task: bytes, format: int = FORMAT) -> None:
        self.format = format
        self.head, self.counters = Head(0, chain_start(task, format), 0), Counters()
        self.log: list[Entry] = []
        self.chains = {0: self.head.chain}
        self.known: dict[str, Known] = {}

    def find(self, ids: Iterable[str]) -> dict[str, Known]:
        return {id: self.known[id] for id in ids if id in self.known}

    def commit(self, commit: Commit) -> Head:
        sealed = seal(self.format, self.head.chain, commit.entries, bytes(SEED))
        self.log += commit.entries
        self.known |= commit.known
        self.counters = commit.counters
        self.head = Head(self.log[-1].seq, sealed[:CHAIN], self.log[-1].at)
        self.chains[self.head.seq] = self.head.chain
        return self.head

    def read(self, after: int, limit: int) -> list[Entry]:
        return self.log[after : after + limit]

    def entries(self, seqs: Sequence[int]) -> list[Entry]:
        return [self.log[seq - 1] for seq in seqs]

    def notes(self, kind: EntryKind) -> list[Entry]:
        return [entry for entry in self.log if entry.kind == kind and self.format > 1]

    def notes_before(self, seq: int) -> int:
        return sum(entry.kind > EntryKind.LEARN for entry in self.log[: seq - 1])

    def chain_at(self, seq: int) -> bytes | None:
        return self.chains.get(seq)

    def due(self, kind: EntryKind, before: int, limit: int) -> list[str]:
        awaited = [
            (known.predicted, id)
            for id, known in self.known.items()
            if known.predicted and (known.proxy_bin if kind == EntryKind.PROXY else known.outcome_bin) is Bin.NONE
            if known.predicted_at < before
        ]
        return [id for _, id in sorted(awaited)][:limit]

    def check_files(self) -> None:
        pass

    def tidy(self) -> None:
        pass

    def close(self) -> None:
        pass
