"""The two loops of the counting driver, compiled by numba: over plain arrays, for several trials one after another.

They are compiled for each number of proxies, outcomes and experts: loops of known length run three times as fast.
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


class Tables(NamedTuple):
    """The distinct tables that a pool of experts reads, in one stretch of memory."""

    kinds: Array  # int64 [tables]: PROXIES, OUTCOMES or PAIRS
    widths: Array  # int64 [tables]: cells a row
    first: Array  # int64 [tables]: the cell where each begins
    cells: int  # of all of them


class Levels(NamedTuple):
    """The distinct levels of the experts' chains, each after the coarser one that it shrinks to."""

    tables: Array  # int64 [levels]
    parents: Array  # int64 [levels]: -1 for the coarsest of a chain, which shrinks to the uniform distribution
    strengths: Array  # float64 [levels]: alpha of the coarsest, kappa of the others
    experts: Array  # int64 [K, 2]: the last level of h and of g; no h (-1) in p(y|x)
    judge: Array  # int64: the levels of g of the expert that now-casts, coarse to fine; none without early weights


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
    share: float


@inlined
def locate(tables: Tables, rows: Array, trial: int, row: int, places: Array) -> None:
    """Writes into `places` the first cell of the row that an instance names in each table."""
    for table in range(len(places)):
        places[table] = tables.first[table] + rows[table, trial, row] * tables.widths[table]


@inlined
def add(counts: Array, tables: Tables, places: Array, kind: int, cell: int) -> None:
    """Adds one to a cell of the located row in every table of one kind."""
    for table in range(len(places)):
        if tables.kinds[table] == kind:
            counts[places[table] + cell] += 1


@inlined
def read(counts: Array, levels: Levels, level: int, places: Array, context: int, symbols: int, said: Array) -> None:
    """Writes into `said[level]` what a level says in one context, shrunk to what its parent has said."""
    start, at, parent = places[levels.tables[level]] + context * symbols, context * symbols, levels.parents[level]
    strength = levels.strengths[level]
    total = 0.0
    for symbol in range(symbols):
        total += counts[start + symbol]
    if parent < 0:
        weight = 1.0 / (total + strength * symbols)
        for symbol in range(symbols):
            said[level, at + symbol] = (counts[start + symbol] + strength) * weight
    else:
        weight = 1.0 / (total + strength)
        for symbol in range(symbols):
            said[level, at + symbol] = (counts[start + symbol] + strength * said[parent, at + symbol]) * weight


@inlined
def say(
    counts: Array, tables: Tables, levels: Levels, places: Array, symbols: tuple[int, int], by_level: Array,
    mixed: Array, said: Array, trial: int, row: int,
) -> None:  # fmt: skip
    """Writes into `said[trial, row]` [K, Y] what each expert says of the located instance; `mixed` [Y] is scratch."""
    proxies, outcomes = symbols
    for level in range(len(levels.parents)):
        kind = tables.kinds[levels.tables[level]]
        if kind == PROXIES:
            read(counts, levels, level, places, 0, proxies, by_level)
        elif kind == OUTCOMES:
            read(counts, levels, level, places, 0, outcomes, by_level)
        else:
            for proxy in range(proxies):
                read(counts, levels, level, places, proxy, outcomes, by_level)
    for expert in range(len(levels.experts)):
        h, g = levels.experts[expert, 0], levels.experts[expert, 1]
        for symbol in range(outcomes):
            mixed[symbol] = by_level[g, symbol] * (by_level[h, 0] if h >= 0 else 1.0)
        if h >= 0:
            for proxy in range(1, proxies):
                for symbol in range(outcomes):
                    mixed[symbol] += by_level[h, proxy] * by_level[g, proxy * outcomes + symbol]
        for symbol in range(outcomes):
            said[trial, row, expert, symbol] = mixed[symbol]


@lru_cache(maxsize=64)
def counting_loop(proxies: int, outcomes: int) -> Function:
    """The loop over events that counts, for so many symbols."""

    def count_rounds(
        tables: Tables, levels: Levels, rows: Array, feedback: Feedback, said: Array, again: Array, told: Array
    ) -> None:
        """Writes what each expert says in each round, and what is said of each row as its feedback comes.

        `rows` int32 [tables, B, T] are the rows that instances name. Fills `said` [B, T, K, Y]; if it has rounds,
        `again` [B, T, K, Y] with what the experts say of a row just before its proxy is learnt; and if there is a
        judge, `told` [B, 2, T, Y] with its now-casts of a row's outcome as the proxy comes and as the outcome does.
        """
        counts = np.empty(tables.cells)
        places = np.empty(len(tables.kinds), np.int64)
        by_level = np.empty((len(levels.parents), proxies * max(proxies, outcomes)))
        mixed, symbols = np.empty(outcomes), (proxies, outcomes)
        for trial in range(said.shape[0]):
            own = trial if len(feedback.proxies) > 1 else 0
            counts[:] = 0
            for now in range(said.shape[1] + 1):  # after the last round feedback is still noted down
                before = max(now - 1, 0)
                for position in range(feedback.proxies_known[own, before], feedback.proxies_known[own, now]):
                    row = feedback.proxies[own, position]
                    z, y = feedback.z[trial, row], feedback.y[trial, row]
                    locate(tables, rows, trial, row, places)
                    if again.shape[1]:
                        say(counts, tables, levels, places, symbols, by_level, mixed, again, trial, row)
                    add(counts, tables, places, PROXIES, z)
                    if feedback.outcome_seen[own, row] < feedback.proxy_seen[own, row]:
                        add(counts, tables, places, PAIRS, z * outcomes + y)
                        continue
                    for level in levels.judge:
                        read(counts, levels, level, places, z, outcomes, by_level)
                    if len(levels.judge):
                        for symbol in range(outcomes):
                            told[trial, 0, row, symbol] = by_level[levels.judge[-1], z * outcomes + symbol]
                for position in range(feedback.outcomes_known[own, before], feedback.outcomes_known[own, now]):
                    row = feedback.outcomes[own, position]
                    z, y = feedback.z[trial, row], feedback.y[trial, row]
                    locate(tables, rows, trial, row, places)
                    add(counts, tables, places, OUTCOMES, y)
                    if feedback.outcome_seen[own, row] < feedback.proxy_seen[own, row]:
                        continue
                    for level in levels.judge:
                        read(counts, levels, level, places, z, outcomes, by_level)
                    if len(levels.judge):
                        for symbol in range(outcomes):
                            told[trial, 1, row, symbol] = by_level[levels.judge[-1], z * outcomes + symbol]
                    add(counts, tables, places, PAIRS, z * outcomes + y)
                if now == said.shape[1]:
                    break
                locate(tables, rows, trial, now, places)
                say(counts, tables, levels, places, symbols, by_level, mixed, said, trial, now)

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
        weighing: Weighing, feedback: Feedback, logs: Array, expected: Array, told: Array, own_loss: Array, mixed: Array
    ) -> None:
        """Writes the loss of the mixture in each round into `own_loss` [B, T], from what its experts said.

        `logs` [B, T, K, Y] are what the experts said, `expected` [B, T, K] the losses the judge expected of them when
        the proxy came, `told` [B, T, Y] its now-cast when the outcome came: see `presage.forecasters.weights`. If
        `mixed` [B, T, Y] has rounds, all the probabilities of the mixture are added to it.
        """
        trials, rounds, experts = logs.shape[0], logs.shape[1], logs.shape[2]
        gamma, share, evenly = weighing.gamma, weighing.share, 1.0 / experts
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
                whole = 0.0
                for expert in range(experts):
                    fresh[expert] = np.exp(least - fresh[expert])
                    whole += fresh[expert]
                for expert in range(experts):
                    fresh[expert] = (1 - share * experts) * fresh[expert] / whole + share
                y = feedback.y[trial, now]
                likely = np.nan if y < 0 else 0.0
                for expert in range(experts):
                    if y >= 0:
                        likely += fresh[expert] * np.exp(logs[trial, now, expert, y])
                    if mixed.shape[1]:
                        for symbol in range(outcomes):
                            mixed[trial, now, symbol] += fresh[expert] * np.exp(logs[trial, now, expert, symbol])
                own_loss[trial, now] = -np.log(likely)

    return compiled(weigh_rounds)
