"""Figure 2."""

from typing import Any

from presage.charts.artist import Artist
from presage.cli.output import progress_bar
from presage.cli.runs import ReproduceRequest, Result
from presage.errors import SettingError
from presage.experiments.synthetic.figure import blank_rows, figure_2
from presage.experiments.synthetic.settings import PAPER
from presage.later import Later

compiling: Any = Later("presage.drivers.compile_time")
experiment: Any = Later("presage.experiments.synthetic.experiment")
"""Compiled loops are loaded while the artist loads what draws."""


def run(asked: ReproduceRequest) -> Result:
    """The synthetic experiment."""
    if asked.data or asked.settings == "tuned" or asked.world:
        raise SettingError("the synthetic experiment has no data and no tuned settings", "synthetic", "leave them out")
    settings = asked.of(PAPER, PAPER, PAPER)
    with Artist() as artist:
        artist.rehearse(figure_2, settings.trials, blank_rows(settings))
        compiling.start_numba_without_blas()
        episodes = experiment.episodes_played(settings, len(asked.seeds))
        with progress_bar("synthetic: episodes", episodes) as progress:
            result: Result = experiment.reproduce_synthetic(settings, progress, artist.draw, asked.seeds)
            return result
