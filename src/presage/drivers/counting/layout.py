"""The tables that experts read, laid out in one stretch of memory: a count is kept once, however many read it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from presage.drivers.counting.kernels import OUTCOMES, PAIRS, PROXIES, TableShape, TableSizes
from presage.errors import SettingError
from presage.forecasters.back_off import BackOff, Counts, TableParts
from presage.forecasters.contract import Forecaster
from presage.forecasters.table_keys import TableKey
from presage.spaces import Array, Spaces


class TableLayout(NamedTuple):
    """What some tables count and how they read it."""

    spaces: Spaces
    tables: tuple[tuple[TableKey, int], ...]  # all distinct: by which key, and PROXIES, OUTCOMES or PAIRS
    keys: tuple[TableKey, ...]  # all distinct
    shape: TableShape
    sizes: TableSizes

    def rows(self, symbols: Array) -> Array:  # int32 [keys, ...]
        """The row that instances [..., S] name by each key."""
        named = np.empty((len(self.keys), *symbols.shape[:-1]), np.int32)
        for place, key in enumerate(self.keys):
            named[place] = key.row(symbols)
        return named

    def counts(self, cells: Array, back_off: BackOff, kind: int) -> Counts:
        """The counts of one back-off, as its forecaster holds them; a copy."""
        found = []
        for key in back_off.keys:
            table = self.tables.index((key, kind))
            first, size = self.sizes.first[table], key.rows * self.sizes.widths[table]
            rows = cells[first : first + size].reshape(key.rows, *back_off.context, back_off.symbols + 1)
            found.append(rows[..., 1:].astype(np.int32))
        return tuple(found)


def table_parts(table: Forecaster) -> TableParts:
    """What a table is made of; anything else is refused."""
    if not isinstance(table.structure, TableParts):
        raise SettingError("only tables can be counted", table.name, "use a table, or a mixture of tables")
    return table.structure


def lay_out(experts: Sequence[Forecaster], judge: int | None) -> TableLayout:
    """The distinct tables of some experts, and the levels of their chains; `judge` is the one that now-casts."""
    spaces = experts[0].spaces
    tables: dict[tuple[TableKey, int], int] = {}
    levels: dict[tuple[int, int, float], int] = {}  # table, parent and strength

    def path(chain: BackOff | None, kind: int) -> list[int]:
        found = [-1]
        if chain is None:
            return found
        for key in chain.keys:
            table = tables.setdefault((key, kind), len(tables))
            strength = chain.alpha if found[-1] < 0 else chain.kappa
            found.append(levels.setdefault((table, found[-1], strength), len(levels)))
        return found

    paths = [(path(h, PROXIES), path(g, PAIRS if h else OUTCOMES)) for h, g in map(table_parts, experts)]
    contexts = {PROXIES: 1, OUTCOMES: 1, PAIRS: spaces.proxies}
    symbols = {PROXIES: spaces.proxies, OUTCOMES: spaces.outcomes, PAIRS: spaces.outcomes}
    widths = np.array([contexts[kind] * (symbols[kind] + 1) for _, kind in tables])
    ends = np.cumsum([key.rows * width for (key, _), width in zip(tables, widths.tolist(), strict=True)])
    of_table, parents, strengths = (np.array(part) for part in zip(*levels, strict=True))
    h, g = (np.array([chain[side][-1] for chain in paths]) for side in (0, 1))
    keys = list(dict.fromkeys(key for key, _ in tables))
    told_by = np.array([] if judge is None else paths[judge][1][1:], np.int64)
    return TableLayout(
        spaces,
        tuple(tables),
        tuple(keys),
        TableShape(np.array([kind for _, kind in tables]), of_table, parents, h, g, told_by),
        TableSizes(
            np.array([keys.index(key) for key, _ in tables]), np.r_[0, ends[:-1]], widths, int(ends[-1]), strengths
        ),
    )
