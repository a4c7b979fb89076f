"""The loops of a tally, compiled by numba: rows predicted, and rows learnt one after another."""

from functools import lru_cache

import numpy as np

from presage.drivers.kernels import (
    OUTCOMES,
    PAIRS,
    PROXIES,
    SOURCE,
    Function,
    Shape,
    Sizes,
    Weighing,
    add,
    compiled,
    locate,
    say,
    tell,
)
from presage.spaces import Array


@lru_cache(maxsize=64)
def saying_loop(proxies: int, outcomes: int) -> Function:
    """The loop over rows that predicts, for so many symbols."""
    kernels = SOURCE

    def say_rows(shape: Shape, sizes: Sizes, counts: Array, rows: Array, said: Array) -> None:
        """Writes into `said` [1, N, K, Y] what each expert says of instances; `rows` int32 [tables, 1, N]."""
        _ = kernels
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        mixed, symbols = np.empty(outcomes), (proxies, outcomes)
        for row in range(said.shape[1]):
            locate(sizes, rows, 0, row, places)
            say(counts, shape, sizes.strengths, places, symbols, by_level, mixed, said, 0, row)

    return compiled(say_rows)


@lru_cache(maxsize=64)
def telling_loop(proxies: int, outcomes: int) -> Function:
    """The loop over rows that now-casts, for so many symbols."""
    kernels = SOURCE

    def tell_rows(shape: Shape, sizes: Sizes, counts: Array, rows: Array, z: Array, told: Array) -> None:
        """Writes into `told` [N, Y] what the judge tells of instances with proxies z [N]."""
        _ = kernels
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        for row in range(len(z)):
            locate(sizes, rows, 0, row, places)
            tell(counts, shape, sizes.strengths, places, z[row], outcomes, by_level, told[row])

    return compiled(tell_rows)


@lru_cache(maxsize=64)
def proxies_loop(proxies: int, outcomes: int) -> Function:
    """The loop over proxies that learns, for so many symbols."""
    kernels = SOURCE

    def learn_proxies(
        shape: Shape, sizes: Sizes, counts: Array, rows: Array, z: Array, y: Array, weighing: Weighing, scores: Array
    ) -> None:
        """Learns proxies z [N] in order; y is known (not -1) where the outcome was learnt before.

        `scores` float64 [2 K + 2] are those of `presage.forecasters.expert_weights`: S, B, M and n. Without experts to weigh
        there are none.
        """
        _ = kernels
        experts = len(shape.g)
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        mixed, cast, symbols = np.empty(outcomes), np.empty(outcomes), (proxies, outcomes)
        now = np.empty((1, 1, experts, outcomes))
        for row in range(len(z)):
            locate(sizes, rows, 0, row, places)
            weighs = len(scores) > 0 and weighing.early and y[row] < 0
            if weighs:
                say(counts, shape, sizes.strengths, places, symbols, by_level, mixed, now, 0, 0)
            add(counts, shape.kinds, places, PROXIES, 0, z[row], proxies)
            if y[row] >= 0:
                add(counts, shape.kinds, places, PAIRS, z[row], y[row], outcomes)
            if weighs:
                tell(counts, shape, sizes.strengths, places, z[row], outcomes, by_level, cast)
                mean = 0.0
                for expert in range(experts):
                    loss = 0.0
                    for symbol in range(outcomes):
                        loss -= cast[symbol] * np.log(now[0, 0, expert, symbol])
                    now[0, 0, expert, 0] = loss
                    mean += loss / experts
                for expert in range(experts):
                    scores[expert] = weighing.gamma * scores[expert] + now[0, 0, expert, 0] - mean
                scores[2 * experts] = weighing.gamma * scores[2 * experts] + 1.0

    return compiled(learn_proxies)


@lru_cache(maxsize=64)
def outcomes_loop(proxies: int, outcomes: int) -> Function:
    """The loop over outcomes that learns, for so many symbols."""
    kernels = SOURCE

    def learn_outcomes(
        shape: Shape, sizes: Sizes, counts: Array, rows: Array, z: Array, y: Array, weighing: Weighing, scores: Array,
        memo: Array,
    ) -> None:  # fmt: skip
        """Learns outcomes y [N] in order; z is known (not -1) where the proxy is learnt by now.

        `memo` float32 [N, K, Y] are the log-probabilities that experts gave when the row was asked about.
        """
        _ = kernels
        experts = len(shape.g)
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        cast, fresh = np.empty(outcomes), np.empty(experts)
        for row in range(len(y)):
            locate(sizes, rows, 0, row, places)
            if len(scores):
                matures = weighing.early and z[row] >= 0
                if matures:
                    tell(counts, shape, sizes.strengths, places, z[row], outcomes, by_level, cast)
                mean = 0.0
                for expert in range(experts):
                    loss = -memo[row, expert, y[row]]
                    if matures:
                        for symbol in range(outcomes):
                            loss += cast[symbol] * memo[row, expert, symbol]
                    fresh[expert] = loss
                    mean += loss / experts
                at = experts if matures else 0
                for expert in range(experts):
                    scores[at + expert] = weighing.gamma * scores[at + expert] + fresh[expert] - mean
                if matures:
                    scores[2 * experts + 1] = weighing.gamma * scores[2 * experts + 1] + 1.0
                else:
                    scores[2 * experts] = weighing.gamma * scores[2 * experts]
            add(counts, shape.kinds, places, OUTCOMES, 0, y[row], outcomes)
            if z[row] >= 0:
                add(counts, shape.kinds, places, PAIRS, z[row], y[row], outcomes)

    return compiled(learn_outcomes)
