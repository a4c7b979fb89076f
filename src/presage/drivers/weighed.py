"""Experts weighed after they have played: what they say does not depend on their weights."""

import numpy as np

from presage.drivers.kernels import Feedback, Weighing, weighing_loop
from presage.forecasters.mixture import Pool
from presage.forecasters.weights import EarlyWeights
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


def weigh(
    pool: Pool, feedback: Feedback, logs: Array, expected: Array, told: Array, *, mixed: Array | None = None
) -> Array:  # [B, T]
    """The losses of a mixture whose experts said `logs` [B, T, K, Y], the logarithms of their probabilities.

    Early weights need what the judge knew of each row: the losses it expected of the experts when the proxy came
    [B, T, K], and the outcomes it told when the outcome came [B, T, Y]. The mixture's own probabilities are added to
    `mixed` [B, T, Y], which holds zeros, if it is given.
    """
    gamma = pool.rule.gamma if isinstance(pool.rule, EarlyWeights) else 1.0
    weighing = Weighing(isinstance(pool.rule, EarlyWeights), gamma, pool.share)
    own = np.empty(feedback.z.shape)
    if mixed is None:
        mixed = np.empty((len(logs), 0, logs.shape[-1]), np.float32)
    weighing_loop(logs.shape[-1])(weighing, feedback, logs, expected, told, own, mixed)
    return own
