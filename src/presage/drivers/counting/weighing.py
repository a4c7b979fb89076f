"""Experts weighted after they have all predicted: their predictions do not depend on their weights."""

from functools import lru_cache

import numpy as np

from presage.drivers.counting.kernels import (
    SOURCE,
    FeedbackArrays,
    Function,
    Weighing,
    compiled,
    weigh_outcome,
    weigh_proxy,
)
from presage.forecasters.expert_weights import EarlyWeights
from presage.forecasters.mixture import Pool
from presage.spaces import Array
from presage.timeline.arrivals import arrivals_of, as_rounds
from presage.timeline.episode import Episode


@lru_cache(maxsize=64)
def scoring_loop(outcomes: int) -> Function:
    """The loop over rounds that scores, for so many outcomes."""

    def score_rounds(logs: Array, y: Array, then: Array, told: Array, losses: Array, expected: Array) -> None:
        """Writes the losses [B, K, T] of experts that said `logs` [B, T, K, Y], and those that were expected.

        The latter, [B, P, K], are of what they said `then` [B, P, K, Y], under the outcomes told [B, P, Y].
        """
        for trial in range(logs.shape[0]):
            for now in range(logs.shape[1]):
                symbol = y[trial, now]
                for expert in range(logs.shape[2]):
                    losses[trial, expert, now] = -logs[trial, now, expert, symbol] if symbol >= 0 else np.nan
            for now in range(expected.shape[1]):
                for expert in range(logs.shape[2]):
                    loss = 0.0
                    for symbol in range(outcomes):
                        loss -= told[trial, now, symbol] * then[trial, now, expert, symbol]
                    expected[trial, now, expert] = loss

    return compiled(score_rounds)


@lru_cache(maxsize=64)
def weighing_loop(outcomes: int) -> Function:
    """The loop over events that weighs, for so many outcomes."""
    kernels = SOURCE

    def weigh_rounds(
        weighing: Weighing, start: int, scores: Array, feedback: FeedbackArrays, logs: Array, expected: Array,
        told: Array, leads: Array,
    ) -> None:  # fmt: skip
        """Writes into `leads` [B, K, S] the log-weight of each expert in each round, beside the heaviest one.

        `scores` [B, 2 K + 2] go on from the rounds before `start`. `logs` [B, O, K, Y] are what the experts said, row r
        at r modulo O. In the order of arrival: `expected` [B, P, K] are the losses the judge expected of them when a
        proxy came, and `told` [B, P, Y] its now-cast when an outcome came.
        """
        _ = kernels
        experts = logs.shape[2]
        fresh, evenly = np.empty(experts), 1.0 / experts
        for trial in range(logs.shape[0]):
            own, known = trial if len(feedback.proxies) > 1 else 0, scores[trial].copy()
            earlier = max(start - 1, 0)
            first_proxy, first_outcome = feedback.proxies_known[own, earlier], feedback.outcomes_known[own, earlier]
            for now in range(start, start + leads.shape[2]):
                before = max(now - 1, 0)
                if weighing.early:
                    for position in range(feedback.proxies_known[own, before], feedback.proxies_known[own, now]):
                        row = feedback.proxies[own, position]
                        if feedback.outcome_seen[own, row] >= feedback.proxy_seen[own, row]:
                            mean = 0.0
                            for expert in range(experts):
                                fresh[expert] = expected[trial, position - first_proxy, expert]
                                mean += fresh[expert] * evenly
                            weigh_proxy(known, fresh, mean, weighing.gamma)
                for position in range(feedback.outcomes_known[own, before], feedback.outcomes_known[own, now]):
                    row = feedback.outcomes[own, position]
                    at, place, y = position - first_outcome, row % logs.shape[1], feedback.y[trial, row]
                    matures = weighing.early and feedback.proxy_seen[own, row] <= feedback.outcome_seen[own, row]
                    mean = 0.0
                    for expert in range(experts):
                        loss = -logs[trial, place, expert, y]
                        if matures:
                            for symbol in range(outcomes):
                                loss += told[trial, at, symbol] * logs[trial, place, expert, symbol]
                        fresh[expert] = loss
                        mean += loss * evenly
                    weigh_outcome(known, fresh, mean, matures, weighing.gamma)
                mass, matured = known[2 * experts], known[2 * experts + 1]
                least, debiased = np.inf, mass / max(matured, 1.0)
                for expert in range(experts):
                    fresh[expert] = known[expert] + debiased * known[experts + expert]
                    least = min(least, fresh[expert])
                for expert in range(experts):
                    leads[trial, expert, now - start] = least - fresh[expert]
            scores[trial] = known

    return compiled(weigh_rounds)


@lru_cache(maxsize=64)
def mixing_loop(outcomes: int) -> Function:
    """The loop over rounds that mixes, for so many outcomes."""

    def mix_rounds(weights: Array, said: Array, mixed: Array) -> None:
        """Writes into `mixed` [S, Y] the mean of what experts said [S, K, Y], weighed [K, S]."""
        for now in range(said.shape[0]):
            for symbol in range(outcomes):
                mixed[now, symbol] = 0.0
            for expert in range(said.shape[1]):
                weight = weights[expert, now]
                for symbol in range(outcomes):
                    mixed[now, symbol] += weight * said[now, expert, symbol]

    return compiled(mix_rounds)


def arrivals_in(episodes: Episode) -> list[Array]:
    """When the feedback of trials is seen and in which order, with one row where all of them share both."""
    seen = [as_rounds(part) for part in (episodes.proxy_seen, episodes.outcome_seen)]
    if seen[0].ndim != seen[1].ndim:
        seen = [np.broadcast_to(part, episodes.z.shape) for part in seen]
    orders = [arrivals_of(part) for part in seen]
    return [np.atleast_2d(part) for part in (*seen, *orders[0], *orders[1])]


def feedback_of(trials: Array, z: Array, y: Array, arriving: list[Array]) -> FeedbackArrays:
    """What is learnt of some of the trials."""
    return FeedbackArrays(z[trials], y[trials], *(part if len(part) == 1 else part[trials] for part in arriving))


def weights_of(pool: Pool, feedback: FeedbackArrays, logs: Array, expected: Array, told: Array) -> Array:  # [B, K, T]
    """The weights of the experts of a mixture in every round, who said `logs` [B, T, K, Y].

    Early weights need what the judge knew, in the order of arrival: the losses it expected of the experts when proxies
    came [B, T, K], and its now-casts when outcomes came [B, T, Y].
    """
    trials, rounds, experts, outcomes = logs.shape
    leads, scores = np.empty((trials, experts, rounds), np.float32), np.zeros((trials, 2 * experts + 2))
    weighing_loop(outcomes)(weighing_of(pool), 0, scores, feedback, logs, expected, told, leads)
    return to_weights(pool, leads)


def weighing_of(pool: Pool) -> Weighing:
    """How the experts of a mixture are weighted."""
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
    feedback: FeedbackArrays,
    logs: Array,
    expected: Array,
    told: Array,
    *,
    losses: Array | None = None,
) -> Array:  # [B, T]
    """The losses of a mixture whose experts said `logs` [B, T, K, Y], the logarithms of their probabilities.

    The losses of the experts [B, K, T] are read off what they said unless given.
    """
    weights = weights_of(pool, feedback, logs, expected, told)
    if losses is None:
        losses = np.where(feedback.y[:, None] < 0, np.nan, -_at(logs, feedback.y))
    return -np.log((weights * np.exp(-losses)).sum(axis=1))


def _at(logs: Array, y: Array) -> Array:  # [B, K, T]
    """What was said of the outcomes that came; of others anything."""
    said = np.take_along_axis(logs, np.maximum(y, 0)[:, :, None, None], axis=-1)[..., 0]
    return said.swapaxes(1, 2)
