"""Figures 4 and 5."""

from presage.cli.experiment_data import commit_sources
from presage.cli.output import progress_bar
from presage.cli.runs import ReproduceRequest, Result
from presage.experiments.github.experiment import reproduce_github
from presage.experiments.github.settings import PAPER, TUNED


def run(asked: ReproduceRequest) -> Result:
    """The GitHub experiment."""
    settings = asked.of(PAPER, TUNED, PAPER)
    source = commit_sources(asked.data, asked.world)
    source(asked.seeds[0])  # read errors come before the progress bar
    with progress_bar("github: trials", len(asked.seeds) * settings.trials) as progress:
        return reproduce_github(settings, source, progress, asked.seeds)
