"""The two loops of the counting driver, compiled by numba: over plain arrays, for several trials one after another.

They are compiled for each number of proxies and outcomes: loops of known length run three times as fast.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numba
import numpy as np

from presage.spaces import Array

Function = Callable[..., Any]
compiled: Callable[[Function], Function] = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined: Callable[[Function], Function] = numba.njit(nogil=True, error_model="numpy", forceinline=True)

PROXIES, OUTCOMES, PAIRS = 0, 1, 2
"""What a table counts for each of its rows: z, y, or both."""


POSITIVE = np.int64((1 << 48) - 1)
"""Masked with it, a place is known not to be negative: otherwise every index is checked, and loops stay scalar."""


class Shape(NamedTuple):
    """The distinct tables that a pool of experts reads, and the distinct levels of their chains.

    Each level stands after the coarser one that it shrinks to.
    """

    kinds: Array  # int64 [tables]: PROXIES, OUTCOMES or PAIRS
    tables: Array  # int64 [levels]
    parents: Array  # int64 [levels]: -1 for the coarsest of a chain, which shrinks to the uniform distribution
    h: Array  # int64 [K]: each expert's last level of h; -1 for none, in p(y|x)
    g: Array  # int64 [K]: its last level of g
    judge: Array  # int64: the levels of g of the expert that now-casts, coarse to fine; none without early weights


class Sizes(NamedTuple):
    """Where the tables lie in one stretch of memory, and how strongly levels hold on to coarser ones."""

    first: Array  # int64 [tables]: the cell where each begins
    widths: Array  # int64 [tables]: cells a row; the first of each context counts the others
    cells: int  # of all of them
    strengths: Array  # float64 [levels]: alpha of the coarsest, kappa of the others


class Feedback(NamedTuple):
    """What is learnt of B trials, and when; orders and moments have one row if all trials share them."""

    z: Array  # int32 [B, T]
    y: Array  # int32 [B, T]
    proxy_seen: Array  # int32 [B or 1, T]
    outcome_seen: Array
    proxies: Array  # int32 [B or 1, T]: rows in the order their proxies arrive
    proxies_known: Array  # int32 [B or 1, T + 1]: how many before each round
    outcomes: Array
    outcomes_known: Array


class Weighing(NamedTuple):
    """How experts are weighed: by expected losses before outcomes come, or by outcomes alone."""

    early: bool
    gamma: float


@inlined
def locate(sizes: Sizes, rows: Array, trial: int, row: int, places: Array) -> None:
    """Writes into `places` the first cell of the row that an instance names in each table."""
    for table in range(len(places)):
        places[table] = sizes.first[table] + rows[table, trial, row] * sizes.widths[table]


@inlined
def add(counts: Array, kinds: Array, places: Array, kind: int, context: int, symbol: int, symbols: int) -> None:
    """Counts one symbol in one context of the located row, in every table of one kind."""
    for table in range(len(kinds)):
        if kinds[table] == kind:
            place = (places[table] + context * (symbols + 1)) & POSITIVE
            counts[place] += 1
            counts[place + 1 + symbol] += 1


@inlined
def read(
    counts: Array, place: int, strength: float, parent: int, level: int, context: int, symbols: int, said: Array
) -> None:  # fmt: skip
    """Writes into `said[level]` what a level says in one context, shrunk to what its parent has said."""
    start, at = (place + context * (symbols + 1)) & POSITIVE, (context * symbols) & POSITIVE
    if parent < 0:
        weight = 1.0 / (counts[start] + strength * symbols)
        for symbol in range(symbols):
            said[level, at + symbol] = (counts[start + 1 + symbol] + strength) * weight
    else:
        weight, coarse = 1.0 / (counts[start] + strength), parent & POSITIVE
        for symbol in range(symbols):
            said[level, at + symbol] = (counts[start + 1 + symbol] + strength * said[coarse, at + symbol]) * weight


@inlined
def say(
    counts: Array, shape: Shape, strengths: Array, places: Array, symbols: tuple[int, int], by_level: Array,
    mixed: Array, said: Array, trial: int, row: int,
) -> None:  # fmt: skip
    """Writes into `said[trial, row]` [K, Y] what each expert says of the located instance; `mixed` [Y] is scratch."""
    proxies, outcomes = symbols
    for level in range(len(shape.parents)):
        kind, place = shape.kinds[shape.tables[level]], places[shape.tables[level]]
        strength, parent = strengths[level], shape.parents[level]
        if kind == PROXIES:
            read(counts, place, strength, parent, level, 0, proxies, by_level)
        elif kind == OUTCOMES:
            read(counts, place, strength, parent, level, 0, outcomes, by_level)
        else:
            for proxy in range(proxies):
                read(counts, place, strength, parent, level, proxy, outcomes, by_level)
    for expert in range(len(shape.g)):
        h, g = shape.h[expert], shape.g[expert] & POSITIVE
        first = by_level[h & POSITIVE, 0] if h >= 0 else 1.0
        for symbol in range(outcomes):
            mixed[symbol] = by_level[g, symbol] * first
        if h >= 0:
            for proxy in range(1, proxies):
                for symbol in range(outcomes):
                    mixed[symbol] += by_level[h & POSITIVE, proxy] * by_level[g, proxy * outcomes + symbol]
        for symbol in range(outcomes):
            said[trial, row, expert, symbol] = mixed[symbol]


@inlined
def tell(
    counts: Array, shape: Shape, strengths: Array, places: Array, z: int, outcomes: int, by_level: Array, told: Array
) -> None:  # fmt: skip
    """Writes into `told` [Y] the judge's now-cast for the located instance; nothing if there is no judge."""
    if len(shape.judge):
        for level in shape.judge:
            place = places[shape.tables[level]]
            read(counts, place, strengths[level], shape.parents[level], level, z, outcomes, by_level)
        last = shape.judge[-1] & POSITIVE
        for symbol in range(outcomes):
            told[symbol] = by_level[last, z * outcomes + symbol]


@lru_cache(maxsize=64)
def counting_loop(proxies: int, outcomes: int) -> Function:
    """The loop over events that counts, for so many symbols."""

    def count_rounds(
        shape: Shape, sizes: Sizes, rows: Array, feedback: Feedback, said: Array, again: Array, told: Array
    ) -> None:
        """Writes what each expert says in each round, and what is said of each row as its feedback comes.

        `rows` int32 [tables, B, T] are the rows that instances name. Fills `said` [B, T, K, Y]; if it has rounds,
        `again` [B, T, K, Y] with what the experts say of a row just before its proxy is learnt; and if there is a
        judge, `told` [B, 2, T, Y] with its now-casts of a row's outcome as the proxy comes and as the outcome does.
        """
        counts = np.empty(sizes.cells)
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        mixed, cast, symbols = np.empty(outcomes), np.empty(outcomes), (proxies, outcomes)
        for trial in range(said.shape[0]):
            own = trial if len(feedback.proxies) > 1 else 0
            counts[:] = 0
            for now in range(said.shape[1] + 1):  # after the last round feedback is still noted down
                before = max(now - 1, 0)
                for position in range(feedback.proxies_known[own, before], feedback.proxies_known[own, now]):
                    row = feedback.proxies[own, position]
                    z, y = feedback.z[trial, row], feedback.y[trial, row]
                    locate(sizes, rows, trial, row, places)
                    if again.shape[1]:
                        say(counts, shape, sizes.strengths, places, symbols, by_level, mixed, again, trial, row)
                    add(counts, shape.kinds, places, PROXIES, 0, z, proxies)
                    if feedback.outcome_seen[own, row] < feedback.proxy_seen[own, row]:
                        add(counts, shape.kinds, places, PAIRS, z, y, outcomes)
                        continue
                    tell(counts, shape, sizes.strengths, places, z, outcomes, by_level, cast)
                    if told.shape[2]:
                        for symbol in range(outcomes):
                            told[trial, 0, row, symbol] = cast[symbol]
                for position in range(feedback.outcomes_known[own, before], feedback.outcomes_known[own, now]):
                    row = feedback.outcomes[own, position]
                    z, y = feedback.z[trial, row], feedback.y[trial, row]
                    locate(sizes, rows, trial, row, places)
                    add(counts, shape.kinds, places, OUTCOMES, 0, y, outcomes)
                    if feedback.outcome_seen[own, row] < feedback.proxy_seen[own, row]:
                        continue
                    tell(counts, shape, sizes.strengths, places, z, outcomes, by_level, cast)
                    if told.shape[2]:
                        for symbol in range(outcomes):
                            told[trial, 1, row, symbol] = cast[symbol]
                    add(counts, shape.kinds, places, PAIRS, z, y, outcomes)
                if now == said.shape[1]:
                    break
                locate(sizes, rows, trial, now, places)
                say(counts, shape, sizes.strengths, places, symbols, by_level, mixed, said, trial, now)

    return compiled(count_rounds)


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
        weighing: Weighing, feedback: Feedback, logs: Array, expected: Array, told: Array, leads: Array
    ) -> None:
        """Writes into `leads` [B, K, T] the log-weight of each expert in each round, beside the heaviest one.

        `logs` [B, T, K, Y] are what the experts said, `expected` [B, T, K] the losses the judge expected of them when
        the proxy came, `told` [B, T, Y] its now-cast when the outcome came: see `presage.forecasters.weights`.
        """
        trials, rounds, experts = logs.shape[0], logs.shape[1], logs.shape[2]
        gamma, evenly = weighing.gamma, 1.0 / experts
        total, lean, fresh = np.empty(experts), np.empty(experts), np.empty(experts)
        for trial in range(trials):
            own = trial if len(feedback.proxies) > 1 else 0
            total[:], lean[:] = 0.0, 0.0
            mass, matured = 0.0, 0.0
            for now in range(rounds):
                before = max(now - 1, 0)
                if weighing.early:
                    for position in range(feedback.proxies_known[own, before], feedback.proxies_known[own, now]):
                        row = feedback.proxies[own, position]
                        if feedback.outcome_seen[own, row] < feedback.proxy_seen[own, row]:
                            continue
                        mean = 0.0
                        for expert in range(experts):
                            mean += expected[trial, row, expert] * evenly
                        for expert in range(experts):
                            total[expert] = gamma * total[expert] + expected[trial, row, expert] - mean
                        mass = gamma * mass + 1.0
                for position in range(feedback.outcomes_known[own, before], feedback.outcomes_known[own, now]):
                    row = feedback.outcomes[own, position]
                    y = feedback.y[trial, row]
                    matures = weighing.early and feedback.proxy_seen[own, row] <= feedback.outcome_seen[own, row]
                    mean = 0.0
                    for expert in range(experts):
                        loss = -logs[trial, row, expert, y]
                        if matures:
                            for symbol in range(outcomes):
                                loss += told[trial, row, symbol] * logs[trial, row, expert, symbol]
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
                    leads[trial, expert, now] = least - fresh[expert]

    return compiled(weigh_rounds)
