"""Tables, and mixtures of them, played by counting: many trials at once, or one long log stretch by stretch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from presage.drivers.counting.kernels import FeedbackArrays, counting_loop
from presage.drivers.counting.layout import TableLayout, lay_out
from presage.drivers.counting.weighing import (
    arrivals_in,
    feedback_of,
    mixing_loop,
    scoring_loop,
    to_weights,
    weigh,
    weighing_loop,
    weighing_of,
)
from presage.drivers.threads import over_cores
from presage.drivers.trial_losses import Losses
from presage.errors import SettingError, ShapeError
from presage.forecasters.back_off import TableParts
from presage.forecasters.contract import Forecaster
from presage.forecasters.expert_weights import EarlyWeights
from presage.forecasters.mixture import Pool, experts_of, pool_of
from presage.progress import Step
from presage.spaces import Array
from presage.timeline.episode import Episode

CELLS = 200_000
"""How many predicted probabilities a thread holds at a time: they should stay in the cache of its core."""


class CountedEpisodes(NamedTuple):
    """What K tables said in B trials; the last two are in the order of arrival, and empty without a judge."""

    feedback: FeedbackArrays
    logs: Array  # [B, T, K, Y]: log-probabilities
    losses: Array  # [B, K, T]
    expected: Array  # [B, T, K]: the losses the judge expected of them when proxies came
    told: Array  # [B, 2, T, Y]: its now-casts when proxies came, and when outcomes did


def can_count(forecaster: Forecaster) -> bool:
    """Whether a forecaster is a table or a mixture of tables."""
    return all(isinstance(expert.structure, TableParts) for expert in experts_of(forecaster))


def count_experts(forecaster: Forecaster, episodes: Episode, progress: Step | None = None) -> Losses:
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
    pool, experts = forecaster.structure, experts_of(forecaster)
    judge = pool.judge if isinstance(pool, Pool) and isinstance(pool.rule, EarlyWeights) else None
    laid, (x, z, y) = lay_out(experts, judge), episodes.encode(forecaster.spaces)
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


def count_tables(tables: Sequence[Forecaster], episodes: Episode, judge: int | None = None) -> CountedEpisodes:
    """All that some tables say in every trial, counted together; `judge` is the one that now-casts."""
    laid, (x, z, y) = lay_out(tables, judge), episodes.encode(tables[0].spaces)
    return _count(laid, laid.rows(x.symbols), feedback_of(np.arange(len(z)), z, y, arrivals_in(episodes)))


def _count(laid: TableLayout, rows: Array, feedback: FeedbackArrays) -> CountedEpisodes:
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
    loop(laid.shape, laid.sizes, 0, counts, rows, feedback, said, again, told)
    logs = np.log(said, out=said)
    then = logs if at_once else np.log(again, out=again)
    losses = np.empty((trials, experts, rounds), np.float32)
    expected = np.empty((trials, judged, experts), np.float32)
    scoring_loop(outcomes)(logs, feedback.y, then, told[:, 0], losses, expected)
    return CountedEpisodes(feedback, logs, losses, expected, told)


EVENTS = 500_000
"""How many events make a stretch; more only where more of them come at the end of one round."""


class MixedStretch(NamedTuple):
    """What a mixture of K tables said in the S rounds of a stretch."""

    log_probabilities: Array  # float32 [S, Y]
    weights: Array  # float32 [K, S]


def stretch_tables(tables: Sequence[Forecaster], episode: Episode) -> Iterator[Array]:  # each float32 [S, K, Y]
    """The log-probabilities of tables in each stretch of an episode; `count_tables` gives all of them at once."""
    log = lay_out_log(tables, None, episode)
    for start, stop in log.bounds():
        said = log.count(start, stop).said
        yield np.log(said, out=said)[0]


def stretch_mixture(forecaster: Forecaster, episode: Episode) -> Iterator[MixedStretch]:
    """What a mixture of tables says in each stretch of an episode."""
    pool = pool_of(forecaster)
    log = lay_out_log(pool.experts, judge_of(pool), episode)
    outcomes, scores = log.laid.spaces.outcomes, np.zeros((1, 2 * len(pool.experts) + 2))
    kept = log.ring(np.empty((0, len(pool.experts), outcomes), np.float32))
    for start, stop in log.bounds():
        said, leads = weigh_stretch(pool, log, scores, kept, (start, stop))
        weights = to_weights(pool, leads)[0]
        mixed = np.empty((stop - start, outcomes), np.float32)
        mixing_loop(outcomes)(weights, said, mixed)
        yield MixedStretch(np.log(mixed, out=mixed), weights)


class WeighedStretch(NamedTuple):
    """What K tables said in the S rounds of a stretch, and how they are to be weighed."""

    said: Array  # float32 [S, K, Y]: probabilities
    leads: Array  # float32 [1, K, S]: log-weights beside the heaviest


def weigh_stretch(
    pool: Pool, log: "StretchedLog", scores: Array, kept: Array, bounds: tuple[int, int]
) -> WeighedStretch:
    """What the tables of a mixture say in one stretch; counts, scores [1, 2 K + 2] and the ring `kept` are changed."""
    start, stop = bounds
    counted = log.count(start, stop)
    _keep(kept[0], start, counted.said[0])
    expected = counted.expected()
    leads = np.empty((1, len(pool.experts), stop - start), np.float32)
    parts = start, scores, log.feedback, kept, expected, counted.told[:, 1], leads
    weighing_loop(log.laid.spaces.outcomes)(weighing_of(pool), *parts)
    return WeighedStretch(counted.said[0], leads)


def judge_of(pool: Pool) -> int | None:
    """The expert whose now-casts weigh the others; None where outcomes alone do."""
    return pool.judge if isinstance(pool.rule, EarlyWeights) else None


class CountedStretch(NamedTuple):
    """What tables said in a stretch."""

    said: Array  # float32 [1, S, K, Y]: probabilities
    again: Array  # float32 [1, P, K, Y]: of rows whose proxy arrives, just before it is learnt
    told: Array  # float32 [1, 2, P, Y]: the judge's now-casts of what arrives; both have no places without a judge

    def expected(self) -> Array:  # float32 [1, P, K]
        """The losses the judge expected of the tables on rows whose proxies arrive."""
        experts, outcomes = self.said.shape[2:]
        expected = np.empty((*self.again.shape[:2], experts), np.float32)
        none, losses = np.empty((1, 0, experts, outcomes), np.float32), np.empty((1, experts, 0), np.float32)
        then = np.log(self.again, out=self.again)
        scoring_loop(outcomes)(none, np.empty((1, 0), np.int32), then, self.told[:, 0], losses, expected)
        return expected


@dataclass(frozen=True, eq=False)
class StretchedLog:
    """An episode laid out for some tables, and what they have counted so far."""

    laid: TableLayout
    counts: Array
    rows: Array
    feedback: FeedbackArrays
    ends: Array  # int64: the first round of each stretch, and the one after the last
    open: int  # the most rows between one that is predicted and one whose outcome comes in the same stretch

    def bounds(self) -> Iterator[tuple[int, int]]:
        """The first round of each stretch and the one after its last."""
        return pairwise(self.ends.tolist())

    def ring(self, said: Array) -> Array:  # float32 [1, O, K, Y]
        """Room for the logarithms of what is said of open rows, row r at r modulo O, begun with `said` [C, K, Y]."""
        kept = np.empty((1, max(self.open, len(said)), *said.shape[1:]), np.float32)
        _keep(kept[0], 0, said)
        return kept

    def count(self, start: int, stop: int) -> CountedStretch:
        """What is said in the rounds of one stretch; the stretches must be counted in order."""
        spaces, shape = self.laid.spaces, self.laid.shape
        known = self.feedback.proxies_known[0], self.feedback.outcomes_known[0]
        last = stop if stop == len(known[0]) - 1 else stop - 1
        arriving = [int(part[last] - part[max(start - 1, 0)]) for part in known] if len(shape.judge) else [0, 0]
        said = np.empty((1, stop - start, len(shape.g), spaces.outcomes), np.float32)
        again = np.empty((1, arriving[0], len(shape.g), spaces.outcomes), np.float32)
        told = np.ones((1, 2, max(arriving), spaces.outcomes), np.float32)
        loop = counting_loop(spaces.proxies, spaces.outcomes)
        loop(shape, self.laid.sizes, start, self.counts, self.rows, self.feedback, said, again, told)
        return CountedStretch(said, again, told)


def lay_out_log(
    tables: Sequence[Forecaster],
    judge: int | None,
    episode: Episode,
    *,
    counts: Array | None = None,
    start: int = 0,
    pause: int | None = None,
) -> StretchedLog:
    """An episode laid out for some tables; `judge` is the one that now-casts.

    Nothing is counted yet, unless `counts` [cells] are those after the feedback of all rounds before `start` - 1, which
    then go on in place from round `start`. A stretch begins at round `pause`.
    """
    laid, (x, z, y) = lay_out(tables, judge), episode.encode(tables[0].spaces)
    feedback = FeedbackArrays(z[None], y[None], *arrivals_in(episode))
    ends = _ends(feedback, start)
    ends = ends if pause is None else np.union1d(ends, [pause])
    seen = feedback.outcome_seen[0]
    waits = np.where(seen < len(z), seen - np.arange(len(z), dtype=np.int32), 0)
    needed = int(waits.max()) + 1 + int(np.diff(ends).max())
    rows = laid.rows(x.symbols[None])
    counts = np.empty(laid.sizes.cells) if counts is None else counts
    return StretchedLog(laid, counts, rows, feedback, ends, min(needed, len(z)))


def _ends(feedback: FeedbackArrays, start: int) -> Array:
    """Where stretches begin, with about as many events in each."""
    events = np.arange(feedback.proxies_known.shape[1], dtype=np.int64)
    events += feedback.proxies_known[0]
    events += feedback.outcomes_known[0]
    wanted = np.arange(int(events[start]) + EVENTS, int(events[-1]), EVENTS)
    return np.unique(np.concatenate([[start], np.searchsorted(events, wanted), [len(events) - 1]]))


def _keep(kept: Array, start: int, said: Array) -> None:
    """Write the logarithms of what was said [S, K, Y] from round `start` on; round r goes to r modulo the length."""
    first = start % len(kept)
    before = min(len(said), len(kept) - first)  # the rest goes on at the beginning
    np.log(said[:before], out=kept[first : first + before])
    np.log(said[before:], out=kept[: len(said) - before])
