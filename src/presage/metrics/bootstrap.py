"""Means over one log with 95 % intervals: runs of time are resampled, because neighbouring rows are alike.

The rows are first added up in consecutive pieces of time; then circular runs of pieces are drawn with replacement
(Politis and Romano's circular block bootstrap), the same runs for every forecaster. How many pieces make a run is
chosen from the autocorrelation of the pieces (Politis and White 2004, with the constant corrected in 2009).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from presage.errors import ShapeError
from presage.metrics.intervals import Interval
from presage.settings import whole
from presage.spaces import Array

PIECES = 512
"""Into how many pieces of time the rows are added up; at least two rows each."""

RESAMPLES = 1000
"""How often the runs are drawn."""


class Pieces(NamedTuple):
    """K series added up in B pieces of time, without the rows that are NaN."""

    sums: Array  # float64 [K, B]
    rows: Array  # int64 [K, B]: how many rows each sum is of


def bootstrap_means(losses: Array, *, resamples: int = RESAMPLES, seed: int = 0) -> list[Interval]:
    """The mean of each series [K, n], rows in order of time, with the interval of the block bootstrap.

    NaN rows are left out: give NaN where nobody knows the outcome, or for rows outside the share that is judged.

    >>> losses = np.random.default_rng(0).normal(1.0, 0.1, (2, 1000))
    >>> [round(mean, 2) for mean, _, _ in bootstrap_means(losses)]
    [1.0, 1.0]
    """
    return bootstrap_pieces(in_pieces(losses), resamples=resamples, seed=seed)


def bootstrap_pieces(pieces: Pieces, *, resamples: int = RESAMPLES, seed: int = 0) -> list[Interval]:
    """The same as `bootstrap_means`, of series that are added up already: those of a long log need not be together."""
    sums, rows = pieces
    mean = sums.sum(axis=1) / np.maximum(rows.sum(axis=1), 1)
    # Where the mean is a ratio of resampled sums, this is the part of it that varies.
    centred = sums - mean[:, None] * rows
    length = min(_run_length(centred), sums.shape[1] // 2)
    half = _half_widths(centred, rows, length, whole("resamples", resamples, 100), seed)
    unknown = rows.sum(axis=1) == 0
    mean, half = np.where(unknown, np.nan, mean), np.where(unknown, np.nan, half)
    return [Interval(float(m), float(m - h), float(m + h)) for m, h in zip(mean, half, strict=True)]


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


def in_pieces(losses: Array) -> Pieces:
    """Series [K, n], rows in order of time, added up in pieces of time."""
    series = np.asarray(losses)
    if series.ndim != 2 or series.shape[1] < 4:
        raise ShapeError("a bootstrap needs series of at least 4 rows", series.shape, "give [forecasters, rows]")
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


def _half_widths(centred: Array, rows: Array, length: int, resamples: int, seed: int) -> Array:
    """Half the length of each interval [K]: Student's multiple of the spread of the resampled means."""
    pieces = centred.shape[1]
    runs = math.ceil(pieces / length)
    chosen = np.random.default_rng(seed).multinomial(runs, np.full(pieces, 1 / pieces), resamples)  # [R, B]
    above, below = (chosen @ _runs(part, length).T for part in (centred, rows))  # [R, K]
    spread = (above / np.maximum(below, 1)).std(axis=0)
    # Few runs tell less of the spread than many do; the spread of means of m runs is too small by (m - 1)/m.
    return stdtrit(runs - 1, 0.975) * spread * math.sqrt(runs / (runs - 1))


def _runs(pieces: Array, length: int) -> Array:
    """The sum [K, B] of each run of `length` pieces, those at the end going on at the beginning."""
    wrapped = np.concatenate([pieces, pieces[:, : length - 1]], axis=1)
    total = np.concatenate([np.zeros((len(pieces), 1)), wrapped.cumsum(axis=1)], axis=1)
    return total[:, length:] - total[:, :-length]


def _run_length(centred: Array) -> int:
    """How many pieces make a run, for the series [K, B] that needs the longest."""
    return max(1, *(math.ceil(_best_length(each)) for each in centred))


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
