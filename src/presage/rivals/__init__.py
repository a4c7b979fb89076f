"""Rivals: what people would pick instead of Presage, played in a backtest on the same rows with the same visibility."""

from typing import TYPE_CHECKING

from presage.facade import facade

if TYPE_CHECKING:
    from presage.rivals.boosted_trees import lightgbm
    from presage.rivals.online_learners import online, river
    from presage.rivals.rival import Rival, RivalLog
    from presage.rivals.scheduled_training import retrained
    from presage.rivals.vowpal_wabbit import vw

__all__ = [
    "Rival",
    "RivalLog",
    "lightgbm",
    "online",
    "retrained",
    "river",
    "vw",
]

__getattr__, __dir__ = facade(
    __name__,
    {
        "Rival": "presage.rivals.rival",
        "RivalLog": "presage.rivals.rival",
        "lightgbm": "presage.rivals.boosted_trees",
        "online": "presage.rivals.online_learners",
        "retrained": "presage.rivals.scheduled_training",
        "river": "presage.rivals.online_learners",
        "vw": "presage.rivals.vowpal_wabbit",
    },
)
