"""Presage: predict slow outcomes from early signs."""

from typing import TYPE_CHECKING

from presage.facade import facade

if TYPE_CHECKING:
    from presage.backtesting.result import BacktestResult, backtest
    from presage.client import Client
    from presage.dataframes import Table
    from presage.drivers.live import Learner
    from presage.drivers.play import play, play_trials
    from presage.errors import PresageError
    from presage.fitting.model import Model, fit, load_model
    from presage.forecasters.checks import check_forecaster
    from presage.forecasters.contexts.context_mixture import context_mixture
    from presage.forecasters.contexts.layout import ContextSettings
    from presage.forecasters.contract import Forecaster
    from presage.forecasters.direct_network import direct_network
    from presage.forecasters.direct_table import direct_table
    from presage.forecasters.factored_network import factored_network
    from presage.forecasters.factored_table import factored_table
    from presage.forecasters.mixture import mixture
    from presage.forecasters.replay import Replay
    from presage.forecasters.residual_network import residual_network
    from presage.forecasters.residual_table import residual_table
    from presage.logs.drafts.first_task import first_task
    from presage.proxies.report import ProxyReport, judge_proxies
    from presage.saved_states import load_state, save_state
    from presage.service.serve import serve
    from presage.simulation.simulate import simulate
    from presage.spaces import Features, Instance, SetOf, Spaces
    from presage.task.task import Task, load_task
    from presage.timeline.episode import Delays, Episode

__all__ = [
    "BacktestResult",
    "Client",
    "ContextSettings",
    "Delays",
    "Episode",
    "Features",
    "Forecaster",
    "Instance",
    "Learner",
    "Model",
    "PresageError",
    "ProxyReport",
    "Replay",
    "SetOf",
    "Spaces",
    "Table",
    "Task",
    "backtest",
    "check_forecaster",
    "context_mixture",
    "direct_network",
    "direct_table",
    "factored_network",
    "factored_table",
    "first_task",
    "fit",
    "judge_proxies",
    "load_model",
    "load_state",
    "load_task",
    "mixture",
    "play",
    "play_trials",
    "residual_network",
    "residual_table",
    "save_state",
    "serve",
    "simulate",
]

__getattr__, __dir__ = facade(
    __name__,
    {
        "BacktestResult": "presage.backtesting.result",
        "Client": "presage.client",
        "ContextSettings": "presage.forecasters.contexts.layout",
        "Delays": "presage.timeline.episode",
        "Episode": "presage.timeline.episode",
        "Features": "presage.spaces",
        "Forecaster": "presage.forecasters.contract",
        "Instance": "presage.spaces",
        "Learner": "presage.drivers.live",
        "Model": "presage.fitting.model",
        "PresageError": "presage.errors",
        "ProxyReport": "presage.proxies.report",
        "Replay": "presage.forecasters.replay",
        "SetOf": "presage.spaces",
        "Spaces": "presage.spaces",
        "Table": "presage.dataframes",
        "Task": "presage.task.task",
        "backtest": "presage.backtesting.result",
        "check_forecaster": "presage.forecasters.checks",
        "context_mixture": "presage.forecasters.contexts.context_mixture",
        "direct_network": "presage.forecasters.direct_network",
        "direct_table": "presage.forecasters.direct_table",
        "factored_network": "presage.forecasters.factored_network",
        "factored_table": "presage.forecasters.factored_table",
        "first_task": "presage.logs.drafts.first_task",
        "fit": "presage.fitting.model",
        "judge_proxies": "presage.proxies.report",
        "load_model": "presage.fitting.model",
        "load_state": "presage.saved_states",
        "load_task": "presage.task.task",
        "mixture": "presage.forecasters.mixture",
        "play": "presage.drivers.play",
        "play_trials": "presage.drivers.play",
        "residual_network": "presage.forecasters.residual_network",
        "residual_table": "presage.forecasters.residual_table",
        "save_state": "presage.saved_states",
        "serve": "presage.service.serve",
        "simulate": "presage.simulation.simulate",
    },
)
