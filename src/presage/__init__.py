"""Presage: predict slow outcomes from early signs."""

from presage.drivers.compiled import play, play_trials
from presage.drivers.live import Learner
from presage.forecasters.checks import check_forecaster
from presage.forecasters.contract import Forecaster
from presage.forecasters.direct_network import direct_network
from presage.forecasters.direct_table import direct_table
from presage.forecasters.factored_network import factored_network
from presage.forecasters.factored_table import factored_table
from presage.forecasters.mixture import mixture
from presage.forecasters.residual_network import residual_network
from presage.forecasters.residual_table import residual_table
from presage.learning.replay import Replay
from presage.spaces import Features, Instance, SetOf, Spaces
from presage.store.states import load_state, save_state
from presage.timeline.delays import Delays
from presage.timeline.episode import Episode

__all__ = [
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
