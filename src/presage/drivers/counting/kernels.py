"""The loop of the counting driver, compiled by numba: over plain arrays, for several trials one after another.

It is compiled for each number of proxies and outcomes: loops of known length run three times as fast.
"""

import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from presage.spaces import Array

Function = Callable[..., Any]
compiled: Callable[[Function], Function] = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined: Callable[[Function], Function] = numba.njit(nogil=True, error_model="numpy", forceinline=True)

SOURCE = zlib.crc32(Path(__file__).read_bytes())
"""Which version of this file it is. Numba's cache is keyed by a function's own file and by what it closes over, but
not by what it calls: a loop elsewhere that calls these functions closes over this number, or it would go on
with the code that they had when it was compiled."""

PROXIES, OUTCOMES, PAIRS = 0, 1, 2
"""What a table counts for each of its rows: z, y, or both."""


POSITIVE = np.int64((1 << 48) - 1)
"""Masked with it, a place is known not to be negative: otherwise every index is checked, and loops stay scalar."""


LEAST = 1e-28
"""That of `presage.forecasters.back_off`, here for numba, which would not notice if it changed there."""


class TableShape(NamedTuple):
    """The distinct tables that a pool of experts reads, and the distinct levels of their chains.

    Each level stands after the coarser one that it shrinks to.
    """

    kinds: Array  # int64 [tables]: PROXIES, OUTCOMES or PAIRS
    tables: Array  # int64 [levels]
    parents: Array  # int64 [levels]: -1 for the coarsest of a chain, which shrinks to the uniform distribution
    h: Array  # int64 [K]: each expert's last level of h; -1 for none, in p(y|x)
    g: Array  # int64 [K]: its last level of g
    judge: Array  # int64: the levels of g of the expert that now-casts, coarse to fine; none without early weights


class TableSizes(NamedTuple):
    """Where the tables lie in one stretch of memory, and how strongly levels hold on to coarser ones."""

    keys: Array  # int64 [tables]: by which of the distinct keys each is read
    first: Array  # int64 [tables]: the cell where each begins
    widths: Array  # int64 [tables]: cells a row; the first of each context counts the others
    cells: int  # of all of them
    strengths: Array  # float64 [levels]: alpha of the coarsest, kappa of the others


class FeedbackArrays(NamedTuple):
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
    """How experts are weighted: by expected losses before outcomes come, or by outcomes alone."""

    early: bool
    gamma: float


@inlined
def locate_rows(sizes: TableSizes, rows: Array, trial: int, row: int, places: Array) -> None:
    """Writes into `places` the first cell of the row that an instance names in each table."""
    for table in range(len(places)):
        places[table] = sizes.first[table] + rows[sizes.keys[table], trial, row] * sizes.widths[table]


@inlined
def count_symbol(
    counts: Array, kinds: Array, places: Array, kind: int, context: int, symbol: int, symbols: int
) -> None:
    """Counts one symbol in one context of the located row, in every table of one kind."""
    for table in range(len(kinds)):
        if kinds[table] == kind:
            place = (places[table] + context * (symbols + 1)) & POSITIVE
            counts[place] += 1
            counts[place + 1 + symbol] += 1


@inlined
def read_level(
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
def predict_experts(
    counts: Array, shape: TableShape, strengths: Array, places: Array, symbols: tuple[int, int], by_level: Array,
    mixed: Array, said: Array, trial: int, row: int,
) -> None:  # fmt: skip
    """Writes into `said[trial, row]` [K, Y] what each expert says of the located instance; `mixed` [Y] is scratch."""
    proxies, outcomes = symbols
    for level in range(len(shape.parents)):
        kind, place = shape.kinds[shape.tables[level]], places[shape.tables[level]]
        strength, parent = strengths[level], shape.parents[level]
        if kind == PROXIES:
            read_level(counts, place, strength, parent, level, 0, proxies, by_level)
        elif kind == OUTCOMES:
            read_level(counts, place, strength, parent, level, 0, outcomes, by_level)
        else:
            for proxy in range(proxies):
                read_level(counts, place, strength, parent, level, proxy, outcomes, by_level)
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
            said[trial, row, expert, symbol] = max(mixed[symbol], LEAST)


@inlined
def nowcast_judge(
    counts: Array, shape: TableShape, strengths: Array, places: Array, z: int, outcomes: int, by_level: Array,
    told: Array,
) -> None:  # fmt: skip
    """Writes into `told` [Y] the judge's now-cast for the located instance; nothing if there is no judge."""
    if len(shape.judge):
        for level in shape.judge:
            place = places[shape.tables[level]]
            read_level(counts, place, strengths[level], shape.parents[level], level, z, outcomes, by_level)
        last = shape.judge[-1] & POSITIVE
        for symbol in range(outcomes):
            told[symbol] = max(by_level[last, z * outcomes + symbol], LEAST)


@inlined
def weigh_proxy(scores: Array, losses: Array, mean: float, gamma: float) -> None:
    """Adds to `scores` [2 K + 2] the losses expected of K experts, and their mean, as a proxy came before its outcome.

    The scores are those of `presage.forecasters.expert_weights`: S, B, M and n.
    """
    experts = len(losses)
    for expert in range(experts):
        scores[expert] = gamma * scores[expert] + losses[expert] - mean
    scores[2 * experts] = gamma * scores[2 * experts] + 1.0


@inlined
def weigh_outcome(scores: Array, losses: Array, mean: float, matures: bool, gamma: float) -> None:
    """Adds to `scores` the losses of experts as an outcome came; if it matures, those beyond what was expected."""
    experts = len(losses)
    first = experts if matures else 0
    for expert in range(experts):
        scores[first + expert] = gamma * scores[first + expert] + losses[expert] - mean
    if matures:
        scores[2 * experts + 1] = gamma * scores[2 * experts + 1] + 1.0
    else:
        scores[2 * experts] = gamma * scores[2 * experts]


@lru_cache(maxsize=64)
def counting_loop(proxies: int, outcomes: int) -> Function:
    """The loop over events that counts, for so many symbols."""

    def count_rounds(
        shape: TableShape, sizes: TableSizes, start: int, counts: Array, rows: Array, feedback: FeedbackArrays,
        said: Array, again: Array, told: Array,
    ) -> None:  # fmt: skip
        """Writes what each expert says in each round, and what is said of each row as its feedback comes.

        `counts` [cells] go on from the rounds before `start`. `rows` int32 [keys, B, T] are those that instances name.
        Fills `said` [B, S, K, Y] for S rounds; if it has places, `again` [B, P, K, Y] with what the experts say of a
        row just before its proxy is learnt; and if there is a judge, `told` [B, 2, P, Y] with its now-casts of a row's
        outcome as the proxy comes and as the outcome does. Both are in the order of arrival.
        """
        last = start + said.shape[1]
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        mixed, cast, symbols = np.empty(outcomes), np.empty(outcomes), (proxies, outcomes)
        for trial in range(said.shape[0]):
            own = trial if len(feedback.proxies) > 1 else 0
            if start == 0:
                counts[:] = 0
            earlier = max(start - 1, 0)
            first_proxy, first_outcome = feedback.proxies_known[own, earlier], feedback.outcomes_known[own, earlier]
            for now in range(start, last + 1):
                if now == last and last < feedback.z.shape[1]:
                    break  # after the last round of all, feedback is still noted down
                before = max(now - 1, 0)
                for position in range(feedback.proxies_known[own, before], feedback.proxies_known[own, now]):
                    row = feedback.proxies[own, position]
                    at = position - first_proxy
                    z, y = feedback.z[trial, row], feedback.y[trial, row]
                    locate_rows(sizes, rows, trial, row, places)
                    if again.shape[1]:
                        predict_experts(
                            counts, shape, sizes.strengths, places, symbols, by_level, mixed, again, trial, at
                        )
                    count_symbol(counts, shape.kinds, places, PROXIES, 0, z, proxies)
                    if feedback.outcome_seen[own, row] < feedback.proxy_seen[own, row]:
                        count_symbol(counts, shape.kinds, places, PAIRS, z, y, outcomes)
                        continue
                    nowcast_judge(counts, shape, sizes.strengths, places, z, outcomes, by_level, cast)
                    if told.shape[2]:
                        for symbol in range(outcomes):
                            told[trial, 0, at, symbol] = cast[symbol]
                for position in range(feedback.outcomes_known[own, before], feedback.outcomes_known[own, now]):
                    row = feedback.outcomes[own, position]
                    at = position - first_outcome
                    z, y = feedback.z[trial, row], feedback.y[trial, row]
                    locate_rows(sizes, rows, trial, row, places)
                    count_symbol(counts, shape.kinds, places, OUTCOMES, 0, y, outcomes)
                    if feedback.outcome_seen[own, row] < feedback.proxy_seen[own, row]:
                        continue
                    nowcast_judge(counts, shape, sizes.strengths, places, z, outcomes, by_level, cast)
                    if told.shape[2]:
                        for symbol in range(outcomes):
                            told[trial, 1, at, symbol] = cast[symbol]
                    count_symbol(counts, shape.kinds, places, PAIRS, z, y, outcomes)
                if now == last:
                    break
                locate_rows(sizes, rows, trial, now, places)
                predict_experts(
                    counts, shape, sizes.strengths, places, symbols, by_level, mixed, said, trial, now - start
                )

    return compiled(count_rounds)
