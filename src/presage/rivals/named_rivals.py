"""The rivals that commands know by name, and the check of those that a backtest is given."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from presage.errors import SettingError
from presage.extras import require
from presage.forecasters.catalogue import CATALOGUE
from presage.rivals.boosted_trees import lightgbm
from presage.rivals.online_learners import river
from presage.rivals.rival import Rival
from presage.rivals.vowpal_wabbit import vw
from presage.settings import nearest


class NamedRival(NamedTuple):
    """How a rival is made, and the module that it needs."""

    make: Callable[[], Rival]
    module: str


RIVALS: dict[str, NamedRival] = {
    "lightgbm": NamedRival(lightgbm, "lightgbm"),
    "lightgbm-factored": NamedRival(lambda: lightgbm(factored=True), "lightgbm"),
    "vw": NamedRival(vw, "vowpalwabbit"),
    "vw-factored": NamedRival(lambda: vw(factored=True), "vowpalwabbit"),
    "river": NamedRival(river, "river"),
    "river-factored": NamedRival(lambda: river(factored=True), "river"),
}


def chosen_rivals(wanted: Any) -> tuple[Rival, ...]:
    """The rivals that are wanted, by name or made by `presage.rivals`; a wrong one is refused before a log is read.

    >>> chosen_rivals("lightgbn")
    Traceback (most recent call last):
    presage.errors.SettingError: no rival has this name: found 'lightgbn'; did you mean lightgbm?
    """
    if isinstance(wanted, str):
        wanted = wanted.split(",")
    each = list(wanted or []) if isinstance(wanted, Iterable | None) else [wanted]
    found: dict[str, Rival] = {}
    for one in each:
        rival = _named(one.strip()) if isinstance(one, str) else one
        if not isinstance(rival, Rival):
            remedy = "give a name, or what presage.rivals.retrained or presage.rivals.online makes of a model"
            raise SettingError("this is no rival", type(rival).__name__, remedy)
        if rival.name in found or rival.name in CATALOGUE:
            raise SettingError(
                "two forecasters or rivals have one name", rival.name, 'give one another: name="my-model"'
            )
        found[rival.name] = rival
    return tuple(found.values())


def _named(name: str) -> Rival:
    if name not in RIVALS:
        raise SettingError("no rival has this name", name, nearest(name, RIVALS))
    require("rivals", RIVALS[name].module)
    return RIVALS[name].make()
