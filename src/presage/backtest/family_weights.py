"""How much a mixture trusts each family of its experts, over time."""

import numpy as np

from presage.backtest.blocks import Blocks, block_means
from presage.backtest.families import family_of
from presage.drivers.counting.episodes import can_count, stretch_mixture
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool
from presage.spaces import Array
from presage.timeline.episode import Episode


def family_weights(forecaster: Forecaster, episode: Episode, blocks: Blocks) -> dict[str, Array] | None:
    """The mean weight [B] of each family of a mixture's experts in each block of time; None for other forecasters.

    The mixture must be of tables.
    """
    pool = forecaster.made_of
    if not isinstance(pool, Pool) or not can_count(forecaster):
        return None
    names = [family_of(expert.name) for expert in pool.experts]
    families = list(dict.fromkeys(names))
    belongs = np.array([[name == family for name in names] for family in families], np.float32)  # [F, K]
    weights = np.concatenate([belongs @ mixed.weights for mixed in stretch_mixture(pool, episode)], axis=1)  # [F, N]
    return {family: block_means(each, blocks) for family, each in zip(families, weights, strict=True)}
