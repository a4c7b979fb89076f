"""Families of forecasters: what stands for each on charts, and which direct one a forecaster is compared with."""

from collections.abc import Collection, Mapping

FAMILIES = ("marginal", "direct", "factored", "residual", "mixture")
"""From what knows least to what is made of the others."""

DIRECT = ("direct-table-backing-off", "direct-table-shrunk", "direct-table", "direct-network")
"""What a mixture is compared with: the first of these that was played."""


def family_of(name: str) -> str:
    """The family of a forecaster.

    >>> family_of("residual-table-backing-off")
    'residual'
    """
    return name.partition("-")[0]


def direct_counterpart(name: str, played: Collection[str]) -> str | None:
    """The direct forecaster built like this one, which waits for outcomes; None if there is none among those played.

    >>> direct_counterpart("residual-table-shrunk", ["direct-table", "direct-table-shrunk"])
    'direct-table-shrunk'
    """
    family, _, build = name.partition("-")
    if family == "mixture":
        return next((direct for direct in DIRECT if direct in played), None)
    same = f"direct-{build}"
    return same if family in ("factored", "residual") and same in played else None


def stand_ins(losses: Mapping[str, float]) -> dict[str, str]:
    """For each family the forecaster of least loss, which stands for it on charts."""
    found = {}
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
