"""What a proxy gains in log loss: forecasts with and without it, on the same rows."""

from typing import NamedTuple

import numpy as np

from presage.metrics.bootstrap import LEAST, bootstrap_means
from presage.metrics.families import numbered
from presage.metrics.intervals import Estimate
from presage.proxies.signals import PredictionRows, ProxyCandidate
from presage.spaces import EMPTY, Array

DAY = 86_400_000_000
"""Microseconds: sums of days in floats are rounded to them, so that one instant is one number."""


class Feed(NamedTuple):
    """What became known, in that order."""

    row: Array  # int64 [m]: of the log
    at: Array  # int64 [m]: the instant it became known, never falling
    symbol: Array  # int64 [m]
    symbols: int

    def counts(self, key: Array, rows: Array, until: Array, since: Array | None = None) -> Array:
        """How often each symbol [R, S] became known of rows with the same key as each of `rows` [R].

        Counted is what became known before the instants `until` [R] and, where they are given, not before `since` [R].
        Keys [n] are whole numbers from 0.
        """
        size = len(self.row) + 1
        keys = key[self.row].astype(np.int64)
        few = keys.max(initial=0) < 2**16  # then NumPy sorts ten times as fast
        order = np.argsort(keys.astype(np.uint16) if few else keys, kind="stable")  # by key, then by when it was known
        place = keys[order] * size + order
        own = key[rows].astype(np.int64) * size
        last = np.searchsorted(place, own + np.searchsorted(self.at, until))
        first = np.searchsorted(place, own + (0 if since is None else np.searchsorted(self.at, since)))
        first = np.minimum(first, last)
        symbol = self.symbol[order]
        counts = np.empty((len(rows), self.symbols))
        seen = np.zeros(size, np.int32)
        for each in range(self.symbols):
            np.cumsum(symbol == each, out=seen[1:])
            counts[:, each] = seen[last] - seen[first]
        return counts


def feed(symbol: Array, at: Array, symbols: int) -> Feed:
    """The symbols [n] that are known, each at its moment [n] in days.

    >>> known = feed(np.array([0, 1, -1, 1]), np.array([5.0, 1.0, 2.0, 3.0]), 2)
    >>> known.counts(np.zeros(4, int), np.array([0, 3]), until=instants(np.array([3.0, 9.0]))).tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    there = np.flatnonzero((symbol != EMPTY) & ~np.isnan(at))
    known_at = instants(at[there])
    order = np.argsort(known_at, kind="stable")
    row = there[order]
    return Feed(row, known_at[order], symbol[row].astype(np.int64), symbols)


def instants(days: Array) -> Array:  # int64
    """Moments in days as whole microseconds."""
    rounded: Array = np.rint(days * DAY).astype(np.int64)
    return rounded


ALPHA = 1.0
"""Pseudo-count of every symbol in the whole: Laplace's."""

STRENGTH = 10.0
"""How many observations a coarser level is worth to a finer one in p(y|x) and h(z|x)."""

KAPPA = 5.0
"""How many it is worth in g_x(y|z)."""

JUDGED = 200_000
"""The most predictions judged, evenly spread over the log; all of them are learnt from."""

UNKNOWN = Estimate(np.nan, np.nan, np.nan)

CELLS = 20_000_000
"""The most counts held at a time: with many symbols fewer predictions are judged."""


class Gain(NamedTuple):
    """The mean gain in log loss a prediction; NaN where there is nothing to tell it by."""

    launched: Estimate
    new: Estimate
    overall: Estimate


class Gains(NamedTuple):
    """The gain of each prediction judged, in order."""

    rows: Array  # int64 [R]: of the log
    launched: Array  # [R]: NaN before any pair of proxy and outcome is known
    new: Array  # [R]: NaN but where the instance had a proxy and no outcome
    overall: Array  # [R]: NaN only if no pair ever is known


class _Chain(NamedTuple):
    """What is known of the judged rows, level by level."""

    log: PredictionRows
    rows: Array
    now: Array  # int64 [R]
    levels: tuple[Array, ...]  # coarse to fine

    def pooled(self, known: Feed, strength: float, contexts: int = 1) -> Array:
        """What the whole and the groups say of each row, [R, contexts, symbols]."""
        shape = len(self.rows), contexts, known.symbols // contexts
        said = np.full(shape, 1 / shape[2])
        mass = ALPHA * shape[2]
        for level in self.levels:
            said = _shrunk(known.counts(level, self.rows, self.now).reshape(shape), said, mass)
            mass = strength
        return said

    def own(self, known: Feed, since: Array | None = None, key: Array | None = None) -> Array:
        """How often each symbol [R, 1, symbols] is known of the instance itself, or of rows with the same `key`."""
        return known.counts(self.log.x if key is None else key, self.rows, self.now, since)[:, None]

    def likely(self, h: Array, g: Array) -> Array:
        """The logarithm of the probability [R] of each row's outcome by h [R, 1, Z] and g [R, Z, Y]."""
        return np.log((h @ g)[np.arange(len(self.rows)), 0, self.log.y[self.rows]])


def expected_gain(log: PredictionRows, candidate: ProxyCandidate) -> Gain:
    """The mean gains, with the intervals of the block bootstrap."""
    gains = np.stack(gain_of_rows(log, candidate)[1:])
    if gains.shape[1] < LEAST:
        return Gain(*[UNKNOWN] * 3)
    return Gain(*(Estimate(*mean) for mean in bootstrap_means(gains)))


def gain_of_rows(log: PredictionRows, candidate: ProxyCandidate) -> Gains:
    """The gain of each prediction judged, as it was made and as if its instance were new.

    Features that belong to the proxy are groups on both sides, so that the gain is what the proxy tells.
    """
    proxies, outcomes, pairs = _feeds(log, candidate)
    levels, finest = _levels(log, candidate)
    chain = _judged(log, pairs, levels)
    rows = chain.rows
    direct = chain.pooled(outcomes, STRENGTH)
    h, g = chain.pooled(proxies, STRENGTH), chain.pooled(pairs, KAPPA, candidate.symbols)
    one = np.ones((len(rows), 1, 1))

    young = chain.own(proxies, _since_launch(log, candidate, rows))
    launched = chain.likely(_shrunk(young, h, STRENGTH), g) - chain.likely(one, direct)
    own_y, own_z = chain.own(outcomes), chain.own(proxies)
    direct, h = _shrunk(own_y, direct, STRENGTH), _shrunk(own_z, h, STRENGTH)
    g = _shrunk(chain.own(pairs, key=finest).reshape(g.shape), g, KAPPA)
    overall = chain.likely(h, g) - chain.likely(one, direct)
    learnt = np.searchsorted(pairs.at, chain.now) > 0
    is_new = (own_y.sum(axis=(1, 2)) == 0) & (own_z.sum(axis=(1, 2)) > 0)
    if not learnt.any():
        overall = np.full(len(rows), np.nan)
    return Gains(rows, np.where(learnt, launched, np.nan), np.where(is_new, overall, np.nan), overall)


def expected_addition(log: PredictionRows, candidate: ProxyCandidate) -> Estimate | None:
    """What the features of a proxy add to `Gain.launched`: g with them against g without; None where it has none."""
    if candidate.features is None:
        return None
    proxies, _, pairs = _feeds(log, candidate)
    chain = _judged(log, pairs, _levels(log, candidate)[0])
    young = chain.own(proxies, _since_launch(log, candidate, chain.rows))
    h = _shrunk(young, chain.pooled(proxies, STRENGTH), STRENGTH)
    with_them, without = (
        chain.likely(h, one.pooled(pairs, KAPPA, candidate.symbols))
        for one in (chain, chain._replace(levels=log.levels))
    )
    added = np.where(np.searchsorted(pairs.at, chain.now) > 0, with_them - without, np.nan)
    return Estimate(*bootstrap_means(added[None])[0]) if len(added) >= LEAST else UNKNOWN


def _judged(log: PredictionRows, pairs: Feed, levels: tuple[Array, ...]) -> _Chain:
    """The rows that are judged, evenly spread over the log."""
    rows = np.flatnonzero(log.known)
    rows = rows[:: max(1, -(-len(rows) // max(min(JUDGED, CELLS // pairs.symbols), 1)))]
    return _Chain(log, rows, instants(log.shown_at[rows]), levels)


def _levels(log: PredictionRows, candidate: ProxyCandidate) -> tuple[tuple[Array, ...], Array]:
    """What rows are pooled by, coarse to fine, and what g is told by in the end; with the proxy's features, if any."""
    if candidate.features is None:
        return log.levels, log.x
    values, size = candidate.features.values.astype(np.int64), candidate.features.size
    whole, *finer = (numbered(level.astype(np.int64) * size + values)[1] for level in (*log.levels, log.x))
    return (log.levels[0], whole, *finer[:-1]), finer[-1]


def _feeds(log: PredictionRows, candidate: ProxyCandidate) -> tuple[Feed, Feed, Feed]:
    """Proxies, outcomes, and pairs of both, as they became known."""
    both = (candidate.z != EMPTY) & (log.y != EMPTY)
    pair = np.where(both, candidate.z.astype(np.int64) * log.outcomes + log.y, EMPTY)
    proxy_at, outcome_at = log.shown_at + candidate.delay, log.shown_at + log.delay
    return (
        feed(candidate.z, proxy_at, candidate.symbols),
        feed(log.y, outcome_at, log.outcomes),
        feed(pair, np.fmax(proxy_at, outcome_at), candidate.symbols * log.outcomes),
    )


def _since_launch(log: PredictionRows, candidate: ProxyCandidate, rows: Array) -> Array:
    """The instant [R] from which proxies of rows shown after the launch are known; the median row stands for all."""
    spread = (np.arange(len(rows)) * 0.6180339887498949) % 1.0  # evenly spread, whatever the order of rows
    launch = log.shown_at[rows] - spread * np.median(log.delay[log.known])
    known = candidate.delay[candidate.z != EMPTY]
    return instants(launch + (np.median(known) if len(known) else 0.0))


def _shrunk(counts: Array, to: Array, strength: float) -> Array:
    return (counts + strength * to) / (counts.sum(axis=-1, keepdims=True) + strength)
