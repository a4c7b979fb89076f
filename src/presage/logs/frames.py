"""Dataframes of any library as columns that DuckDB reads, through narwhals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from presage.errors import DataError
from presage.spaces import Array


class Frame(NamedTuple):
    """The columns of a dataframe by name, and those among them that hold times with a zone (now in UTC)."""

    columns: dict[str, Array]
    zoned: tuple[str, ...]


def frame_columns(frame: Any) -> Frame:
    """The columns of a pandas, polars, pyarrow or other dataframe; missing values stay missing."""
    try:
        import narwhals  # noqa: PLC0415 only whoever has a dataframe needs it
    except ImportError as error:
        raise DataError("a dataframe needs narwhals", type(frame).__name__, "pip install narwhals") from error
    from_native: Callable[..., Any] = narwhals.from_native
    try:
        table = from_native(frame)
    except TypeError as error:
        remedy = "give a path, FILE.duckdb::TABLE or a dataframe"
        raise DataError("this is no log", type(frame).__name__, remedy) from error
    table = table.collect() if isinstance(table, narwhals.LazyFrame) else table
    zoned = tuple(name for name in table.columns if getattr(table[name].dtype, "time_zone", None))
    return Frame({str(name): _column(table[name]) for name in table.columns}, zoned)


def _column(series: Any) -> Array:
    """A series as NumPy: text, lists and flags as objects, whole numbers with gaps under a mask."""
    kind = series.dtype
    if kind.is_integer() and series.null_count():
        gaps = series.is_null().to_numpy()
        return np.ma.MaskedArray(series.fill_null(0).to_numpy(), gaps)
    if kind.is_numeric() or str(kind).startswith("Datetime"):  # a zone is turned into UTC
        return series.to_numpy()
    column = np.empty(len(series), object)
    column[:] = series.to_list()
    return column
