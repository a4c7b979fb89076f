"""Tables, and mixtures of them, played by counting: the numbers of the compiled driver, several times faster.

What experts predict does not depend on how they are weighed. So one loop over the events counts, and notes down what
each table says; logarithms are taken of all of it at once; and a second loop weighs. A count is kept once, however
many experts read it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from presage.drivers.cores import over_cores
from presage.drivers.kernels import WHOLE, Feedback, counting_loop
from presage.drivers.layout import LaidOut, lay_out
from presage.drivers.losses import Losses, Progress
from presage.drivers.weighed import arrivals_in, feedback_of, weigh
from presage.drivers.weighing import scoring_loop
from presage.errors import SettingError, ShapeError
from presage.forecasters.back_off import TableParts
from presage.forecasters.contract import Forecaster
from presage.forecasters.expert_weights import EarlyWeights
from presage.forecasters.mixture import Pool, experts_of
from presage.spaces import Array
from presage.timeline.episode import Episode

CELLS = 200_000
"""How many predicted probabilities a thread holds at a time: they should stay in the cache of its core."""


class Counted(NamedTuple):
    """What K tables said in B trials; the last two have no rounds without a judge."""

    feedback: Feedback
    logs: Array  # [B, T, K, Y]: log-probabilities
    losses: Array  # [B, K, T]
    expected: Array  # [B, T, K]: the losses the judge expected of them when the proxy of a row came
    told: Array  # [B, 2, T, Y]: the outcomes it told when the proxy came, and when the outcome did


def can_count(forecaster: Forecaster) -> bool:
    """Whether a forecaster is a table or a mixture of tables."""
    return all(isinstance(expert.made_of, TableParts) for expert in experts_of(forecaster))


def count_experts(forecaster: Forecaster, episodes: Episode, progress: Progress | None = None) -> Losses:
    """The log losses of a table, or of a mixture and each of its tables; `play_experts` gives the same.

    >>> from presage import Delays, Spaces, factored_table
    >>> episode = Episode.fixed([[0, 0, 0]], [[0, 0, 0]], [[1, 1, 1]], Delays(proxy=0, outcome=1))
    >>> [f"{loss:.3f}" for loss in count_experts(factored_table(Spaces(1, 2, 2)), episode).own[0]]
    ['0.693', '0.693', '0.470']
    """
    if not can_count(forecaster):
        raise SettingError("only tables can be played by counting", forecaster.name, "use play_experts")
    if episodes.trials is None:
        raise ShapeError("trials need a leading axis", episodes.z.shape, "use Episode.stack([episode])")
    pool, experts = forecaster.made_of, experts_of(forecaster)
    judged = isinstance(pool, Pool) and isinstance(pool.rule, EarlyWeights)
    laid, (x, z, y) = lay_out(experts, pool.judge if judged else None), episodes.encode(forecaster.spaces)
    arriving = arrivals_in(episodes)

    def play_some(trials: Array) -> Losses:
        counted = _count(laid, laid.rows(x.symbols[trials]), feedback_of(trials, z, y, arriving))
        if progress:
            progress(len(trials))
        if not isinstance(pool, Pool):
            return Losses(counted.losses[:, 0], None)
        parts = counted.feedback, counted.logs, counted.expected, counted.told[:, 1]
        return Losses(weigh(pool, *parts, losses=counted.losses), counted.losses)

    size = max(1, CELLS // (episodes.rounds * len(experts) * forecaster.spaces.outcomes))
    blocks = [np.arange(first, min(first + size, len(z))) for first in range(0, len(z), size)]
    played = over_cores(play_some, blocks)
    own = np.concatenate([losses.own for losses in played])
    return Losses(own, np.concatenate([losses.experts for losses in played]) if isinstance(pool, Pool) else None)


def count_tables(tables: Sequence[Forecaster], episodes: Episode, judge: int | None = None) -> Counted:
    """All that some tables say in every trial, counted together; `judge` is the one that now-casts."""
    laid, (x, z, y) = lay_out(tables, judge), episodes.encode(tables[0].spaces)
    return _count(laid, laid.rows(x.symbols), feedback_of(np.arange(len(z)), z, y, arrivals_in(episodes)))


def _count(laid: LaidOut, rows: Array, feedback: Feedback) -> Counted:
    outcomes, experts = laid.spaces.outcomes, len(laid.shape.g)
    trials, rounds = feedback.z.shape
    judged = rounds if len(laid.shape.judge) else 0
    # What is said of a row when its proxy comes was said already if that is at the end of its own round.
    at_once = bool((feedback.proxy_seen == np.arange(rounds)).all())
    said = np.empty((trials, rounds, experts, outcomes), np.float32)
    again = np.ones((trials, 0 if at_once else judged, experts, outcomes), np.float32)
    told = np.ones((trials, 2, judged, outcomes), np.float32)
    counts = np.empty(laid.sizes.cells)
    loop = counting_loop(laid.spaces.proxies, outcomes)
    loop(laid.shape, laid.sizes, WHOLE, counts, rows, feedback, said, again, told)
    logs = np.log(said, out=said)
    then = logs if at_once else np.log(again, out=again)
    losses = np.empty((trials, experts, rounds), np.float32)
    expected = np.empty((trials, judged, experts), np.float32)
    scoring_loop(outcomes)(logs, feedback.y, then, told[:, 0], losses, expected)
    return Counted(feedback, logs, losses, expected, told)
