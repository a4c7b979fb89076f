"""A log that tables go on counting: what they had learnt of its earlier part, carried on to its end."""

from typing import NamedTuple

import numpy as np

from presage.drivers.counting.episodes import judge_of, lay_out_log, weigh_stretch
from presage.drivers.counting.table_core import LearntCounts
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool, experts_of
from presage.spaces import Array
from presage.timeline.episode import Episode


class CountedLog(NamedTuple):
    """What tables had learnt when the last row was predicted, and after it."""

    learnt: LearntCounts  # all feedback of the rounds before that of the last row
    latest: LearntCounts  # the feedback of that round, too
    said: Array  # float32 [rows to keep, K, Y]: what each expert said of them; [.., 0, Y] without a mixture


def count_on(forecaster: Forecaster, learnt: LearntCounts, episode: Episode, said: Array, keep: Array) -> CountedLog:
    """What a table, or a mixture of tables, has learnt at the end of an episode; with the loops of a backtest.

    Args:
        forecaster: The table or mixture.
        learnt: What it had learnt when row C - 1 was predicted; nothing where C is 0.
        episode: C rows that were predicted before, of which C - 1 is the last, then new ones, and then one that stands
            for whatever is asked next.
        said: float32 [C, K, Y], what each expert of a mixture said of the rows predicted before.
        keep: bool [T], of which rows that is wanted again.
    """
    pool = forecaster.structure if isinstance(forecaster.structure, Pool) else None
    counts, scores = learnt.counts.copy(), learnt.scores.copy()
    start, last = len(said), episode.rounds - 1
    log = lay_out_log(
        experts_of(forecaster), judge_of(pool) if pool else None, episode, counts=counts, start=start, pause=last
    )
    ring = log.ring(said)
    before = learnt
    parts = [said[keep[:start]]]
    for first, end in log.bounds():
        if first == last:
            before = LearntCounts(counts.copy(), scores.copy())
        if pool:
            spoken = weigh_stretch(pool, log, scores[None], ring, (first, end)).said
            parts.append(spoken[: last - first][keep[first:end]])
        else:
            log.count(first, end)
            parts.append(np.empty((int(keep[first:end].sum()), *said.shape[1:]), np.float32))
    return CountedLog(before, LearntCounts(counts, scores), np.concatenate(parts))
