"""Figures 4 and 5."""

from presage.cli.runs import Asked, Result
from presage.cli.sources import commit_source
from presage.cli.talk import progress_bar
from presage.experiments.github.experiment import reproduce_github
from presage.experiments.github.settings import PAPER, TUNED


def run(asked: Asked) -> Result:
    """The GitHub experiment."""
    settings = asked.of(PAPER, TUNED, PAPER)
    history, source = commit_source(asked.data, asked.world, settings.seed)
    with progress_bar("github: trials", settings.trials) as progress:
        return reproduce_github(settings, history, source, progress)
