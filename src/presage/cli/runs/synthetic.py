"""Figure 2."""

from presage.charts.artist import Artist
from presage.cli.output import progress_bar
from presage.cli.runs import ReproduceRequest, Result
from presage.errors import SettingError
from presage.experiments.synthetic.figure import blank_rows, figure_2
from presage.experiments.synthetic.settings import PAPER


def run(asked: ReproduceRequest) -> Result:
    """The synthetic experiment."""
    if asked.data or asked.settings == "tuned" or asked.world:
        raise SettingError("the synthetic experiment has no data and no tuned settings", "synthetic", "leave them out")
    settings = asked.of(PAPER, PAPER, PAPER)
    with Artist() as artist:
        artist.rehearse(figure_2, settings.trials, blank_rows(settings))
        # Compiled loops are loaded while the artist loads what draws.
        from presage.drivers.compile_time import start_numba_without_blas  # noqa: PLC0415

        start_numba_without_blas()
        from presage.experiments.synthetic.experiment import episodes_played, reproduce_synthetic  # noqa: PLC0415

        with progress_bar("synthetic: episodes", episodes_played(settings, len(asked.seeds))) as progress:
            return reproduce_synthetic(settings, progress, artist.draw, asked.seeds)
