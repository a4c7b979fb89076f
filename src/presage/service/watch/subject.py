"""What is watched of a forecaster: its signals, how long they are waited for, and the experts inside it."""

from typing import NamedTuple

from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool, experts_of
from presage.joining.join import Horizons


class Subject(NamedTuple):
    """What is watched."""

    proxies: int
    outcomes: int
    horizons: Horizons
    families: tuple[str, ...] = ()  # of the experts, in order of their appearance; none unless it is a mixture
    direct: tuple[int, ...] = ()  # places of direct experts among all
    experts: int = 0


def family_of(name: str) -> str:
    """The family of a forecaster: the first word of its name."""
    return name.partition("-")[0]


def subject_of(forecaster: Forecaster, horizons: Horizons) -> Subject:
    """What is watched of a forecaster."""
    spaces = forecaster.spaces
    if not isinstance(forecaster.made_of, Pool):
        return Subject(spaces.proxies, spaces.outcomes, horizons)
    families = [family_of(expert.name) for expert in experts_of(forecaster)]
    direct = tuple(place for place, family in enumerate(families) if family == "direct")
    distinct = tuple(dict.fromkeys(families))
    return Subject(spaces.proxies, spaces.outcomes, horizons, distinct, direct, len(families))
