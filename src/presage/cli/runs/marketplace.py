"""Figures 6 and 7."""

from presage.cli.runs import Asked, Result
from presage.cli.sources import market_source
from presage.cli.talk import progress_bar
from presage.experiments.marketplace.experiment import reproduce_marketplace
from presage.experiments.marketplace.settings import PAPER, TUNED


def run(asked: Asked) -> Result:
    """The marketplace experiment."""
    settings = asked.of(PAPER, TUNED, TUNED)
    market, source = market_source(asked.data, asked.world, settings.seed, max(settings.launches, settings.items))
    with progress_bar("marketplace: trials", 2 * settings.trials) as progress:
        return reproduce_marketplace(settings, market, source, progress)
