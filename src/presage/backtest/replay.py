"""A log replayed: what each forecaster would have said of every row, with only what was known by then."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from presage.backtest.kept import Kept
from presage.drivers.batched.episodes import block_episode, can_block
from presage.drivers.counting.episodes import can_count, stretch_mixture, stretch_tables
from presage.drivers.play import run
from presage.drivers.threads import over_cores
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool
from presage.spaces import Array
from presage.timeline.episode import Episode

Said = Mapping[str, Array]
"""By forecaster, the log-probabilities of every row: float32 [N, Y]."""


def replay(forecasters: dict[str, Forecaster], episode: Episode, seed: int, tell: Callable[[str], None]) -> Said:
    """What each forecaster says; `tell` is told of each that is done.

    Tables are counted together, the others are played one by one, on all cores.
    """
    outcomes = next(iter(forecasters.values())).spaces.outcomes
    kept = Kept(forecasters, episode.rounds, outcomes)
    tables = tuple(name for name, one in forecasters.items() if can_count(one) and not isinstance(one.made_of, Pool))
    # Residual networks take longest and are named last: those that begin first are done first.
    plays = [(name,) for name in reversed(forecasters) if name not in tables] + ([tables] if tables else [])

    def play(names: tuple[str, ...]) -> None:
        for part in _say([forecasters[name] for name in names], episode, seed):
            for place, name in enumerate(names):
                kept.add(name, part[:, place])
        for name in names:
            tell(name)

    over_cores(play, plays)
    return kept


def _say(forecasters: Sequence[Forecaster], episode: Episode, seed: int) -> Iterator[Array]:  # each [S, K, Y]
    """What some tables, or one other forecaster, say of the rows, a stretch after another."""
    first = forecasters[0]
    if can_count(first):
        if isinstance(first.made_of, Pool):
            yield from (mixed.log_probabilities[:, None] for mixed in stretch_mixture(first.made_of, episode))
        else:
            yield from stretch_tables(forecasters, episode)
    elif can_block(first) and not isinstance(first.made_of, Pool):
        yield block_episode(first, episode, seed)[:, None]
    else:
        yield np.asarray(run(first, episode, seed).log_probabilities)[:, None]
