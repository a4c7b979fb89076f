"""Further candidates made of one proxy: other cut points, other horizons."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from presage.errors import SettingError
from presage.proxies.signals import ProxyCandidate
from presage.settings import positive, whole
from presage.spaces import EMPTY, Array
from presage.task.signals import CountedEvents, First, Signal
from presage.task.spans import Span, span
from presage.task.task import Task

PIECES = (2, 3)
"""Into how many symbols a proxy is merged."""


def cuts_of(symbols: int, pieces: Sequence[int] = PIECES) -> list[tuple[int, ...]]:
    """All ways to cut so many symbols in a row into fewer `pieces`, by the first symbol of each piece but the first.

    >>> cuts_of(4, pieces=[2])
    [(1,), (2,), (3,)]
    """
    fewer = [number for number in pieces if whole("pieces", number, 2) < symbols]
    return [edges for number in fewer for edges in combinations(range(1, symbols), number - 1)]


def cut_points(candidate: ProxyCandidate, pieces: Sequence[int] = PIECES) -> Iterator[ProxyCandidate]:
    """All ways to merge neighbouring symbols of an ordered proxy into so many `pieces`.

    >>> clicks = ProxyCandidate("clicks", np.array([0, 1, 2, 3]), 1.0, symbols=4)
    >>> [variant.name for variant in cut_points(clicks, pieces=[2])]
    ['clicks cut at 1', 'clicks cut at 2', 'clicks cut at 3']
    """
    for edges in cuts_of(candidate.symbols, pieces):
        merged = np.searchsorted(np.array(edges), candidate.z, side="right")
        z = np.where(candidate.z == EMPTY, EMPTY, merged)
        name = f"{candidate.name} cut at {', '.join(str(edge) for edge in edges)}"
        yield ProxyCandidate(name, z, candidate.delay, len(edges) + 1, candidate.features)


def horizons(
    name: str, row: Array, delay: Array, rows: int, *, days: Sequence[float] = (1, 2, 3, 7), edges: Sequence[int] = (1,)
) -> list[ProxyCandidate]:
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
        found.append(ProxyCandidate(f"{name} within {horizon:g} {unit}", z, float(horizon), len(edges) + 1))
    return found


USUAL = tuple(
    span("usual horizon", words)
    for words in ("1 hour", "3 hours", "12 hours", "1 day", "2 days", "3 days", "7 days", "14 days", "30 days")
)
SHORTEST = 30
"""Of the usual horizons none is taken that is shorter than the outcome's by more than this factor."""


def with_horizons(task: Task, horizons: Sequence[Span] | None = None) -> Task:
    """The task with variants of its proxies after them: NAME within HORIZON.

    A proxy can be asked for at any horizon if it is defined on raw events and every horizon settles it: a count, or the
    first of several kinds with a value for none of them.

    Args:
        task: what is predicted.
        horizons: all of them shorter than the outcome's; None takes the usual ones that are, () none.
    """
    outcome = task.outcome.horizon.microseconds
    movable = [proxy for proxy in task.proxies if _settles(proxy)]
    if horizons is None:
        horizons = [one for one in USUAL if outcome <= one.microseconds * SHORTEST and one.microseconds < outcome]
    elif horizons and not movable:
        remedy = "define one on raw events by count and within, or ask for no horizons"
        names = ", ".join(proxy.name for proxy in task.proxies)
        raise SettingError("no proxy of this task has other horizons: they are columns of the log", names, remedy)
    for one in horizons:
        if one.rows:
            raise SettingError("raw events have horizons in time, not in rows", str(one), 'write it like "3 days"')
        if one.microseconds >= outcome:
            wrong = f"a proxy's horizon must be shorter than the outcome's of {task.outcome.horizon}"
            raise SettingError(wrong, str(one), "leave it out, or give a shorter one")
    taken = {_defined(proxy) for proxy in task.proxies}
    found = []
    for proxy in movable:
        for one in sorted(horizons, key=lambda each: each.microseconds):
            variant = _at(proxy, one)
            if _defined(variant) not in taken:
                taken.add(_defined(variant))
                found.append(variant)
    return replace(task, proxies=(*task.proxies, *found))


def _settles(proxy: Signal) -> bool:
    return isinstance(proxy.source, CountedEvents) or (isinstance(proxy.source, First) and proxy.absent is not None)


def _at(proxy: Signal, horizon: Span) -> Signal:
    assert isinstance(proxy.source, CountedEvents | First)
    name = f"{proxy.name} within {horizon}"
    return replace(proxy, name=name, horizon=horizon, source=replace(proxy.source, within=horizon))


def _defined(proxy: Signal) -> tuple[object, ...]:
    """What tells two definitions apart: neither the name nor how the horizon is written."""
    if not isinstance(proxy.source, CountedEvents | First):
        return (proxy.name,)
    return proxy.values, proxy.absent, replace(proxy.source, within=Span("", proxy.horizon.microseconds))
