"""What is judged: predictions with their outcomes, and candidate proxies beside them.

Moments and delays are in days, counted from any origin. Rows are in the order in which predictions were shown.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from presage.errors import DelayError, InputError, ShapeError
from presage.settings import whole
from presage.spaces import EMPTY, Array, check_symbols, whole_numbers


@dataclass(frozen=True, eq=False)
class PredictionRows:
    """One row for each prediction of a log: who it was about, when, what came of it and how much later.

    An outcome that is not known is -1; its delay does not matter.
    """

    x: Array  # int64 [n]: instances, any whole numbers from 0
    shown_at: Array  # float64 [n]: days, never falling
    y: Array  # int32 [n]
    delay: Array  # float64 [n]: days from the prediction until its outcome is known
    outcomes: int  # how many symbols y has
    cohort: Array | None = None  # int32 [n]: a group of instances or of subjects, from 0
    finer: tuple[Array, ...] = ()  # each int32 [n]: groups within the cohort, coarse to fine, to pool over as well
    unit: str = "day"  # what moments and delays are counted in: "row" in a log without times

    def __post_init__(self) -> None:
        x = whole_numbers("instance", self.x).astype(np.int64)
        if x.ndim != 1 or len(x) == 0:
            raise ShapeError("predictions need one instance a row", x.shape, "give an array of instances")
        if x.min() < 0:
            raise ShapeError("instances count from 0", int(x.min()), "encode them as whole numbers from 0")
        _set(self, "x", x)
        _set(self, "y", _row_by_row("outcome", check_symbols("outcome", self.y, self.outcomes, EMPTY), x))
        _set(self, "delay", checked_delay("outcome", self.delay, self.y))
        shown_at = _row_by_row("shown_at", np.asarray(self.shown_at, np.float64), x)
        if not np.isfinite(shown_at).all():
            bad = int(np.flatnonzero(~np.isfinite(shown_at))[0])
            raise InputError(f"shown_at of row {bad} is not a moment", float(shown_at[bad]), "give days as numbers")
        if (np.diff(shown_at) < 0).any():
            bad = int(np.flatnonzero(np.diff(shown_at) < 0)[0]) + 1
            remedy = "sort all rows by shown_at"
            raise InputError(f"row {bad} was shown before the row above it", float(shown_at[bad]), remedy)
        _set(self, "shown_at", shown_at)
        if self.cohort is not None:
            _set(self, "cohort", _group("cohort", self.cohort, x))
        object.__setattr__(self, "finer", tuple(_group("finer group", group, x) for group in self.finer))

    @property
    def known(self) -> Array:
        """Which rows have an outcome."""
        return self.y != EMPTY

    @property
    def levels(self) -> tuple[Array, ...]:
        """What rows are pooled by, coarse to fine: the whole, and the groups."""
        cohort = () if self.cohort is None else (self.cohort,)
        return (np.zeros(len(self.x), np.int32), *cohort, *self.finer)


class ProxyFeatures(NamedTuple):
    """Features of the instances that belong to a proxy."""

    names: tuple[str, ...]
    values: Array  # int64 [n]: which combination of values each row has, from 0
    size: int  # how many combinations there are


@dataclass(frozen=True, eq=False)
class ProxyCandidate:
    """An early sign that might stand in for the outcome; -1 where it is not known."""

    name: str
    z: Array  # int32 [n]
    delay: Array  # float64 [n]: days from the prediction until it is known; one number where all are alike
    symbols: int  # how many symbols z has
    features: ProxyFeatures | None = None  # that belong to it

    def __post_init__(self) -> None:
        whole("symbols", self.symbols)
        z = check_symbols(f"proxy {self.name}", self.z, self.symbols, EMPTY)
        _set(self, "z", z)
        delay = np.broadcast_to(np.asarray(self.delay, np.float64), z.shape) if np.ndim(self.delay) == 0 else self.delay
        _set(self, "delay", checked_delay(f"proxy {self.name}", delay, z))
        if self.features is not None:
            check_symbols(
                f"features of proxy {self.name}", _group("features", self.features.values, z), self.features.size
            )

    @property
    def told(self) -> "ProxyCandidate":
        """The proxy as one symbol that tells its features, too."""
        if self.features is None:
            return self
        z = np.where(self.z == EMPTY, EMPTY, self.z.astype(np.int64) * self.features.size + self.features.values)
        return ProxyCandidate(self.name, z, self.delay, self.symbols * self.features.size)


def checked_delay(name: str, delay: Any, symbols: Array) -> Array:
    """Delays as float64, at least 0 wherever the symbol is known and NaN elsewhere."""
    array = _row_by_row(f"{name} delay", np.asarray(delay, np.float64), symbols)
    array = np.where(symbols == EMPTY, np.nan, array)
    wrong = (symbols != EMPTY) & ~((array >= 0) & np.isfinite(array))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        remedy = "give days of at least 0, or the symbol -1 where it never became known"
        raise DelayError(f"the {name} of row {row} has no delay", float(array[row]), remedy)
    return array


def _group(name: str, group: Array, rows: Array) -> Array:
    return _row_by_row(name, check_symbols(name, whole_numbers(name, group), 2**31 - 1), rows)


def _row_by_row(name: str, array: Array, rows: Array) -> Array:
    if array.shape != rows.shape:
        raise ShapeError(f"{name} has no value for each row", array.shape, f"give {len(rows)} of them")
    return array


def _set(of: object, name: str, value: Array) -> None:
    object.__setattr__(of, name, value)
