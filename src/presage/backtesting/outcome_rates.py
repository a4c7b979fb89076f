"""How often each outcome comes, over all rows and given each value of the proxy: what a verdict begins with."""

from typing import Any, NamedTuple

import numpy as np

from presage.dataframes import Columns, columns_of
from presage.logs.rows import LogRows
from presage.proxies.judge import SELDOM, one_value
from presage.spaces import Array
from presage.task.task import Task

MOST = 6
"""How many values of the proxy, and of the outcome, the terminal and the top of the page show; files have all."""

MOSTLY_ABSENT = 0.02
"""If the proxy of a smaller share of rows is anything but absent, the verdict says so."""

NOT_KNOWN = "not known"
"""What tables call the proxy of rows of which it never became known."""


class OutcomeRates(NamedTuple):
    """Counts of outcomes by value of the proxy, of the rows whose outcome is known."""

    proxy: str
    values: tuple[str, ...]
    outcomes: tuple[str, ...]
    counts: Array  # int64 [Z + 1, Y]: the last are rows whose proxy is not known
    absent: int | None = None  # the value of the proxy that stands for its absence

    @property
    def total(self) -> Array:
        """How often each outcome came: int64 [Y]."""
        return self.counts.sum(axis=0)

    @property
    def sentence(self) -> str:
        """The base rate in words.

        >>> OutcomeRates("opened", ("no", "yes"), ("lost", "won"), np.array([[6, 1], [1, 2], [0, 0]])).sentence
        'The outcome is known for 10 predictions: lost 70.0 %, won 30.0 %.'
        """
        known, often = int(self.total.sum()), _frequent(self.total)
        shares = [f"{self.outcomes[place]} {_share(self.total[place], known)}" for place in often]
        if len(often) < len(self.outcomes):
            rest = known - int(self.total[often].sum())
            shares.append(f"{len(self.outcomes) - len(often)} others {_share(rest, known)}")
        return f"The outcome is known for {known:,} predictions: {', '.join(shares)}."

    @property
    def one_outcome(self) -> str:
        """That all known outcomes are the same, and what to check; nothing where they differ."""
        came = np.flatnonzero(self.total)
        if len(came) != 1:
            return ""
        return f"{one_value(int(self.total.sum()))}."

    @property
    def seldom(self) -> str:
        """That few rows have a proxy; nothing where many do.

        >>> OutcomeRates("opened", ("no", "yes"), ("lost", "won"), np.array([[6, 1], [1, 2], [20, 6]])).seldom
        'Only 28 % of rows ever have a proxy (opened): on the others it cannot help.'
        """
        sizes = self.counts.sum(axis=1)
        known = 1 - sizes[-1] / sizes.sum()
        if known < SELDOM:
            return f"Only {100 * known:.0f} % of rows ever have a proxy ({self.proxy}): on the others it cannot help."
        if self.absent is None or (present := known - sizes[self.absent] / sizes.sum()) >= MOSTLY_ABSENT:
            return ""
        rest = f"the others count as {self.values[self.absent]}"
        return f"Only {100 * present:.1f} % of rows ever have a proxy ({self.proxy}): {rest}."

    def text_table(self) -> tuple[list[str], list[list[str]]]:
        """P(outcome given proxy) with counts: head and rows, of the most frequent values, and all rows in the end."""
        often = _frequent(self.total)
        sizes = self.counts.sum(axis=1)
        shown = [place for place in _frequent(sizes[:-1]) if sizes[place]] + [len(self.values)] * bool(sizes[-1])
        rest = sizes.sum() - sizes[shown].sum()
        named = [(self._name(place), self.counts[place]) for place in shown]
        if rest:
            others = np.delete(self.counts, shown, axis=0).sum(axis=0)
            named.append((f"{np.count_nonzero(sizes) - len(shown)} other values", others))
        named.append(("all", self.total))
        head = [self.proxy, "predictions", *(f"P({self.outcomes[place]})" for place in often)]
        return head, [
            [name, f"{int(row.sum()):,}", *(_share(row[place], row.sum()) for place in often)] for name, row in named
        ]

    def columns(self) -> Columns:
        """A row for each value of the proxy and outcome."""
        return columns_of(
            [
                {"proxy": self._name(value), "outcome": outcome, "count": int(count), "probability": float(share)}
                for value, row in enumerate(self.counts)
                if row.sum()
                for outcome, count, share in zip(self.outcomes, row, row / row.sum(), strict=True)
            ],
            words={"proxy", "outcome"},
        )

    def as_json(self) -> dict[str, Any]:
        """The base rate, and the same given each value of the proxy, as JSON values."""
        given = [
            {"proxy": self.values[value] if value < len(self.values) else None, **self._plain(row)}
            for value, row in enumerate(self.counts)
            if row.sum()
        ]
        return {"base_rate": self._plain(self.total), "outcome_given_proxy": given}

    def _name(self, value: int) -> str:
        return self.values[value] if value < len(self.values) else NOT_KNOWN

    def _plain(self, row: Array) -> dict[str, Any]:
        named = list(zip(self.outcomes, row.tolist(), strict=True))
        size = int(row.sum())
        return {"rows": size, "counts": dict(named), "probabilities": {name: count / size for name, count in named}}


def outcome_rates(task: Task, rows: LogRows, proxy: str | None) -> OutcomeRates:
    """The counts of a log with one of its proxies."""
    sign = task.proxy(proxy)
    symbols, outcomes = len(sign.values), len(task.outcome.values)
    known = rows.outcome.symbols >= 0
    z, y = rows.proxy(proxy).symbols[known].astype(np.int64), rows.outcome.symbols[known]
    cells = np.where(z < 0, symbols, z) * outcomes + y
    counts = np.bincount(cells, minlength=(symbols + 1) * outcomes).reshape(symbols + 1, outcomes)
    return OutcomeRates(sign.name, sign.values, task.outcome.values, counts, sign.absent_symbol)


def _frequent(sizes: Array) -> list[int]:
    """The places of the most frequent, in the order in which they stand."""
    return sorted(np.argsort(-sizes, kind="stable")[:MOST].tolist())


def _share(count: float, of: float) -> str:
    return f"{100 * count / of:.1f} %"
