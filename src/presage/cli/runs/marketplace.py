"""Figures 6 and 7."""

from presage.cli.experiment_data import market_sources
from presage.cli.output import progress_bar
from presage.cli.runs import ReproduceRequest, Result
from presage.experiments.marketplace.experiment import reproduce_marketplace
from presage.experiments.marketplace.settings import PAPER, TUNED


def run(asked: ReproduceRequest) -> Result:
    """The marketplace experiment."""
    settings = asked.of(PAPER, TUNED, TUNED)
    source = market_sources(asked.data, asked.world, max(settings.launches, settings.items))
    source(asked.seeds[0])
    with progress_bar("marketplace: trials", 2 * len(asked.seeds) * settings.trials) as progress:
        return reproduce_marketplace(settings, source, progress, asked.seeds)
