"""The loops that score what tables said and weigh them, compiled by numba for each number of outcomes."""

from functools import lru_cache

import numpy as np

from presage.drivers.kernels import Feedback, Function, Stretch, Weighing, compiled
from presage.spaces import Array


@lru_cache(maxsize=64)
def scoring_loop(outcomes: int) -> Function:
    """The loop over rounds that scores, for so many outcomes."""

    def score_rounds(logs: Array, y: Array, then: Array, told: Array, losses: Array, expected: Array) -> None:
        """Writes the losses [B, K, T] of experts that said `logs` [B, T, K, Y], and those that were expected.

        The latter, [B, T, K], are of what they said `then` [B, T, K, Y], under the outcomes told [B, T, Y]; none if
        they have no rounds.
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

    def weigh_rounds(
        weighing: Weighing, stretch: Stretch, scores: Array, feedback: Feedback, logs: Array, expected: Array,
        told: Array, leads: Array,
    ) -> None:  # fmt: skip
        """Writes into `leads` [B, K, S] the log-weight of each expert in each round, beside the heaviest one.

        `scores` [B, 2 K + 2] go on from the stretch before: S, B, M and n of `presage.forecasters.expert_weights`. `logs`
        [B, O, K, Y] are what the experts said, row r of a stretch at r modulo O; `expected` [B, P, K] the losses the
        judge expected of them when the proxy came; `told` [B, P, Y] its now-cast when the outcome came.
        """
        trials, experts = logs.shape[0], logs.shape[2]
        gamma, evenly = weighing.gamma, 1.0 / experts
        total, lean, fresh = np.empty(experts), np.empty(experts), np.empty(experts)
        for trial in range(trials):
            own = trial if len(feedback.proxies) > 1 else 0
            total[:], lean[:] = scores[trial, :experts], scores[trial, experts : 2 * experts]
            mass, matured = scores[trial, 2 * experts], scores[trial, 2 * experts + 1]
            earlier = max(stretch.start - 1, 0)
            first_proxy, first_outcome = feedback.proxies_known[own, earlier], feedback.outcomes_known[own, earlier]
            for now in range(stretch.start, stretch.start + leads.shape[2]):
                before = max(now - 1, 0)
                if weighing.early:
                    for position in range(feedback.proxies_known[own, before], feedback.proxies_known[own, now]):
                        row = feedback.proxies[own, position]
                        at = row if stretch.whole else position - first_proxy
                        if feedback.outcome_seen[own, row] < feedback.proxy_seen[own, row]:
                            continue
                        mean = 0.0
                        for expert in range(experts):
                            mean += expected[trial, at, expert] * evenly
                        for expert in range(experts):
                            total[expert] = gamma * total[expert] + expected[trial, at, expert] - mean
                        mass = gamma * mass + 1.0
                for position in range(feedback.outcomes_known[own, before], feedback.outcomes_known[own, now]):
                    row = feedback.outcomes[own, position]
                    at, place = (row, row) if stretch.whole else (position - first_outcome, row % logs.shape[1])
                    y = feedback.y[trial, row]
                    matures = weighing.early and feedback.proxy_seen[own, row] <= feedback.outcome_seen[own, row]
                    mean = 0.0
                    for expert in range(experts):
                        loss = -logs[trial, place, expert, y]
                        if matures:
                            for symbol in range(outcomes):
                                loss += told[trial, at, symbol] * logs[trial, place, expert, symbol]
                        fresh[expert] = loss
                        mean += loss * evenly
                    if matures:
                        matured = gamma * matured + 1.0
                        for expert in range(experts):
                            lean[expert] = gamma * lean[expert] + fresh[expert] - mean
                    else:
                        mass = gamma * mass
                        for expert in range(experts):
                            total[expert] = gamma * total[expert] + fresh[expert] - mean
                least, debiased = np.inf, mass / max(matured, 1.0)
                for expert in range(experts):
                    fresh[expert] = total[expert] + debiased * lean[expert]
                    least = min(least, fresh[expert])
                for expert in range(experts):
                    leads[trial, expert, now - stretch.start] = least - fresh[expert]
            scores[trial, :experts], scores[trial, experts : 2 * experts] = total, lean
            scores[trial, 2 * experts], scores[trial, 2 * experts + 1] = mass, matured

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
