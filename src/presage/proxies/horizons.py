"""A task whose proxies on raw events are asked for at other horizons as well, each a candidate of its own.

Nothing is counted here: whoever reads the log counts every horizon in the same pass, DuckDB and Spark alike.
"""

from collections.abc import Sequence
from dataclasses import replace

from presage.errors import SettingError
from presage.task.signals import Counted, First, Labelled, Signal
from presage.task.spans import Span, span
from presage.task.task import Task

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
    return isinstance(proxy.source, Counted) or (isinstance(proxy.source, First) and proxy.absent is not None)


def _at(proxy: Signal, horizon: Span) -> Signal:
    assert not isinstance(proxy.source, Labelled)
    name = f"{proxy.name} within {horizon}"
    return replace(proxy, name=name, horizon=horizon, source=replace(proxy.source, within=horizon))


def _defined(proxy: Signal) -> tuple[object, ...]:
    """What tells two definitions apart: neither the name nor how the horizon is written."""
    if isinstance(proxy.source, Labelled):
        return (proxy.name,)
    return proxy.values, proxy.absent, replace(proxy.source, within=Span("", proxy.horizon.microseconds))
