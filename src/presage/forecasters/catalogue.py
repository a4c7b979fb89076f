"""The forecasters that commands and task files know by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

from presage.errors import SettingError
from presage.forecasters.contract import Forecaster
from presage.forecasters.direct_table import direct_table, marginal_table
from presage.forecasters.factored_table import factored_table
from presage.forecasters.mixture import mixture
from presage.forecasters.replay import Replay
from presage.forecasters.residual_table import residual_table
from presage.later import Later
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
    """The safe default: direct, factored and residual tables of several strengths, backing off through groups."""
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


def named_forecasters(groups: Groups) -> dict[str, Callable[[Spaces], Forecaster]]:
    """What builds each forecaster, by name; `groups` are symbol columns to back off through, coarse to fine."""
    tables = {"direct-table": direct_table, "factored-table": factored_table, "residual-table": residual_table}
    named: dict[str, Callable[[Spaces], Forecaster]] = {"marginal": marginal_table, **tables}
    named |= {f"{name}-shrunk": partial(make, shrinkage=STRENGTH) for name, make in tables.items()}
    if groups:
        named |= {f"{n}-backing-off": partial(make, shrinkage=STRENGTH, groups=groups) for n, make in tables.items()}
    named |= {f"{name}-network": partial(_network, name) for name in ("direct", "factored", "residual")}
    return named | {"mixture": partial(default_mixture, groups=groups)}


def check_names(names: tuple[str, ...], groups: Groups) -> None:
    """Nothing, or the error of the first name that no forecaster has."""
    named = named_forecasters(groups)
    for name in names:
        if name in named:
            continue
        if name in named_forecasters(((0,),)):
            wrong, remedy = "the task says nothing to back off through", "give back_off in its [forecaster]"
            raise SettingError(wrong, name, remedy)
        raise SettingError("no forecaster has this name", name, nearest(name, named))


def chosen_forecasters(names: tuple[str, ...], spaces: Spaces, groups: Groups) -> dict[str, Forecaster]:
    """The forecasters of these names."""
    check_names(names, groups)
    named = named_forecasters(groups)
    return {name: named[name](spaces) for name in names}


def all_revisions(name: str, spaces: Spaces, groups: Groups) -> tuple[Forecaster, ...]:
    """The forecaster of a name, and then its older revisions that are kept."""
    (current,) = chosen_forecasters((name,), spaces, groups).values()
    return (current, *(make(spaces, groups) for make in KEPT.get(name, ())))


def _network(name: str, spaces: Spaces, **settings: Any) -> Forecaster:
    module: Any = Later(f"presage.forecasters.{name}_network")  # for JAX, which tables do without
    made: Forecaster = getattr(module, f"{name}_network")(spaces, replay=REPLAY, l2=L2, **settings)
    return made


def _first_network(name: str, spaces: Spaces, _: Groups) -> Forecaster:
    return _network(name, spaces, output_start="random")


KEPT: dict[str, tuple[Callable[[Spaces, Groups], Forecaster], ...]] = {
    f"{name}-network": (partial(_first_network, name),) for name in ("direct", "factored", "residual")
}
"""What builds older revisions, by name. A data folder that was made with one of these can still be served by it."""
