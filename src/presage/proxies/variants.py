"""Variants of a proxy, to be judged beside it: other cut points of a count, other horizons of a signal."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from presage.errors import SettingError
from presage.proxies.signals import Candidate
from presage.settings import positive, whole
from presage.spaces import EMPTY, Array


def cut_points(candidate: Candidate, pieces: Sequence[int] = (2, 3)) -> list[Candidate]:
    """All ways to merge neighbouring symbols of an ordered proxy into so many `pieces`.

    >>> clicks = Candidate("clicks", np.array([0, 1, 2, 3]), 1.0, symbols=4)
    >>> [variant.name for variant in cut_points(clicks, pieces=[2])]
    ['clicks cut at 1', 'clicks cut at 2', 'clicks cut at 3']
    """
    found = []
    for number in pieces:
        if whole("pieces", number, 2) >= candidate.symbols:
            continue
        for edges in combinations(range(1, candidate.symbols), number - 1):
            merged = np.searchsorted(np.array(edges), candidate.z, side="right")
            z = np.where(candidate.z == EMPTY, EMPTY, merged)
            name = f"{candidate.name} cut at {', '.join(str(edge) for edge in edges)}"
            found.append(Candidate(name, z, candidate.delay, number))
    return found


def horizons(
    name: str, row: Array, delay: Array, rows: int, *, days: Sequence[float] = (1, 2, 3, 7), edges: Sequence[int] = (1,)
) -> list[Candidate]:
    """The same signal at several horizons: how many events came within so many days, bucketed.

    A horizon is known when it is over, also of rows whose events came sooner: otherwise rows that are known early
    would be those with events.

    Args:
        name: of the signal.
        row: the row [e] each event belongs to.
        delay: how many days after the prediction it came [e].
        rows: how many rows there are.
        days: the horizons.
        edges: symbol k is a count of at least edges[k - 1] and below edges[k].

    >>> signs = horizons("opened", np.array([0, 2]), np.array([0.5, 1.5]), 3, days=(1, 2))
    >>> [(sign.name, sign.z.tolist()) for sign in signs]
    [('opened within 1 day', [1, 0, 0]), ('opened within 2 days', [1, 0, 1])]
    """
    if not edges or list(edges) != sorted(set(edges)) or edges[0] < 1:
        raise SettingError("edges must rise from at least 1", tuple(edges), "give for instance edges=(1, 3)")
    row, delay = np.asarray(row), np.asarray(delay, np.float64)
    found = []
    for horizon in days:
        count = np.bincount(row[delay <= positive("days", horizon)], minlength=whole("rows", rows))
        z = np.searchsorted(np.array(edges), count, side="right")
        unit = "day" if horizon == 1 else "days"
        found.append(Candidate(f"{name} within {horizon:g} {unit}", z, float(horizon), len(edges) + 1))
    return found
