"""The panels of feedback: open predictions, feedback delay, calibration, and the link from proxy to outcome."""

from datetime import UTC, datetime

import numpy as np

from presage.metrics.calibration import wilson
from presage.service.dashboard.columns import BINS, COHORT, DELAYS, DOUBLING
from presage.service.dashboard.drift import LEAST_GROUPS, Drift, DriftState, least_rows
from presage.service.dashboard.fold import Watch
from presage.service.dashboard.frame import (
    ROWS,
    KnownAfterPanel,
    Pending,
    Reliable,
    StabilityPanel,
    milliseconds,
    numbers,
    recent,
)
from presage.spaces import Array

LEAST = 0.01
"""A curve begins where this share is known."""

_PROXY, _OUTCOME = COHORT.index("proxy"), COHORT.index("outcome")


def pending_panel(watch: Watch, opened: int) -> Pending:
    """How many predictions lack their proxy or outcome, by age; `opened` are open in all."""
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


def known_panel(watch: Watch) -> KnownAfterPanel:
    """The share of predictions whose signals are known, by time since the prediction."""
    stretch = watch.predicted.stretches()
    after = (watch.subject.horizons.outcome * 2.0 ** ((np.arange(DELAYS) + 1 - DELAYS) / DOUBLING)).astype(np.int64)
    old = (watch.at - stretch.end)[:, None] >= after  # [G, D]
    predictions = (stretch.sums[:, :1] * old).sum(axis=0)
    lines = []
    for first in (watch.columns.delays, watch.columns.delays + DELAYS):
        by = stretch.sums[:, first : first + DELAYS].cumsum(axis=1)
        lines.append(np.where(predictions >= ROWS, (by * old).sum(axis=0) / np.maximum(predictions, 1), np.nan))
    # Skip the short times at which hardly any signal is known, except the last of them.
    begin = max(0, int(np.argmax(np.nan_to_num(lines[0]) + np.nan_to_num(lines[1]) > LEAST)) - 1)
    return KnownAfterPanel(milliseconds(after[begin:]), numbers(lines[0][begin:]), numbers(lines[1][begin:]))


def reliability_panel(watch: Watch) -> list[Reliable | None]:
    """For each outcome its predicted probability and its observed frequency, over the last outcomes."""
    sums = watch.arrived.stretches().sums
    last = recent(sums, sums[:, watch.columns.losses])
    tables = last[:, watch.columns.reliability : watch.columns.weights].sum(axis=0).reshape(-1, 3, BINS)
    return [_reliable(*table) for table in tables]


def _reliable(rows: Array, predicted: Array, happened: Array) -> Reliable | None:
    filled = rows > 0
    if not filled.any():
        return None
    rows = rows[filled]
    likely, share = predicted[filled] / rows, happened[filled] / rows
    low, high = wilson(share, rows)
    error = float((np.abs(likely - share) * rows).sum() / rows.sum())
    return Reliable(rows.astype(int).tolist(), _short(likely), _short(share), _short(low), _short(high), error)


def _short(values: Array) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def stability_panel(watch: Watch, drift: Drift) -> StabilityPanel:
    """The verdict in words, and the share of each outcome after each proxy over time."""
    subject, groups = watch.subject, drift.groups
    tables = groups.sums.reshape(-1, subject.proxies, subject.outcomes)
    rows = tables.sum(axis=-1, keepdims=True)
    shares = np.where(rows > 0, tables / np.maximum(rows, 1), np.nan)  # [G, Z, Y]
    lines = [[numbers(shares[:, z, y]) for z in range(subject.proxies)] for y in range(subject.outcomes)]
    since = None if drift.since is None else drift.since // 1000
    about = drift.state.value, drift_words(drift, (subject.proxies, subject.outcomes)), drift.p, drift.nats, since
    return StabilityPanel(*about, drift.rows, milliseconds(groups.middle), lines)


def drift_words(drift: Drift, shape: tuple[int, int]) -> str:
    """The verdict in words, for so many proxies and outcomes."""
    if drift.state is DriftState.UNKNOWN:
        enough = LEAST_GROUPS * least_rows(0, shape)
        return f"Too little data: {drift.rows:,} predictions with all outcomes in, of the {enough} that the test needs."
    if drift.state is DriftState.STABLE:
        return (
            f"{drift.rows:,} predictions with all outcomes in show no change in how often outcomes follow each proxy."
        )
    assert drift.since is not None
    day = datetime.fromtimestamp(drift.since / 1e6, UTC).strftime("%-d %B %Y, %H:%M UTC")
    if drift.state is DriftState.SLIGHT:
        return (
            f"A slight change since about {day}: the old frequencies would cost {drift.nats:.4f} nats per prediction, "
            "too little for an alarm."
        )
    return (
        f"Changed: since about {day} the same proxies lead to different outcomes. The old frequencies would cost "
        f"{drift.nats:.3f} nats per prediction. The chance of a false alarm is {_chance(drift.p)}."
    )


def _chance(p: float) -> str:
    return "less than one in a million" if p < 1e-6 else f"{p:.1g}"
