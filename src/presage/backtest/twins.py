"""The zero-delay twins of forecasters: what the same ones lose if all feedback comes at once."""

from collections.abc import Callable

from presage.backtest.replay import Said, replay
from presage.drivers.threads import over_cores
from presage.forecasters.contract import Forecaster
from presage.metrics.bootstrap import bootstrap_mean
from presage.metrics.intervals import Interval
from presage.metrics.regret import log_loss
from presage.timeline.episode import Episode


def delay_costs(
    forecasters: dict[str, Forecaster], said: Said, episode: Episode, seed: int, tell: Callable[[str], None]
) -> dict[str, Interval]:
    """How much more each forecaster loses, row by row, than its twin that sees all feedback at the end of its round."""
    at_once = replay(forecasters, episode.without_delay(), seed, tell)

    def cost(name: str) -> Interval:
        return bootstrap_mean(log_loss(said[name], episode.y) - log_loss(at_once[name], episode.y))

    return dict(zip(forecasters, over_cores(cost, forecasters), strict=True))
