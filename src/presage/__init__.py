"""Presage: predict slow outcomes from early signs."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from presage.client import Client
    from presage.drivers.live import Learner
    from presage.drivers.play import play, play_trials
    from presage.forecasters.checks import check_forecaster
    from presage.forecasters.contract import Forecaster
    from presage.forecasters.direct_network import direct_network
    from presage.forecasters.direct_table import direct_table
    from presage.forecasters.factored_network import factored_network
    from presage.forecasters.factored_table import factored_table
    from presage.forecasters.mixture import mixture
    from presage.forecasters.replay import Replay
    from presage.forecasters.residual_network import residual_network
    from presage.forecasters.residual_table import residual_table
    from presage.saved_states import load_state, save_state
    from presage.spaces import Features, Instance, SetOf, Spaces
    from presage.timeline.episode import Delays, Episode

__all__ = [
    "Client",
    "Delays",
    "Episode",
    "Features",
    "Forecaster",
    "Instance",
    "Learner",
    "Replay",
    "SetOf",
    "Spaces",
    "check_forecaster",
    "direct_network",
    "direct_table",
    "factored_network",
    "factored_table",
    "load_state",
    "mixture",
    "play",
    "play_trials",
    "residual_network",
    "residual_table",
    "save_state",
]

_HOMES = {
    "Client": "presage.client",
    "Delays": "presage.timeline.episode",
    "Episode": "presage.timeline.episode",
    "Features": "presage.spaces",
    "Forecaster": "presage.forecasters.contract",
    "Instance": "presage.spaces",
    "Learner": "presage.drivers.live",
    "Replay": "presage.forecasters.replay",
    "SetOf": "presage.spaces",
    "Spaces": "presage.spaces",
    "check_forecaster": "presage.forecasters.checks",
    "direct_network": "presage.forecasters.direct_network",
    "direct_table": "presage.forecasters.direct_table",
    "factored_network": "presage.forecasters.factored_network",
    "factored_table": "presage.forecasters.factored_table",
    "load_state": "presage.saved_states",
    "mixture": "presage.forecasters.mixture",
    "play": "presage.drivers.play",
    "play_trials": "presage.drivers.play",
    "residual_network": "presage.forecasters.residual_network",
    "residual_table": "presage.forecasters.residual_table",
    "save_state": "presage.saved_states",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is first asked for: most commands need few of them, and JAX takes a second."""
    if name not in _HOMES:
        raise AttributeError(f"module 'presage' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
