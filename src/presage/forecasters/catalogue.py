"""The forecasters that commands and task files know by name."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from presage.errors import SettingError
from presage.extras import extras_named, require
from presage.forecasters.contract import Family, Forecaster
from presage.forecasters.direct_table import direct_table, marginal_table
from presage.forecasters.factored_table import factored_table
from presage.forecasters.mixture import mixture
from presage.forecasters.replay import Replay
from presage.forecasters.residual_table import residual_table
from presage.settings import nearest
from presage.spaces import Spaces

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


def default_mixture(spaces: Spaces, groups: Groups) -> Forecaster:
    """The safe default: direct, factored and residual tables with several shrinkages, backing off through groups."""
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
    make: Callable[[Spaces, Groups], Forecaster]
    network: bool = False
    backs_off: bool = False  # through groups, so that it is there only if the task names some


def _tables() -> dict[str, NamedForecaster]:
    makers: dict[Family, Callable[..., Forecaster]] = {
        "direct": direct_table,
        "factored": factored_table,
        "residual": residual_table,
    }
    builds: dict[str, Callable[[Callable[..., Forecaster], Spaces, Groups], Forecaster]] = {
        "table": lambda make, spaces, _: make(spaces),
        "table-shrunk": lambda make, spaces, _: make(spaces, shrinkage=STRENGTH),
        "table-backing-off": lambda make, spaces, groups: make(spaces, shrinkage=STRENGTH, groups=groups),
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


def _network(family: Family, spaces: Spaces, _: Groups, output_start: str = "zero") -> Forecaster:
    with extras_named():  # for JAX, which tables do without
        module = importlib.import_module(f"presage.forecasters.{family}_network")
    made: Forecaster = getattr(module, f"{family}_network")(spaces, replay=REPLAY, l2=L2, output_start=output_start)
    return made


CATALOGUE: dict[str, NamedForecaster] = {
    "marginal": NamedForecaster("marginal", "", lambda spaces, _: marginal_table(spaces)),
    **_tables(),
    **_networks(),
    "mixture": NamedForecaster("mixture", "", default_mixture),
}
"""All of them by name."""

KEPT: dict[str, tuple[Callable[[Spaces, Groups], Forecaster], ...]] = {
    name: (partial(_network, found.family, output_start="random"),) for name, found in _networks().items()
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


def chosen_forecasters(names: tuple[str, ...], spaces: Spaces, groups: Groups) -> dict[str, Forecaster]:
    """The forecasters of these names."""
    check_names(names, groups)
    return {name: CATALOGUE[name].make(spaces, groups) for name in names}


def all_revisions(name: str, spaces: Spaces, groups: Groups) -> tuple[Forecaster, ...]:
    """The forecaster of a name, and then its older revisions that are kept."""
    (current,) = chosen_forecasters((name,), spaces, groups).values()
    return (current, *(make(spaces, groups) for make in KEPT.get(name, ())))
