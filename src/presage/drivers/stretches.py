"""Tables over one long log, a stretch of rounds after another: only what is still open is kept of what was said.

The loops are those of the counting driver, which go on from one stretch to the next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from presage.drivers.kernels import Feedback, Stretch, counting_loop
from presage.drivers.layout import LaidOut, lay_out
from presage.drivers.weighed import arrivals_in, to_weights, weighing_of
from presage.drivers.weighing import mixing_loop, scoring_loop, weighing_loop
from presage.forecasters.contract import Forecaster
from presage.forecasters.expert_weights import EarlyWeights
from presage.forecasters.mixture import Pool
from presage.spaces import Array
from presage.timeline.episode import Episode

EVENTS = 500_000
"""How many events make a stretch; more only where more of them come at the end of one round."""


class Mixed(NamedTuple):
    """What a mixture of K tables said in the S rounds of a stretch."""

    log_probabilities: Array  # float32 [S, Y]
    weights: Array  # float32 [K, S]


def stretch_tables(tables: Sequence[Forecaster], episode: Episode) -> Iterator[Array]:  # each float32 [S, K, Y]
    """The log-probabilities of tables in each stretch of an episode; `count_tables` gives all of them at once."""
    log = lay_out_log(tables, None, episode)
    for start, stop in log.bounds():
        said = log.count(start, stop).said
        yield np.log(said, out=said)[0]


def stretch_mixture(pool: Pool, episode: Episode) -> Iterator[Mixed]:
    """What a mixture of tables says in each stretch of an episode."""
    early = isinstance(pool.rule, EarlyWeights)
    log = lay_out_log(pool.experts, pool.judge if early else None, episode)
    experts, outcomes = len(pool.experts), log.laid.spaces.outcomes
    kept = np.empty((1, log.open, experts, outcomes), np.float32)
    scores = np.zeros((1, 2 * experts + 2))
    for start, stop in log.bounds():
        counted = log.count(start, stop)
        _keep(kept[0], start, counted.said[0])
        expected = counted.expected()
        leads = np.empty((1, experts, stop - start), np.float32)
        parts = Stretch(start, False), scores, log.feedback, kept, expected, counted.told[:, 1], leads
        weighing_loop(outcomes)(weighing_of(pool), *parts)
        weights = to_weights(pool, leads)[0]
        mixed = np.empty((stop - start, outcomes), np.float32)
        mixing_loop(outcomes)(weights, counted.said[0], mixed)
        yield Mixed(np.log(mixed, out=mixed), weights)


class Counted(NamedTuple):
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
class Log:
    """An episode laid out for some tables, and what they have counted so far."""

    laid: LaidOut
    counts: Array
    rows: Array
    feedback: Feedback
    ends: Array  # int64: the first round of each stretch, and the one after the last
    open: int  # the most rows between one that is predicted and one whose outcome comes in the same stretch

    def bounds(self) -> Iterator[tuple[int, int]]:
        """The first round of each stretch and the one after its last."""
        return pairwise(self.ends.tolist())

    def count(self, start: int, stop: int) -> Counted:
        """What is said in the rounds of one stretch; the stretches must be counted in order."""
        spaces, shape = self.laid.spaces, self.laid.shape
        known = self.feedback.proxies_known[0], self.feedback.outcomes_known[0]
        last = stop if stop == len(known[0]) - 1 else stop - 1
        arriving = [int(part[last] - part[max(start - 1, 0)]) for part in known] if len(shape.judge) else [0, 0]
        said = np.empty((1, stop - start, len(shape.g), spaces.outcomes), np.float32)
        again = np.empty((1, arriving[0], len(shape.g), spaces.outcomes), np.float32)
        told = np.ones((1, 2, max(arriving), spaces.outcomes), np.float32)
        loop, stretch = counting_loop(spaces.proxies, spaces.outcomes), Stretch(start, False)
        loop(shape, self.laid.sizes, stretch, self.counts, self.rows, self.feedback, said, again, told)
        return Counted(said, again, told)


def lay_out_log(tables: Sequence[Forecaster], judge: int | None, episode: Episode) -> Log:
    """An episode laid out for some tables, with nothing counted yet; `judge` is the one that now-casts."""
    laid, (x, z, y) = lay_out(tables, judge), episode.encode(tables[0].spaces)
    feedback = Feedback(z[None], y[None], *arrivals_in(episode))
    ends = _ends(feedback)
    seen = feedback.outcome_seen[0]
    waits = np.where(seen < len(z), seen - np.arange(len(z), dtype=np.int32), 0)
    needed = int(waits.max()) + 1 + int(np.diff(ends).max())
    rows = laid.rows(x.symbols[None])
    return Log(laid, np.empty(laid.sizes.cells), rows, feedback, ends, min(needed, len(z)))


def _ends(feedback: Feedback) -> Array:
    """Where stretches begin, with about as many events in each."""
    events = np.arange(feedback.proxies_known.shape[1], dtype=np.int64)
    events += feedback.proxies_known[0]
    events += feedback.outcomes_known[0]
    wanted = np.arange(EVENTS, int(events[-1]), EVENTS)
    return np.unique(np.concatenate([[0], np.searchsorted(events, wanted), [len(events) - 1]]))


def _keep(kept: Array, start: int, said: Array) -> None:
    """Write the logarithms of what was said [S, K, Y] from round `start` on; round r goes to r modulo the length."""
    first = start % len(kept)
    before = min(len(said), len(kept) - first)  # the rest goes on at the beginning
    np.log(said[:before], out=kept[first : first + before])
    np.log(said[before:], out=kept[: len(said) - before])
