"""The panel of g: whether it is stable, in words, and what it was over time."""

from datetime import UTC, datetime

import numpy as np

from presage.service.watch.drift import LEAST_GROUPS, Drift, State, least_rows
from presage.service.watch.fold import Watch
from presage.service.watch.frame import Stability
from presage.service.watch.points import milliseconds, numbers


def stability_panel(watch: Watch, drift: Drift) -> Stability:
    """The verdict in words, and the share of each outcome after each proxy over time."""
    subject, groups = watch.subject, drift.groups
    tables = groups.sums.reshape(-1, subject.proxies, subject.outcomes)
    rows = tables.sum(axis=-1, keepdims=True)
    shares = np.where(rows > 0, tables / np.maximum(rows, 1), np.nan)  # [G, Z, Y]
    lines = [[numbers(shares[:, z, y]) for z in range(subject.proxies)] for y in range(subject.outcomes)]
    since = None if drift.since is None else drift.since // 1000
    about = drift.state.value, words(drift, (subject.proxies, subject.outcomes)), drift.p, drift.nats, since
    return Stability(*about, drift.rows, milliseconds(groups.middle), lines)


def words(drift: Drift, shape: tuple[int, int]) -> str:
    """The verdict in words, for so many proxies and outcomes."""
    if drift.state is State.UNKNOWN:
        enough = LEAST_GROUPS * least_rows(0, shape)
        return f"Too few predictions have matured to tell: {drift.rows:,}. It takes {enough}, with all outcomes in."
    if drift.state is State.STABLE:
        return f"Stable: {drift.rows:,} matured predictions show no change in what a proxy means."
    assert drift.since is not None
    day = datetime.fromtimestamp(drift.since / 1e6, UTC).strftime("%-d %B %Y, %H:%M UTC")
    if drift.state is State.SLIGHT:
        return (
            f"It has changed a little since about {day}: going by what was before costs {drift.nats:.4f} nats a "
            "prediction, too little for an alarm."
        )
    return (
        f"What a proxy means has changed: since about {day} other outcomes follow the same proxies. Going by what was "
        f"before costs {drift.nats:.3f} nats a prediction. The chance of a false alarm is {_chance(drift.p)}."
    )


def _chance(p: float) -> str:
    return "less than one in a million" if p < 1e-6 else f"{p:.1g}"
