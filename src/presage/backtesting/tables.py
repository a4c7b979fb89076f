"""The results of a backtest as tables, in Parquet and in CSV: nothing is shown on the page only."""

from collections.abc import Mapping, Sequence

import numpy as np

from presage.backtesting.delays import DelayCurve
from presage.backtesting.over_time import OverTime, TimeBlocks, best_in_blocks
from presage.dataframes import Columns, as_csv, columns_of
from presage.logs.tables import parquet_files
from presage.metrics.calibration import Reliability
from presage.spaces import Array
from presage.task.spans import ROW


def table_files(tables: Mapping[str, Columns]) -> dict[str, bytes]:
    """NAME.parquet and NAME.csv, with their bytes, for each named table."""
    return parquet_files(tables) | {f"{name}.csv": as_csv(columns) for name, columns in tables.items()}


def over_time_table(over_time: OverTime) -> Columns:
    """A row for each forecaster and block of time."""
    names, blocks = list(over_time.losses), len(over_time.rows)
    return {
        "forecaster": np.repeat(np.array(names, object), blocks),
        **_spans(over_time.blocks, len(names)),
        "rows": np.tile(over_time.rows, len(names)),
        "log_loss": np.concatenate(list(over_time.losses.values())),
        "new_rows": np.tile(over_time.new_rows, len(names)),
        "new_log_loss": np.concatenate(list(over_time.new.values())),
    }


def winners_table(over_time: OverTime) -> Columns:
    """A row for each block of time: the forecasters of least log loss, over all rows and over those of new instances.

    Several where they are alike; none before any outcome is known.
    """
    best, on_new = (
        [", ".join(names) or None for names in best_in_blocks(_learnt(over_time, losses))]
        for losses in (over_time.losses, over_time.new)
    )
    return {
        **_spans(over_time.blocks),
        "best": np.array(best, object),
        "log_loss": np.stack(list(over_time.losses.values())).min(axis=0),
        "best_on_new": np.array(on_new, object),
        "new_log_loss": np.stack(list(over_time.new.values())).min(axis=0),
    }


def _learnt(over_time: OverTime, losses: Mapping[str, Array]) -> dict[str, Array]:
    return {name: over_time.from_first(values) for name, values in losses.items()}


def _spans(blocks: TimeBlocks, times: int = 1) -> Columns:
    """When each block begins and ends, so many times over: moments, or rows of a log without times."""
    edges = blocks.edges // ROW if blocks.in_rows else blocks.edges.astype("datetime64[us]")
    return {"start": np.tile(edges[:-1], times), "end": np.tile(edges[1:], times)}


def weights_table(over_time: OverTime, weights: Mapping[str, Array]) -> Columns:
    """A row for each block of time and family of the mixture's experts."""
    families = list(weights)
    return {
        "family": np.repeat(np.array(families, object), len(over_time.rows)),
        **_spans(over_time.blocks, len(families)),
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
