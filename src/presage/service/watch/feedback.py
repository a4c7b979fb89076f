"""The panels of feedback: how long predictions have waited, how soon something is known, and how well it was said."""

import numpy as np

from presage.metrics.calibration import wilson
from presage.service.watch.columns import BINS, COHORT, DELAYS, DOUBLING
from presage.service.watch.fold import Watch
from presage.service.watch.frame import KnownAfter, Pending, Reliable
from presage.service.watch.points import ROWS, milliseconds, numbers, recent
from presage.spaces import Array

LEAST = 0.01
"""A curve begins where this share is known."""

_PROXY, _OUTCOME = COHORT.index("proxy"), COHORT.index("outcome")


def pending_panel(watch: Watch, opened: int) -> Pending:
    """How many predictions wait for what, by age; `opened` are open in all."""
    stretch = watch.predicted.stretches()
    upto = _ages(watch.subject.horizons.proxy, watch.subject.horizons.outcome)
    place = np.searchsorted(upto, np.maximum(watch.at - stretch.middle, 0), side="left")
    awaited = np.maximum(stretch.sums[:, :1] - stretch.sums[:, [_PROXY, _OUTCOME]], 0.0)
    proxy, outcome = (np.bincount(place, each, minlength=len(upto) + 1).astype(int).tolist() for each in awaited.T)
    forgets = watch.start > 0 or watch.predicted.slid
    older = max(0, opened - int(awaited.max(axis=1).sum())) if forgets else 0
    return Pending([each // 1000 for each in upto], proxy, outcome, older)


def _ages(proxy: int, outcome: int) -> list[int]:
    """Edges between bins of age: some below each horizon."""
    edges = {proxy // 2, proxy, outcome // 2, outcome}
    return sorted(edge for edge in edges if edge > 0)


def known_panel(watch: Watch) -> KnownAfter:
    """The share of signals known after a while, of the predictions that are so old."""
    stretch = watch.predicted.stretches()
    after = (watch.subject.horizons.outcome * 2.0 ** ((np.arange(DELAYS) + 1 - DELAYS) / DOUBLING)).astype(np.int64)
    old = (watch.at - stretch.end)[:, None] >= after  # [G, D]
    asked = (stretch.sums[:, :1] * old).sum(axis=0)
    lines = []
    for first in (watch.columns.delays, watch.columns.delays + DELAYS):
        by = stretch.sums[:, first : first + DELAYS].cumsum(axis=1)
        lines.append(np.where(asked >= ROWS, (by * old).sum(axis=0) / np.maximum(asked, 1), np.nan))
    # Times so short that hardly anything is known by then need not be drawn, but the last of them.
    begin = max(0, int(np.argmax(np.nan_to_num(lines[0]) + np.nan_to_num(lines[1]) > LEAST)) - 1)
    return KnownAfter(milliseconds(after[begin:]), numbers(lines[0][begin:]), numbers(lines[1][begin:]))


def reliability_panel(watch: Watch) -> list[Reliable | None]:
    """For each outcome how likely it was said to be, and how often it came; of the last outcomes."""
    sums = watch.arrived.stretches().sums
    last = recent(sums, sums[:, watch.columns.losses])
    tables = last[:, watch.columns.reliability : watch.columns.weights].sum(axis=0).reshape(-1, 3, BINS)
    return [_reliable(*table) for table in tables]


def _reliable(rows: Array, predicted: Array, happened: Array) -> Reliable | None:
    filled = rows > 0
    if not filled.any():
        return None
    rows = rows[filled]
    said, share = predicted[filled] / rows, happened[filled] / rows
    low, high = wilson(share, rows)
    error = float((np.abs(said - share) * rows).sum() / rows.sum())
    return Reliable(rows.astype(int).tolist(), _short(said), _short(share), _short(low), _short(high), error)


def _short(values: Array) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
