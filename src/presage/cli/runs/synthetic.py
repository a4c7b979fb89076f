"""Figure 2."""

from presage.cli.runs import Asked, Result
from presage.cli.talk import progress_bar
from presage.errors import SettingError
from presage.experiments.synthetic.experiment import episodes_played, reproduce_synthetic
from presage.experiments.synthetic.settings import PAPER


def run(asked: Asked) -> Result:
    """The synthetic experiment."""
    if asked.data or asked.settings == "tuned" or asked.world:
        raise SettingError("the synthetic experiment has no data and no tuned settings", "synthetic", "leave them out")
    settings = asked.of(PAPER, PAPER, PAPER)
    with progress_bar("synthetic: episodes", episodes_played(settings)) as progress:
        return reproduce_synthetic(settings, progress)
