"""Reliability tables of forecasters on a log: how often an outcome happened when it was said to be so likely."""

from collections.abc import Iterable

import numpy as np

from presage.backtest.replay import Said
from presage.drivers.threads import over_cores
from presage.metrics.calibration import Reliability, reliability
from presage.spaces import Array

BINS = 12
"""How many bins a table has, of equally many rows each."""


def reliabilities(said: Said, y: Array, names: Iterable[str]) -> dict[str, list[Reliability]]:
    """For each of the named forecasters a table for each outcome; rows whose outcome nobody knows are left out."""
    known = y >= 0

    def tables(name: str) -> list[Reliability]:
        return [
            reliability(np.exp(each[known]), y[known] == outcome, BINS, "rows")
            for outcome, each in enumerate(said[name].T)
        ]

    chosen = list(names)
    return dict(zip(chosen, over_cores(tables, chosen), strict=True))
