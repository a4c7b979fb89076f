"""The forecasters that commands and task files know by name."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from presage.errors import SettingError
from presage.extras import extras_named, require
from presage.forecasters.contexts.context_mixture import context_mixture
from presage.forecasters.contexts.layout import PARTS, ContextSettings
from presage.forecasters.contract import Family, Forecaster
from presage.forecasters.direct_table import direct_table, marginal_table
from presage.forecasters.factored_table import factored_table
from presage.forecasters.mixture import mixture
from presage.forecasters.replay import Replay
from presage.forecasters.residual_table import residual_table
from presage.settings import nearest
from presage.spaces import Spaces
from presage.task.task import Task

STRENGTH = 10.0
"""How many observations the whole is worth to an instance in the tables that are named shrunk."""

STRENGTHS = (3.0, 30.0)
"""Those that the tables of the mixture are built with: it finds out which suits the log."""

REPLAY = Replay(proxy_window=2**20, outcome_window=2**20, every=8)
"""When networks train on a log, and from what: a step after every 8 rows, on the last million rows that are known.

A batch of 128 draws each row 16 times or so. The windows of the paper's experiments hold a thousand rows, on a busy
log a part of a day: networks that train on those forget yesterday, and may lose to the running marginal.
"""

L2 = 0.001
"""The L2 of networks on a log; ten times as much, as in the paper's GitHub experiment, suited direct ones better and
held the others back."""

Groups = tuple[tuple[int, ...], ...]


class TaskFacts(NamedTuple):
    """What forecasters are told of a task beside its spaces."""

    groups: Groups = ()  # symbol columns to back off through, coarse to fine
    same: tuple[int, ...] = ()  # for each proxy the outcome that has its label, -1 if none has; none: they differ
    settings: ContextSettings = ContextSettings()


def facts_of(task: Task, proxy: str | None = None) -> TaskFacts:
    """What forecasters are told of a task with one of its proxies."""
    places = {name: place for place, name in enumerate(task.symbols)}
    groups = tuple(tuple(sorted(places[name] for name in group)) for group in task.forecaster.back_off)
    return TaskFacts(groups, same_labels(task, proxy), ContextSettings(**dict[str, Any](task.forecaster.settings)))


def same_labels(task: Task, proxy: str | None = None) -> tuple[int, ...]:
    """For each value of a proxy the outcome of the same name, -1 if there is none.

    Empty where the task says that they mean something else, or says nothing and some proxy has a name of its own.
    """
    signal, outcomes = task.proxy(proxy), task.outcome.values
    every = all(value in outcomes for value in signal.values)
    if not (every if signal.same is None else signal.same):
        return ()
    return tuple(outcomes.index(value) if value in outcomes else -1 for value in signal.values)


def table_mixture(spaces: Spaces, groups: Groups) -> Forecaster:
    """Direct, factored and residual tables with several shrinkages, backing off through groups."""
    shrunk = [
        make(spaces, shrinkage=strength, groups=groups)
        for make in (direct_table, factored_table)
        for strength in STRENGTHS
    ]
    residual = [
        residual_table(spaces, shrinkage=strength, kappa=kappa, groups=groups)
        for strength in STRENGTHS
        for kappa in STRENGTHS
    ]
    return mixture(spaces, [*shrunk, *residual])


class NamedForecaster(NamedTuple):
    """A forecaster and its name."""

    family: Family
    build: str  # shared by those of other families built in the same way; none of them has the build ""
    make: Callable[[Spaces, TaskFacts], Forecaster]
    network: bool = False
    backs_off: bool = False  # through groups, so that it is there only if the task names some
    ablation: bool = False  # the default without one of its parts: played only where it is asked for


def _tables() -> dict[str, NamedForecaster]:
    makers: dict[Family, Callable[..., Forecaster]] = {
        "direct": direct_table,
        "factored": factored_table,
        "residual": residual_table,
    }
    builds: dict[str, Callable[[Callable[..., Forecaster], Spaces, TaskFacts], Forecaster]] = {
        "table": lambda make, spaces, _: make(spaces),
        "table-shrunk": lambda make, spaces, _: make(spaces, shrinkage=STRENGTH),
        "table-backing-off": lambda make, spaces, facts: make(spaces, shrinkage=STRENGTH, groups=facts.groups),
    }
    return {
        f"{family}-{build}": NamedForecaster(family, build, partial(how, make), backs_off=build == "table-backing-off")
        for build, how in builds.items()
        for family, make in makers.items()
    }


def _networks() -> dict[str, NamedForecaster]:
    families: tuple[Family, ...] = ("direct", "factored", "residual")
    return {
        f"{family}-network": NamedForecaster(family, "network", partial(_network, family), network=True)
        for family in families
    }


def _network(family: Family, spaces: Spaces, _: TaskFacts, output_start: str = "zero") -> Forecaster:
    with extras_named():  # for JAX, which tables do without
        module = importlib.import_module(f"presage.forecasters.{family}_network")
    made: Forecaster = getattr(module, f"{family}_network")(spaces, replay=REPLAY, l2=L2, output_start=output_start)
    return made


def _default(spaces: Spaces, facts: TaskFacts, without: str = "") -> Forecaster:
    settings = replace(facts.settings, **{without: False}) if without else facts.settings
    return context_mixture(spaces, settings, same=facts.same, groups=facts.groups)


CATALOGUE: dict[str, NamedForecaster] = {
    "marginal": NamedForecaster("marginal", "", lambda spaces, _: marginal_table(spaces)),
    **_tables(),
    **_networks(),
    "mixture": NamedForecaster("mixture", "", _default),
    "mixture-of-tables": NamedForecaster("mixture", "", lambda spaces, facts: table_mixture(spaces, facts.groups)),
    **{
        f"mixture-without-{part.replace('_', '-')}": NamedForecaster(
            "mixture", "", partial(_default, without=part), ablation=True
        )
        for part in PARTS
    },
}
"""All of them by name."""

KEPT: dict[str, tuple[Callable[[Spaces, TaskFacts], Forecaster], ...]] = {
    "mixture": (lambda spaces, facts: table_mixture(spaces, facts.groups),),
    **{name: (partial(_network, found.family, output_start="random"),) for name, found in _networks().items()},
}
"""What builds older revisions, by name. A data folder that was made with one of these can still be served by it."""


def named_forecasters(groups: Groups) -> dict[str, NamedForecaster]:
    """The forecasters by name; `groups` are symbol columns to back off through, coarsest first."""
    return {name: found for name, found in CATALOGUE.items() if groups or not found.backs_off}


def check_names(names: tuple[str, ...], groups: Groups) -> None:
    """Raise SettingError for the first name that no forecaster has."""
    named = named_forecasters(groups)
    for name in names:
        if name in CATALOGUE and CATALOGUE[name].network:
            require("networks")
        if name in named:
            continue
        if name in CATALOGUE:
            wrong, remedy = "the task says nothing to back off through", "give back_off in its [forecaster]"
            raise SettingError(wrong, name, remedy)
        raise SettingError("no forecaster has this name", name, nearest(name, named))


def chosen_forecasters(names: tuple[str, ...], spaces: Spaces, facts: TaskFacts) -> dict[str, Forecaster]:
    """The forecasters of these names."""
    check_names(names, facts.groups)
    return {name: CATALOGUE[name].make(spaces, facts) for name in names}


def all_revisions(name: str, spaces: Spaces, facts: TaskFacts) -> tuple[Forecaster, ...]:
    """The forecaster of a name, and then its older revisions that are kept."""
    (current,) = chosen_forecasters((name,), spaces, facts).values()
    return (current, *(make(spaces, facts) for make in KEPT.get(name, ())))
