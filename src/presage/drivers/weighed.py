"""Experts weighed after they have played: what they say does not depend on their weights."""

import numpy as np

from presage.drivers.kernels import WHOLE, Feedback, Weighing
from presage.drivers.weighing import weighing_loop
from presage.forecasters.expert_weights import EarlyWeights
from presage.forecasters.mixture import Pool
from presage.spaces import Array
from presage.timeline.arrivals import arrivals_of, as_rounds
from presage.timeline.episode import Episode


def arrivals_in(episodes: Episode) -> list[Array]:
    """When the feedback of trials is seen and in which order, with one row where all of them share both."""
    seen = [as_rounds(part) for part in (episodes.proxy_seen, episodes.outcome_seen)]
    if seen[0].ndim != seen[1].ndim:
        seen = [np.broadcast_to(part, episodes.z.shape) for part in seen]
    orders = [arrivals_of(part) for part in seen]
    return [np.atleast_2d(part) for part in (*seen, *orders[0], *orders[1])]


def feedback_of(trials: Array, z: Array, y: Array, arriving: list[Array]) -> Feedback:
    """What is learnt of some of the trials."""
    return Feedback(z[trials], y[trials], *(part if len(part) == 1 else part[trials] for part in arriving))


def weights_of(pool: Pool, feedback: Feedback, logs: Array, expected: Array, told: Array) -> Array:  # [B, K, T]
    """The weights of the experts of a mixture in every round, who said `logs` [B, T, K, Y].

    Early weights need what the judge knew of each row: the losses it expected of the experts when the proxy came
    [B, T, K], and the outcomes it told when the outcome came [B, T, Y].
    """
    trials, rounds, experts, outcomes = logs.shape
    leads, scores = np.empty((trials, experts, rounds), np.float32), np.zeros((trials, 2 * experts + 2))
    weighing_loop(outcomes)(weighing_of(pool), WHOLE, scores, feedback, logs, expected, told, leads)
    return to_weights(pool, leads)


def weighing_of(pool: Pool) -> Weighing:
    """How the experts of a mixture are weighed."""
    gamma = pool.rule.gamma if isinstance(pool.rule, EarlyWeights) else 1.0
    return Weighing(isinstance(pool.rule, EarlyWeights), gamma)


def to_weights(pool: Pool, leads: Array) -> Array:  # [B, K, T]
    """The weights of experts from their log-weights beside the heaviest one [B, K, T], which are overwritten."""
    np.exp(leads, out=leads)
    leads *= (1 - pool.share * leads.shape[1]) / leads.sum(axis=1, keepdims=True)
    leads += pool.share
    return leads


def weigh(
    pool: Pool,
    feedback: Feedback,
    logs: Array,
    expected: Array,
    told: Array,
    *,
    losses: Array | None = None,
    mixed: Array | None = None,
) -> Array:  # [B, T]
    """The losses of a mixture whose experts said `logs` [B, T, K, Y], the logarithms of their probabilities.

    The losses of the experts [B, K, T] are read off what they said unless given. The mixture's own probabilities are
    added to `mixed` [B, T, Y], which holds zeros, if it is given.
    """
    weights = weights_of(pool, feedback, logs, expected, told)
    if mixed is not None:
        for expert in range(logs.shape[2]):
            mixed += weights[:, expert, :, None] * np.exp(logs[:, :, expert])
    if losses is None:
        losses = np.where(feedback.y[:, None] < 0, np.nan, -_at(logs, feedback.y))
    return -np.log((weights * np.exp(-losses)).sum(axis=1))


def _at(logs: Array, y: Array) -> Array:  # [B, K, T]
    """What was said of the outcomes that came; of others anything."""
    said = np.take_along_axis(logs, np.maximum(y, 0)[:, :, None, None], axis=-1)[..., 0]
    return said.swapaxes(1, 2)
