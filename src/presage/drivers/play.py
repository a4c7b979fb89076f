"""Whole episodes the fastest way: tables are counted, everything else runs as one XLA program."""

from typing import Any

from presage.drivers.contexts.episodes import play_contexts
from presage.drivers.counting.episodes import can_count, count_experts
from presage.drivers.trial_losses import Losses
from presage.errors import ShapeError
from presage.forecasters.contexts.layout import ContextLayout
from presage.forecasters.contract import Forecaster
from presage.forecasters.random_keys import check_key
from presage.metrics.losses import log_loss
from presage.progress import Step
from presage.spaces import Array
from presage.timeline.episode import Episode


def play(forecaster: Forecaster, episode: Episode, key: Any) -> Array:
    """The log loss of each round, [T]; feedback is revealed only after the prediction.

    >>> from presage import Delays, Spaces, factored_table
    >>> episode = Episode.fixed([0, 0, 0], [0, 0, 0], [1, 1, 1], Delays(proxy=0, outcome=1))
    >>> play(factored_table(Spaces(1, 2, 2)), episode, key=0).shape
    (3,)
    """
    if episode.trials is not None:
        raise ShapeError("this function takes a single episode", episode.z.shape, "use play_trials for several")
    if isinstance(forecaster.structure, ContextLayout):
        check_key(key)
        return play_contexts(forecaster.structure, Episode.stack([episode])).own[0]
    if can_count(forecaster):
        check_key(key)
        return count_experts(forecaster, Episode.stack([episode])).own[0]
    from presage.drivers.xla.episodes import scan_episode  # noqa: PLC0415 tables do without JAX

    losses: Array = log_loss(scan_episode(forecaster, episode, key).log_probabilities, episode.y)
    return losses


def play_trials(forecaster: Forecaster, episodes: Episode, key: Any, progress: Step | None = None) -> Array:
    """The log losses of each trial and round, [R, T]; trial r is `play` with the r-th trial key.

    `episodes` holds the trials along its leading axis (`Episode.stack` puts single episodes together).
    """
    return play_experts(forecaster, episodes, key, progress).own


def play_experts(forecaster: Forecaster, episodes: Episode, key: Any, progress: Step | None = None) -> Losses:
    """The log losses of a mixture and of each of its experts, all from one run."""
    if episodes.trials is None:
        raise ShapeError("trials need a leading axis", episodes.z.shape, "use play, or Episode.stack([episode])")
    if isinstance(forecaster.structure, ContextLayout):
        check_key(key)
        return play_contexts(forecaster.structure, episodes, progress)
    if can_count(forecaster):
        check_key(key)
        return count_experts(forecaster, episodes, progress)
    from presage.drivers.xla.episodes import scan_experts  # noqa: PLC0415 tables do without JAX

    return scan_experts(forecaster, episodes, key, progress)
