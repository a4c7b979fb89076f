"""The results of a backtest as tables, in Parquet and in CSV: nothing is shown on the page only."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from presage.backtesting.delays import DelayCurve
from presage.backtesting.over_time import OverTime, best_in_blocks
from presage.backtesting.scores import Score
from presage.logs.tables import Columns, parquet_files
from presage.metrics.calibration import Reliability
from presage.spaces import Array

Scores = Mapping[str, Score]


def table_files(tables: Mapping[str, Columns]) -> dict[str, bytes]:
    """NAME.parquet and NAME.csv, with their bytes, for each named table."""
    return parquet_files(tables) | {f"{name}.csv": _csv(columns) for name, columns in tables.items()}


def scores_table(scores: Scores, outcomes: Sequence[str]) -> Columns:
    """A row for each forecaster; calibration and AUC of each outcome in columns of their own."""
    rows = []
    for name, score in scores.items():
        plain = score.as_json()
        row = {"forecaster": name} | {part: plain[part] for part in ("log_loss", "low", "high")}
        row |= _ends("new_instances", score.losses.new_instances) | _ends("gain", score.losses.gain)
        over = score.losses.over_direct
        row |= {"direct": over.against if over else None}
        row |= _ends("over_direct", over and over.overall) | _ends("over_direct_new", over and over.new_instances)
        row |= _ends("delay_cost", score.losses.delay_cost)
        row |= {part: plain[part] for part in ("calibration_error", "ndcg", "mean_average_precision")}
        for value, ratio, auc in zip(outcomes, score.predicted_to_observed, score.auc, strict=True):
            row |= {f"predicted_to_observed_{value}": ratio, f"auc_{value}": auc}
        rows.append(row)
    return _columns(rows, {"forecaster", "direct"})


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
    return _columns(rows, {"forecaster", "outcome"})


def _ends(name: str, interval: Any) -> dict[str, float | None]:
    mean, low, high = interval or (None, None, None)
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def _columns(rows: Sequence[Mapping[str, Any]], words: set[str]) -> Columns:
    return {
        name: np.array([row[name] for row in rows], object if name in words else np.float64)  # None becomes NaN
        for name in rows[0]
    }


def _csv(columns: Columns) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = (np.datetime_as_string(c, unit="s") if c.dtype.kind == "M" else c.tolist() for c in columns.values())
    for row in zip(*cells, strict=True):
        writer.writerow("" if cell is None or (isinstance(cell, float) and np.isnan(cell)) else cell for cell in row)
    return text.getvalue().encode()
