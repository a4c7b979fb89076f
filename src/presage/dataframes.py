"""Tables of results: named columns, shown in a notebook, written as files, and given as dataframes on request."""

import csv
import html
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from presage.errors import DataError
from presage.spaces import Array

SHOWN = 20
"""How many rows a notebook shows."""

Columns = dict[str, Array]
"""Columns of a table by name, all as long: text as objects, times as datetime64 in UTC, numbers and booleans."""


class Table(Mapping[str, Array]):
    """Named columns of equal length; `to_pandas`, `to_polars` and `to_arrow` turn them into dataframes.

    >>> table = Table({"forecaster": np.array(["direct", "mixture"], object), "log_loss": np.array([0.5, 0.25])})
    >>> table["log_loss"].min(), len(table), table.rows
    (np.float64(0.25), 2, 2)
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._columns.values()), ()))

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        return self._frame("pandas")

    def to_polars(self) -> Any:
        """A polars DataFrame."""
        return self._frame("polars")

    def to_arrow(self) -> Any:
        """A pyarrow Table."""
        return self._frame("pyarrow")

    def _frame(self, library: Literal["pandas", "polars", "pyarrow"]) -> Any:
        import narwhals  # noqa: PLC0415 only those who want a dataframe need it

        plain = {name: part.tolist() if part.dtype == object else part for name, part in self._columns.items()}
        try:
            return narwhals.from_dict(plain, backend=library).to_native()
        except ModuleNotFoundError as error:
            raise DataError(f"{library} is not installed", library, f"run pip install {library}") from error

    def __repr__(self) -> str:
        return f"Table({', '.join(self._columns)}; {self.rows:,} rows)"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(_cell(value))}</td>' for value in row)}</tr>"
            for row in zip(*(part[:SHOWN].tolist() for part in self._columns.values()), strict=True)
        )
        more = f"<p>{self.rows - SHOWN:,} more rows</p>" if self.rows > SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def columns_of(rows: Sequence[Mapping[str, Any]], words: set[str]) -> Columns:
    """The columns of rows that have the same names; those in `words` hold text, the others numbers (None: NaN).

    >>> columns_of([{"name": "a", "loss": 0.5}, {"name": "b", "loss": None}], words={"name"})["loss"]
    array([0.5, nan])
    """
    return {name: _column([row[name] for row in rows], name in words) for name in rows[0]}


def _column(values: list[Any], text: bool) -> Array:
    if text:
        return np.array(values, object)
    return np.array(values, np.int64 if all(isinstance(value, int) for value in values) else np.float64)


def as_csv(columns: Columns, *, missing: str = "") -> bytes:
    """The columns as CSV; times to the second, and `missing` where there is no number."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = (np.datetime_as_string(c, unit="s") if c.dtype.kind == "M" else c.tolist() for c in columns.values())
    for row in zip(*cells, strict=True):
        writer.writerow(
            missing if cell is None or (isinstance(cell, float) and np.isnan(cell)) else cell for cell in row
        )
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
