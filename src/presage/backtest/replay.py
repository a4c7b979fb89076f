"""A log replayed: what each forecaster would have said of every row, with only what was known by then."""

from collections.abc import Callable

import numpy as np

from presage.drivers.compiled import run
from presage.drivers.counted import Counted, can_count, count_tables
from presage.drivers.weighed import weigh
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool
from presage.forecasters.weights import EarlyWeights
from presage.spaces import Array
from presage.timeline.episode import Episode

Said = dict[str, Array]
"""By forecaster, the log-probabilities of every row: float32 [N, Y]."""


def replay(forecasters: dict[str, Forecaster], episode: Episode, seed: int, tell: Callable[[str], None]) -> Said:
    """What each forecaster says; tables and mixtures of tables are counted together, the others one by one."""
    counted = {name: one for name, one in forecasters.items() if can_count(one)}
    said = _replay_tables(counted, episode) if counted else {}
    for name in counted:
        tell(name)
    for name, forecaster in forecasters.items():
        if name not in counted:
            said[name] = np.asarray(run(forecaster, episode, seed).log_probabilities)
            tell(name)
    return {name: said[name] for name in forecasters}


def _replay_tables(forecasters: dict[str, Forecaster], episode: Episode) -> Said:
    trials = Episode.stack([episode])
    singles = {name: one for name, one in forecasters.items() if not isinstance(one.made_of, Pool)}
    said: Said = {}
    if singles:
        logs = count_tables(list(singles.values()), trials).logs[0]
        said = {name: np.ascontiguousarray(logs[:, place]) for place, name in enumerate(singles)}
    for name, one in forecasters.items():
        if name not in singles:
            said[name] = _mixed(one.made_of, trials)
    return said


def _mixed(pool: Pool, trials: Episode) -> Array:
    early = isinstance(pool.rule, EarlyWeights)
    counted: Counted = count_tables(pool.experts, trials, pool.judge if early else None)
    mixed = np.zeros((*trials.z.shape, counted.logs.shape[-1]), np.float32)
    weigh(pool, counted.feedback, counted.logs, counted.expected, counted.told[:, 1], mixed=mixed)
    return np.log(mixed[0])
