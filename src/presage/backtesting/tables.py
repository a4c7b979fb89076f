"""The results of a backtest as tables, in Parquet and in CSV: nothing is shown on the page only."""

from collections.abc import Mapping, Sequence

import numpy as np

from presage.backtesting.delays import DelayCurve
from presage.backtesting.over_time import OverTime, best_in_blocks
from presage.dataframes import Columns, as_csv, columns_of
from presage.logs.tables import parquet_files
from presage.metrics.calibration import Reliability
from presage.spaces import Array


def table_files(tables: Mapping[str, Columns]) -> dict[str, bytes]:
    """NAME.parquet and NAME.csv, with their bytes, for each named table."""
    return parquet_files(tables) | {f"{name}.csv": as_csv(columns) for name, columns in tables.items()}


def over_time_table(over_time: OverTime) -> Columns:
    """A row for each forecaster and block of time."""
    names, blocks = list(over_time.losses), len(over_time.rows)
    edges = over_time.blocks.edges.astype("datetime64[us]")
    return {
        "forecaster": np.repeat(np.array(names, object), blocks),
        "start": np.tile(edges[:-1], len(names)),
        "end": np.tile(edges[1:], len(names)),
        "rows": np.tile(over_time.rows, len(names)),
        "log_loss": np.concatenate(list(over_time.losses.values())),
        "new_rows": np.tile(over_time.new_rows, len(names)),
        "new_log_loss": np.concatenate(list(over_time.new.values())),
    }


def winners_table(over_time: OverTime) -> Columns:
    """A row for each block of time: who lost least in it, over all rows and over those of new instances."""
    edges = over_time.blocks.edges.astype("datetime64[us]")
    return {
        "start": edges[:-1],
        "end": edges[1:],
        "best": np.array(best_in_blocks(over_time.losses), object),
        "log_loss": np.stack(list(over_time.losses.values())).min(axis=0),
        "best_on_new": np.array(best_in_blocks(over_time.new), object),
        "new_log_loss": np.stack(list(over_time.new.values())).min(axis=0),
    }


def weights_table(over_time: OverTime, weights: Mapping[str, Array]) -> Columns:
    """A row for each block of time and family of the mixture's experts."""
    edges, families = over_time.blocks.edges.astype("datetime64[us]"), list(weights)
    return {
        "family": np.repeat(np.array(families, object), len(over_time.rows)),
        "start": np.tile(edges[:-1], len(families)),
        "end": np.tile(edges[1:], len(families)),
        "weight": np.concatenate(list(weights.values())),
    }


def delays_table(known: DelayCurve) -> Columns:
    """A row for each signal and time after the prediction."""
    names, steps = list(known.shares), len(known.after)
    return {
        "signal": np.repeat(np.array(names, object), steps),
        "after": np.tile(known.after, len(names)),
        "unit": np.full(steps * len(names), known.unit, object),
        "share_known": np.concatenate(list(known.shares.values())),
    }


def reliability_table(tables: Mapping[str, list[Reliability]], outcomes: Sequence[str]) -> Columns:
    """A row for each forecaster, outcome and bin of predictions."""
    rows = [
        {"forecaster": name, "outcome": value, **dict(zip(Reliability._fields, parts, strict=True))}
        for name, each in tables.items()
        for value, found in zip(outcomes, each, strict=True)
        for parts in zip(*found, strict=True)
    ]
    return columns_of(rows, words={"forecaster", "outcome"})
