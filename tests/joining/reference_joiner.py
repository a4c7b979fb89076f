"""The rules of joining, written a second time and as plainly as possible: all is found from everything that came."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

PREDICTION, PROXY, OUTCOME = "prediction", "proxy", "outcome"


class Rules(NamedTuple):
    horizon: dict[str, int]
    absent: dict[str, int | None]  # None: censored


class ReferenceJoiner:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.came: dict[tuple[str, str], tuple[int, object]] = {}  # (id, kind) -> when and what

    def arrive(self, at: int, kind: str, id: str, what: object) -> str:
        if (id, kind) not in self.came:
            self.came[id, kind] = at, what
            return "accepted"
        return "repeated" if self.came[id, kind][1] == what else "conflict"

    def fate(self, id: str, kind: str, now: int) -> tuple[str, int | None]:
        """The bin of a signal, and the symbol that is learnt."""
        came = self.came.get((id, kind))
        if (id, PREDICTION) not in self.came:
            return ("parked", None) if came else ("none", None)
        deadline = self.came[id, PREDICTION][0] + self.rules.horizon[kind]
        if came and came[0] <= deadline:
            return "trained", int(str(came[1]))
        if came:
            return "late", self.rules.absent[kind]
        return ("absent", self.rules.absent[kind]) if now > deadline else ("none", None)

    def ids(self) -> list[str]:
        return sorted({id for id, _ in self.came})

    def trained(self, now: int) -> dict[tuple[str, str], int]:
        """All that is ever learnt, if time ends now."""
        found = ((id, kind, self.fate(id, kind, now)[1]) for id in self.ids() for kind in (PROXY, OUTCOME))
        return {(id, kind): symbol for id, kind, symbol in found if symbol is not None}

    def counts(self, now: int) -> Counter[tuple[object, ...]]:
        """The counts of a table that counts pairs of instance and proxy, instance and outcome, proxy and outcome."""
        trained, counts = self.trained(now), Counter[tuple[object, ...]]()
        for id in self.ids():
            z, y = trained.get((id, PROXY)), trained.get((id, OUTCOME))
            x = self.came[id, PREDICTION][1] if (id, PREDICTION) in self.came else None
            counts.update([("x, z", x, z)] if z is not None else [])
            counts.update([("x, y", x, y)] if y is not None else [])
            counts.update([("z, y", z, y)] if z is not None and y is not None else [])
        return counts

    def bins(self, now: int) -> Counter[str]:
        return Counter(bin for id in self.ids() for bin in self._bins(id, now))

    def _bins(self, id: str, now: int) -> Iterator[str]:
        fates = [self.fate(id, kind, now)[0] for kind in (PROXY, OUTCOME)]
        for fate in fates:
            yield from {"none": [], "late": ["absent", "late"]}.get(fate, [fate])
        if (id, PREDICTION) in self.came:
            yield "open" if "none" in fates else "trained" if "trained" in fates else "absent"
