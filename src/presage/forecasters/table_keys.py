"""How an instance becomes a row of a table: by some of its symbols, exactly or hashed into bounded memory."""

import math
from dataclasses import dataclass

import numpy as np

from presage.arrays import namespace
from presage.errors import SettingError, SpaceError
from presage.spaces import Array, Features

BUCKETS = 2**22
"""Rows a table may have; a larger space is hashed into this many."""


@dataclass(frozen=True)
class TableKey:
    """The symbol columns that name a row of a table, and how many rows there are."""

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    rows: int

    def row(self, symbols: Array) -> Array:
        """The row of `symbols` [..., S]: mixed radix where it fits, otherwise a hash."""
        if math.prod(self.sizes) > self.rows:
            return hashed([symbols[..., column, None] for column in self.columns], self.rows)[..., 0]
        if not self.columns:
            return namespace(symbols).zeros(symbols.shape[:-1], np.int32)
        row = symbols[..., self.columns[0]]
        for column, size in zip(self.columns[1:], self.sizes[1:], strict=True):
            row = row * size + symbols[..., column]
        return row

    def rows_in(self, other: "TableKey") -> Array:  # int32 [rows]
        """The rows by a key of the same columns, none of them smaller, that stand for those by this one.

        >>> TableKey((0, 1), (2, 2), 4).rows_in(TableKey((0, 1), (3, 4), 12)).tolist()
        [0, 1, 4, 5]
        """
        rows = np.arange(self.rows)
        if math.prod(self.sizes) > self.rows:
            return rows.astype(np.int32)  # hashed into as many
        symbols = np.zeros((self.rows, max(self.columns, default=-1) + 1), np.int32)
        for column, size in reversed(list(zip(self.columns, self.sizes, strict=True))):
            rows, symbols[:, column] = np.divmod(rows, size)
        return np.asarray(other.row(symbols), np.int32)


WHOLE = TableKey((), (), 1)
"""The key of a table that does not tell instances apart."""


def table_key(features: Features, columns: tuple[int, ...], buckets: int = BUCKETS) -> TableKey:
    """The key by these symbol columns, in at most `buckets` rows.

    >>> table_key(Features(symbols=(1000, 20, 7)), (1, 2)).rows
    140
    """
    if not features.symbols:
        raise SpaceError("a table needs a symbol column", features, "declare a symbol column, or use a network")
    wrong = [column for column in columns if not 0 <= column < len(features.symbols)]
    if wrong or not columns:
        remedy = f"name columns 0 to {len(features.symbols) - 1}"
        raise SettingError("a group must name symbol columns of the instance", columns, remedy)
    sizes = tuple(features.symbols[column] for column in columns)
    return TableKey(columns, sizes, min(math.prod(sizes), buckets))


def hashed(symbols: list[Array], rows: int) -> Array:
    """The row of each combination of `symbols`, spread evenly over `rows`.

    The mixing steps are those of the 32-bit finaliser of MurmurHash3 (Appleby, public domain), one a column.
    """
    xp = namespace(symbols[0])
    state = xp.full(symbols[0].shape, 0x9E3779B9, np.uint32)
    for column in symbols:
        state = state ^ column.astype(np.uint32)
        state = (state ^ (state >> 16)) * np.uint32(0x85EBCA6B)
        state = (state ^ (state >> 13)) * np.uint32(0xC2B2AE35)
        state = state ^ (state >> 16)
    return (state % np.uint32(rows)).astype(np.int32)
