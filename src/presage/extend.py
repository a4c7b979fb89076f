"""For extending Presage: writing a forecaster, and judging early signs in arrays rather than a log."""

from typing import TYPE_CHECKING

from presage.facade import facade

if TYPE_CHECKING:
    from presage.arrays import namespace
    from presage.backtesting.backtest import to_episode
    from presage.forecasters.back_off import known
    from presage.forecasters.checks import check_forecaster
    from presage.forecasters.contract import Forecast, Forecaster, Rows, unmoved
    from presage.logs.rows import LogRows, read_log
    from presage.proxies.candidates import cut_points, horizons
    from presage.proxies.card import Card
    from presage.proxies.judge import judge_proxy
    from presage.proxies.signals import PredictionRows, ProxyCandidate
    from presage.settings import between, positive, share, strength, whole
    from presage.spaces import Array, Instance, Spaces

__all__ = [
    "Array",
    "Card",
    "Forecast",
    "Forecaster",
    "Instance",
    "LogRows",
    "PredictionRows",
    "ProxyCandidate",
    "Rows",
    "Spaces",
    "between",
    "check_forecaster",
    "cut_points",
    "horizons",
    "judge_proxy",
    "known",
    "namespace",
    "positive",
    "read_log",
    "share",
    "strength",
    "to_episode",
    "unmoved",
    "whole",
]

__getattr__, __dir__ = facade(
    __name__,
    {
        "Array": "presage.spaces",
        "Card": "presage.proxies.card",
        "Forecast": "presage.forecasters.contract",
        "Forecaster": "presage.forecasters.contract",
        "Instance": "presage.spaces",
        "LogRows": "presage.logs.rows",
        "PredictionRows": "presage.proxies.signals",
        "ProxyCandidate": "presage.proxies.signals",
        "Rows": "presage.forecasters.contract",
        "Spaces": "presage.spaces",
        "between": "presage.settings",
        "check_forecaster": "presage.forecasters.checks",
        "cut_points": "presage.proxies.candidates",
        "horizons": "presage.proxies.candidates",
        "judge_proxy": "presage.proxies.judge",
        "known": "presage.forecasters.back_off",
        "namespace": "presage.arrays",
        "positive": "presage.settings",
        "read_log": "presage.logs.rows",
        "share": "presage.settings",
        "strength": "presage.settings",
        "to_episode": "presage.backtesting.backtest",
        "unmoved": "presage.forecasters.contract",
        "whole": "presage.settings",
    },
)
