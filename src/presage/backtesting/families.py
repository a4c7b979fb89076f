"""Families of forecasters: what stands for each on charts, and which direct one a forecaster is compared with."""

from collections.abc import Collection, Mapping
from typing import get_args

from presage.forecasters.catalogue import CATALOGUE
from presage.forecasters.contract import Family

RIVAL = "rival"
"""The family of what is played beside the forecasters of the catalogue."""

FAMILIES: tuple[str, ...] = (*get_args(Family), RIVAL)
"""From what knows least to what is made of the others, and rivals."""

MEANINGS = {
    "direct": "learns only from outcomes, item by item, once they arrive",
    "factored": "learns at once which early signs an item shows, and from all items together what a sign leads to",
    "residual": "is factored with a correction for each item, learnt from the item's own outcomes",
    "mixture": "weighs many estimates by how well they did so far: the default, which uses every feature",
    RIVAL: "is what people pick instead, played on the same rows with what was known by then",
}
"""What the forecasters of a family are, in one sentence each."""

DIRECT = ("direct-table-backing-off", "direct-table-shrunk", "direct-table", "direct-network")
"""What a mixture is compared with: the first of these that was played."""


def family_of(name: str) -> str:
    """The family of a forecaster in the catalogue; whatever else was played is a rival.

    >>> family_of("residual-table-backing-off"), family_of("lightgbm")
    ('residual', 'rival')
    """
    return CATALOGUE[name].family if name in CATALOGUE else RIVAL


def told_families(played: Collection[str]) -> list[str]:
    """A sentence on each family that has a forecaster among those played.

    >>> told_families(["marginal", "direct-table"])
    ['direct learns only from outcomes, item by item, once they arrive.']
    """
    families = {family_of(name) for name in played}
    return [f"{family} {meaning}." for family, meaning in MEANINGS.items() if family in families]


def direct_counterpart(name: str, played: Collection[str]) -> str | None:
    """The direct forecaster built like this one, which waits for outcomes; None if there is none among those played.

    >>> direct_counterpart("residual-table-shrunk", ["direct-table", "direct-table-shrunk"])
    'direct-table-shrunk'
    """
    if name not in CATALOGUE:
        return None
    own = CATALOGUE[name]
    if own.family == "mixture":
        return next((direct for direct in DIRECT if direct in played), None)
    if own.family not in ("factored", "residual"):
        return None
    alike = [other for other, each in CATALOGUE.items() if (each.family, each.build) == ("direct", own.build)]
    return next((other for other in alike if other in played), None)


def stand_ins(losses: Mapping[str, float]) -> dict[str, str]:
    """For each family the forecaster of least loss, which stands for it on charts."""
    found: dict[str, str] = {}
    for family in FAMILIES:
        own = [name for name in losses if family_of(name) == family]
        if own:
            found[family] = min(own, key=lambda name: losses[name])
    return found


def proxy_pair(losses: Mapping[str, float]) -> tuple[str, str] | None:
    """The best forecaster that learns through the proxy, and the best that does not; None without both.

    The mixture does both, and is left out.
    """
    shown = stand_ins(losses)
    through = [shown[family] for family in ("factored", "residual") if family in shown]
    if not through or "direct" not in shown:
        return None
    return min(through, key=lambda name: losses[name]), shown["direct"]
