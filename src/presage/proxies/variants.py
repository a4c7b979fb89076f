"""Variants of a proxy, to be judged beside it: other cut points of a count, other horizons of a signal."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from presage.errors import SettingError
from presage.proxies.signals import Candidate
from presage.settings import positive, whole
from presage.spaces import EMPTY, Array

PIECES = (2, 3)
"""Into how many symbols a proxy is merged."""


def cuts_of(symbols: int, pieces: Sequence[int] = PIECES) -> list[tuple[int, ...]]:
    """All ways to cut so many symbols in a row into fewer `pieces`, by the first symbol of each piece but the first.

    >>> cuts_of(4, pieces=[2])
    [(1,), (2,), (3,)]
    """
    fewer = [number for number in pieces if whole("pieces", number, 2) < symbols]
    return [edges for number in fewer for edges in combinations(range(1, symbols), number - 1)]


def cut_points(candidate: Candidate, pieces: Sequence[int] = PIECES) -> Iterator[Candidate]:
    """All ways to merge neighbouring symbols of an ordered proxy into so many `pieces`.

    >>> clicks = Candidate("clicks", np.array([0, 1, 2, 3]), 1.0, symbols=4)
    >>> [variant.name for variant in cut_points(clicks, pieces=[2])]
    ['clicks cut at 1', 'clicks cut at 2', 'clicks cut at 3']
    """
    for edges in cuts_of(candidate.symbols, pieces):
        merged = np.searchsorted(np.array(edges), candidate.z, side="right")
        z = np.where(candidate.z == EMPTY, EMPTY, merged)
        name = f"{candidate.name} cut at {', '.join(str(edge) for edge in edges)}"
        yield Candidate(name, z, candidate.delay, len(edges) + 1)


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
