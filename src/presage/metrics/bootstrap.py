"""Means over one log with 95 % intervals: runs of time are resampled, because neighbouring rows are alike.

The rows are first added up in consecutive pieces of time; then circular runs of pieces are drawn with replacement
(Politis and Romano's circular block bootstrap). How many pieces make a run is chosen for each series from its own
autocorrelation (Politis and White 2004, with the constant corrected in 2009), within bounds, so that an interval
depends on its own series and on no other.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from presage.errors import ShapeError
from presage.metrics.intervals import Interval
from presage.metrics.special import student_975
from presage.settings import whole
from presage.spaces import Array

PIECES = 512
"""Into how many pieces of time the rows are added up; at least two rows each."""

LEAST = 4
"""How many rows of a series must be known; with fewer there is no mean."""

RESAMPLES = 1000
"""How often the runs are drawn."""


class Pieces(NamedTuple):
    """K series added up in B pieces of time, without the rows that are NaN."""

    sums: Array  # float64 [K, B]
    rows: Array  # int64 [K, B]: how many rows each sum is of


def bootstrap_means(losses: Array, *, resamples: int = RESAMPLES, seed: int = 0) -> list[Interval]:
    """The mean of each series [K, n], rows in order of time, with the interval of the block bootstrap.

    NaN rows are left out: give NaN where the outcome is not known, or for rows outside the share that is judged.

    >>> losses = np.random.default_rng(0).normal(1.0, 0.1, (2, 1000))
    >>> [round(mean, 2) for mean, _, _ in bootstrap_means(losses)]
    [1.0, 1.0]
    """
    sums, rows = _in_pieces(losses)
    starts = _starts(sums.shape[1], whole("resamples", resamples, 100), seed)
    return [_interval(*series, starts) for series in zip(sums, rows, strict=True)]


def bootstrap_mean(losses: Array, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The mean of one series [n], rows in order of time, with the interval of the block bootstrap."""
    return bootstrap_means(np.asarray(losses)[None], resamples=resamples, seed=seed)[0]


def bootstrap_differences(
    losses: Array, against: Array, *, resamples: int = RESAMPLES, seed: int = 0
) -> list[Interval]:
    """How much more each series [K, n] has on average than the series `against` [n], row by row."""
    losses, against = np.asarray(losses), np.asarray(against)
    if losses.shape[1:] != against.shape:
        found = {"losses": losses.shape, "against": against.shape}
        raise ShapeError("paired series differ in length", found, "give losses [K, n] and against [n]")
    return bootstrap_means(losses - against, resamples=resamples, seed=seed)


def _in_pieces(losses: Array) -> Pieces:
    """Series [K, n], rows in order of time, added up in pieces of time."""
    series = np.asarray(losses)
    if series.ndim != 2 or series.shape[1] < LEAST:
        raise ShapeError(f"a bootstrap needs series of at least {LEAST} rows", series.shape, "give [forecasters, rows]")
    rows = series.shape[1]
    first = np.linspace(0, rows, min(PIECES, rows // 2) + 1).astype(np.int64)[:-1]
    # One series at a time: along an axis of a matrix the same sums take forty times as long.
    known = [~np.isnan(each) for each in series]
    values = [np.where(there, each, 0) for each, there in zip(series, known, strict=True)]
    sums, numbers = (
        np.stack([np.add.reduceat(each, first, dtype=kind) for each in part])
        for part, kind in ((values, np.float64), (known, np.int64))
    )
    return Pieces(sums, numbers)


@lru_cache(maxsize=2)
def _starts(pieces: int, resamples: int, seed: int) -> Array:
    """Where runs begin [B, R]: enough for the shortest runs there are, and the same for all series of a log."""
    starts = np.random.default_rng(seed).integers(0, pieces, (pieces, resamples))
    starts.flags.writeable = False
    return starts


def _interval(sums: Array, rows: Array, starts: Array) -> Interval:
    """The mean of one series [B] with its interval; `starts` [B, R] are those of more runs than are needed."""
    known = int(rows.sum())
    if known < LEAST:
        return Interval(math.nan, math.nan, math.nan)
    mean = float(sums.sum()) / known
    # Where the mean is a ratio of resampled sums, this is the part of it that varies.
    half = _half_width(sums - mean * rows, rows, starts)
    return Interval(mean, mean - half, mean + half)


def _half_width(centred: Array, rows: Array, starts: Array) -> float:
    """Half the length of the interval: Student's multiple of the spread of the resampled means."""
    length = _run_length(centred)
    runs = math.ceil(len(centred) / length)
    drawn = _runs(np.stack([centred, rows], axis=1), length).take(starts[:runs], axis=0).sum(axis=0)  # [R, 2]
    spread = float((drawn[:, 0] / np.maximum(drawn[:, 1], 1)).std())
    # Few runs tell less of the spread than many do; the spread of means of m runs is too small by (m - 1)/m.
    return student_975(runs - 1) * spread * math.sqrt(runs / (runs - 1))


def _runs(pieces: Array, length: int) -> Array:
    """The sum [B, 2] of each run of `length` pieces, those at the end going on at the beginning."""
    wrapped = np.concatenate([pieces, pieces[: length - 1]])
    total = np.concatenate([np.zeros((1, 2)), wrapped.cumsum(axis=0)])
    return total[length:] - total[:-length]


def _run_length(centred: Array) -> int:
    """How many pieces make a run of this series [B]: at most as many as Politis and White allow.

    And at least the root of all: correlations that are small and last long lie below their threshold one by one, and
    shorter runs would make intervals that are too narrow.
    """
    pieces = len(centred)
    least, most = math.sqrt(pieces), min(3 * math.sqrt(pieces), pieces / 3)
    return math.ceil(min(max(least, _best_length(centred)), most))


def _best_length(series: Array) -> float:
    """Politis and White's length of runs for one series [B]."""
    pieces = len(series)
    series = series - series.mean()
    most = min(pieces - 1, math.ceil(math.sqrt(pieces)) + 5)
    lags = range(min(2 * most, pieces - 1) + 1)
    covariance = np.array([series[: pieces - lag] @ series[lag:] for lag in lags]) / pieces
    if covariance[0] <= 0:
        return 1.0
    quiet = np.abs(covariance[1:] / covariance[0]) < 2 * math.sqrt(math.log10(pieces) / pieces)
    row = max(5, math.ceil(math.sqrt(math.log10(pieces))))
    last = max(1, next((lag for lag in range(most) if quiet[lag : lag + row].all()), most))  # the last not quiet
    near = np.arange(1, min(2 * last, len(covariance) - 1) + 1)
    taper = np.clip(2 * (1 - near / (2 * last)), 0, 1)  # flat, then falling
    long_run = covariance[0] + 2 * (taper * covariance[near]).sum()
    slope = 2 * (taper * near * covariance[near]).sum()
    return float((1.5 * (slope / long_run) ** 2 * pieces) ** (1 / 3)) if long_run > 0 else float(most)
