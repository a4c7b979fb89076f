"""What a proxy saves on instances without outcomes: a quick replay of the log by counting.

Each prediction is made twice, as if its instance had been launched at a moment spread evenly over one outcome delay
before it: no outcome of the instance is known, and of its proxies those that became known since.

    without the proxy   q(y): the running share of the outcome, of the cohort if there is one
    with the proxy      sum_z g(y|z) h(z|x): g from all pairs known by then, h from the instance's own proxies

All estimates are shrunk to the next coarser one with `KAPPA` observations, so a proxy that tells nothing costs little.
The gain is the mean of ln p_with(y) - ln p_without(y): nats a prediction. It is 0 for a proxy that comes as late as
the outcome, for one that says nothing, and for one that says the same of every instance.

Nothing is known before it was known. To be quick, what instances share is brought up to date `PIECES` times in the log.
"""

import numpy as np

from presage.metrics.bootstrap import bootstrap_mean
from presage.metrics.estimates import Estimate
from presage.proxies.signals import Candidate, Predictions
from presage.spaces import EMPTY, Array

PIECES = 100
KAPPA = 5.0
JUDGED = 200_000
"""The most predictions judged, evenly spread over the log; all of them are learnt from."""


def expected_gain(log: Predictions, candidate: Candidate) -> Estimate:
    """The mean gain in log loss per prediction on new instances, with the interval of the block bootstrap."""
    gains = gain_of_rows(log, candidate)
    if np.count_nonzero(~np.isnan(gains)) < 4:
        return Estimate(np.nan, np.nan, np.nan)
    return Estimate(*bootstrap_mean(gains))


def gain_of_rows(log: Predictions, candidate: Candidate) -> Array:
    """The gain of each prediction judged, in order; NaN before any pair of proxy and outcome is known."""
    starts = log.shown_at[np.linspace(0, len(log.x), PIECES, endpoint=False).astype(np.int64)]
    proxy_at, outcome_at = log.shown_at + candidate.delay, log.shown_at + log.delay
    cohort = np.zeros(len(log.x), np.int64) if log.cohort is None else log.cohort.astype(np.int64)
    shape = PIECES, int(cohort.max()) + 1, candidate.symbols, log.outcomes
    pairs = _known_by(starts, np.fmax(proxy_at, outcome_at), (candidate.z, log.y), (shape[2], shape[3]))
    outcomes = _known_by(starts, outcome_at, (cohort, log.y), (shape[1], shape[3]))
    proxies = _known_by(starts, proxy_at, (cohort, candidate.z), (shape[1], shape[2]))
    base = _shrunk(outcomes.sum(axis=1), np.full(log.outcomes, 1 / log.outcomes))  # [P, Y]
    q = _shrunk(outcomes, base[:, None])  # [P, C, Y]
    g = _shrunk(pairs, base[:, None])  # [P, Z, Y]
    some = _shrunk(proxies.sum(axis=1), np.full(candidate.symbols, 1 / candidate.symbols))
    h = _shrunk(proxies, some[:, None])  # [P, C, Z]

    rows = np.flatnonzero(log.known)
    rows = rows[:: max(1, -(-len(rows) // JUDGED))]
    piece = np.searchsorted(starts, log.shown_at[rows], side="right") - 1
    own = _shrunk(_own_proxies(log, candidate, proxy_at, rows), h[piece, cohort[rows]])  # [R, Z]
    with_proxy = (own * g[piece, :, log.y[rows]]).sum(axis=1)
    gains = np.log(with_proxy) - np.log(q[piece, cohort[rows], log.y[rows]])
    return np.where(pairs.sum(axis=(1, 2))[piece] > 0, gains, np.nan)


def _known_by(starts: Array, at: Array, symbols: tuple[Array, Array], sizes: tuple[int, int]) -> Array:
    """Counts [P, *sizes] of the pairs of symbols known before each piece begins."""
    first, second = symbols
    there = (first != EMPTY) & (second != EMPTY) & ~np.isnan(at)
    piece = np.searchsorted(starts, at[there], side="right")  # the first that begins after it is known
    code = (piece * sizes[0] + first[there]) * sizes[1] + second[there]
    counts = np.bincount(code, minlength=(len(starts) + 1) * sizes[0] * sizes[1])
    return counts.reshape(-1, *sizes)[:-1].cumsum(axis=0)


def _shrunk(counts: Array, to: Array) -> Array:
    return (counts + KAPPA * to) / (counts.sum(axis=-1, keepdims=True) + KAPPA)


def _own_proxies(log: Predictions, candidate: Candidate, proxy_at: Array, rows: Array) -> Array:
    """How often each proxy [R, Z] is known of the row's instance, had it been launched as said above."""
    there = np.flatnonzero(candidate.z != EMPTY)
    there = there[np.argsort(proxy_at[there], kind="stable")]
    known_at = proxy_at[there]
    instance = log.x[there]
    order = np.argsort(instance, kind="stable")  # by instance, then by when it became known
    key = instance[order] * np.int64(len(there) + 1) + order
    spread = (np.arange(len(rows)) * 0.6180339887498949) % 1.0  # evenly spread, whatever the order of rows
    now = log.shown_at[rows]
    launch = now - spread * np.median(log.delay[log.known])
    # Proxies of later rows are known from then on; where delays differ this is so for the median row.
    first, last = (
        np.searchsorted(key, log.x[rows] * np.int64(len(there) + 1) + np.searchsorted(known_at, at))
        for at in (launch + np.median(candidate.delay[there]), now)
    )
    z = candidate.z[there[order]]
    first = np.minimum(first, last)
    own = np.empty((len(rows), candidate.symbols))
    for symbol in range(candidate.symbols):
        seen = np.concatenate([[0], np.cumsum(z == symbol)])
        own[:, symbol] = seen[last] - seen[first]
    return own
