"""The arithmetic of the default forecaster, one row at a time, compiled by numba over plain arrays.

Each head estimates one distribution, a symbol s of S, from what is known of an instance x:

    whole:      p_0(s) = (n_s + prior_s) / (n + prior)
    context c:  p_c(s) = (n_cs + k_c p_b(s)) / (n_c + k_c),  b the context it backs off to
    regression: p_r(s) = softmax(ln p_0 + sum of the weights of x's terms)
    stack:      p(s) = softmax(ln p_0 + sum_i (W_i,l(i) + V_i,l(x)) a_i(s))

with a_i = ln(p_c / p_b) of a context, or the sum of a regression's weights, and l how much is known of the context, or
of the identity. There is a head h(z|x), a head g(y|x,z) for each z, and a head p(y|x). The forecast is the mixture of
members such as sum_z h(z|x) g(y|x,z) with every head a stack.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from presage.forecasters.contexts.layout import (
    AVERAGED,
    COARSE,
    COMBINED,
    EARLY,
    FINE,
    FRESH,
    HEDGES,
    LEVELS,
    MEMBERS,
    SAMPLE,
    ContextLayout,
    Heads,
    Places,
    Switches,
)
from presage.spaces import Array

Function = Callable[..., Any]
compiled: Callable[[Function], Function] = numba.njit(cache=True, nogil=True, error_model="numpy")

M = len(MEMBERS)
GAMMAS = np.array([gamma for gamma, _ in HEDGES], np.float32)
BY_LEVEL = np.array([by_level for _, by_level in HEDGES])
FIRST, SECOND = AVERAGED
SMALLEST = np.float32(1e-5)
"""No probability of a head is below it."""
ALONE_RATE, BOOSTING_RATE = np.float32(0.03), np.float32(0.02)
WEIGHT_RIDGE, LEVEL_RIDGE = np.float32(200.0), np.float32(1000.0)
REGRESSION_START = np.float32(0.25)
MATURE_ROWS, MATURE_SHARE = 200, np.float32(0.75)
"""A memo teaches a stack if so many rows were known when it was made, and this share of those known now."""
DIRECT_LEAD = np.float32(-4.0)
"""What direct members start with: before outcomes come they know nothing."""
FULL = np.float32(2.0**23)
"""Beyond so many, counts in float32 would stand still: they are halved."""
STEP, MEMO_STEP = np.float32(1 / 16), np.float32(1 / 2048)
"""The resolution of the inputs of stacks, and of log-probabilities, in a memo."""
MIX = np.int64(0x5851F42D4C957F2D)
MASK = np.int64(0x7FFFFFFFFFFFFFFF)


class ContextState(NamedTuple):
    """All that a default forecaster has learnt: float32 and int32, so that JAX can hold it, too."""

    counts: Array  # float32 [rows of tables * cells]
    last: Array  # int32 [rows of forgetting tables * H]: the row up to which each has forgotten
    whole: Array  # int32 [cells]
    weights: Array  # float32 [2, rows * weights]
    squares: Array  # float32 [2, rows * weights]: sums of squared gradients
    stacks: Array  # float32 [4, H, K, LEVELS]: W, V and the curvature of each
    combination: Array  # float32 [2, COMBINED, LEVELS + 2]: weights of the logistic combination, and their curvature
    scores: Array  # float32 [HEDGES, LEVELS + 2, M]: discounted log-probabilities of members
    known: Array  # int32 [3]: how many proxies, outcomes and sampled rows there have been
    sample: Array  # float32 [SAMPLE, D]
    edges: Array  # float32 [D, COARSE + 1]: edges of the bins of a number, then its centre and its scale


class Scratch(NamedTuple):
    """Room for one row."""

    columns: Array  # int64
    rows: Array  # int64 [T]: the first cell of the row in each table
    lasts: Array  # int64 [T]: where its last is, in forgetting tables
    terms: Array  # int64 [F]: the first weight of each term; -1: none
    values: Array  # float32 [F]
    levels: Array  # int64 [K]
    estimates: Array  # float32 [C, S]
    inputs: Array  # float32 [K, S]
    base: Array  # float32 [S]: of the whole
    logs: Array  # float32 [S]: their logarithms
    sums: Array  # float32 [S]
    stacked: Array  # float32 [S]
    alone: Array  # float32 [S]
    first: Array  # float32 [3, S]: h of stack, regression and identity
    mixed: Array  # float32 [3, S]
    members: Array  # float32 [M, S]: log-probabilities
    weights: Array  # float32 [M]
    kept: Array  # float32 [K, S]: inputs from a memo
    kept_levels: Array  # int64 [K]


def start_state(layout: ContextLayout) -> ContextState:
    """What is known before anything is learnt."""
    places, heads, inputs = layout.places, layout.heads, len(layout.inputs)
    of, numbers = len(heads.symbols), layout.spaces.features.dense
    stacks = np.zeros((4, of, inputs, LEVELS), np.float32)
    contexts = len(layout.contexts)
    stacks[0, :, :contexts] = 1 / max(contexts, 1)
    stacks[0, :, contexts:] = REGRESSION_START
    combination = np.zeros((2, COMBINED, LEVELS + 2), np.float32)
    combination[0, 0] = 1
    scores = np.zeros((len(HEDGES), LEVELS + 2, M), np.float32)
    scores[..., [place for place, (_, family) in enumerate(MEMBERS) if family == "direct"]] = DIRECT_LEAD
    size = layout.weight_rows * heads.weights if layout.settings.regression else 0
    return ContextState(
        np.zeros(int(places.rows.sum()) * heads.cells, np.float32),
        np.zeros(layout.last_rows * of, np.int32),
        np.zeros(heads.cells, np.int32),
        np.zeros((2, size), np.float32),
        np.zeros((2, size), np.float32),
        stacks,
        combination,
        scores,
        np.zeros(3, np.int32),
        np.zeros((SAMPLE, numbers), np.float32),
        np.zeros((numbers, COARSE + 1), np.float32),
    )


def scratch_for(layout: ContextLayout) -> Scratch:
    """Room for one row."""
    places, inputs = layout.places, len(layout.inputs)
    most = max(layout.spaces.proxies, layout.spaces.outcomes)
    terms = len(places.term_first) + len(places.slot_first) + places.numbers

    def numbers(*shape: int) -> Array:
        return np.zeros(shape, np.float32)

    def wholes(*shape: int) -> Array:
        return np.zeros(shape, np.int64)

    return Scratch(
        wholes(len(layout.column_sizes)), wholes(len(places.first)), wholes(len(places.first)), wholes(terms),
        numbers(terms), wholes(inputs), numbers(inputs, most), numbers(inputs, most), numbers(most), numbers(most),
        numbers(most), numbers(most), numbers(most), numbers(3, most), numbers(3, most), numbers(M, most), numbers(M),
        numbers(inputs, most), wholes(inputs),
    )  # fmt: skip


@compiled
def key_row(columns: Array, sizes: Array, rows: int, hashes: bool, values: Array) -> int:
    """The row that the values of some columns name: mixed radix, or a hash."""
    row = np.int64(0)
    if not hashes:
        for place in range(len(columns)):
            if columns[place] >= 0:
                row = row * sizes[place] + values[columns[place]]
        return row
    for place in range(len(columns)):
        if columns[place] >= 0:
            row = ((row ^ (values[columns[place]] + 1)) * MIX) & MASK
            row ^= row >> 31
    return row % rows


@compiled
def fine_bin(value: float) -> int:
    """The bin of a number by its size, 16 for each doubling."""
    if value == 0:
        return np.int64(0)
    step = np.int64(np.floor(16 * np.log2(abs(value)) + 1e-6))
    return (step if value > 0 else step + 7919) % (FINE - 1) + 1


@compiled
def locate(places: Places, heads: Heads, state: ContextState, symbols: Array, dense: Array, room: Scratch) -> None:
    """Writes where the row of an instance lies in each table and which terms it has."""
    for place in range(places.symbols):
        room.columns[place] = symbols[place] + 1
    sampled = state.known[2] >= SAMPLE
    base = len(places.term_first) + len(places.slot_first)
    for number in range(places.numbers):
        value = dense[number]
        value = np.float32(0) if np.isnan(value) else min(max(value, np.float32(-1e30)), np.float32(1e30))
        coarse, scaled = 0, np.float32(0)
        if sampled:
            coarse = 1 + np.searchsorted(state.edges[number, : COARSE - 1], value, side="right")
            scaled = (value - state.edges[number, COARSE - 1]) / state.edges[number, COARSE]
            scaled = min(max(scaled, np.float32(-3)), np.float32(3))
        room.columns[places.symbols + number] = coarse
        room.columns[places.symbols + places.numbers + number] = fine_bin(value)
        room.terms[base + number] = (places.linear_first + number) * heads.weights
        room.values[base + number] = scaled
    hands = len(heads.symbols)
    for table in range(len(places.first)):
        row = key_row(
            places.columns[table], places.sizes[table], places.rows[table], places.hashes[table], room.columns
        )
        room.rows[table] = (places.first[table] + row) * heads.cells
        room.lasts[table] = (places.last[table] + row) * hands
    for term in range(len(places.term_first)):
        row = key_row(
            places.term_columns[term], places.term_sizes[term], places.term_rows[term], places.term_hashes[term],
            room.columns,
        )  # fmt: skip
        room.terms[term] = (places.term_first[term] + row) * heads.weights
        room.values[term] = 1
    for slot in range(len(places.slot_first)):
        symbol, term = symbols[places.symbols + slot], len(places.term_first) + slot
        room.terms[term] = (places.slot_first[slot] + max(symbol, 0) % places.slot_rows[slot]) * heads.weights
        room.values[term] = symbol >= 0


@compiled
def soften(sums: Array, count: int, floor: float, out: Array) -> None:
    """Writes the softmax of `sums`, no probability of which is below `floor`."""
    most, total = sums[0], np.float32(0)
    for symbol in range(1, count):
        most = max(most, sums[symbol])
    for symbol in range(count):
        out[symbol] = np.exp(sums[symbol] - most)
        total += out[symbol]
    scale = (1 - count * floor) / total
    for symbol in range(count):
        out[symbol] = out[symbol] * scale + floor


@compiled
def level_of(count: float) -> int:
    """How much is known: 0 for nothing, up to 5 from 200 rows on."""
    if count <= 0:
        return 0
    if count < 3:
        return 1
    if count < 10:
        return 2
    if count < 40:
        return 3
    return 4 if count < 200 else 5


@compiled
def estimate(places: Places, heads: Heads, state: ContextState, regression: bool, head: int, room: Scratch) -> int:
    """Writes what the whole, the contexts and the regressions say to one head; returns the level of the identity."""
    count, cell, contexts = heads.symbols[head], heads.cell[head], len(places.table)
    total = np.float32(state.whole[cell])
    for symbol in range(count):
        total += heads.prior[head, symbol]
    for symbol in range(count):
        room.base[symbol] = (state.whole[cell + 1 + symbol] + heads.prior[head, symbol]) / total
        room.logs[symbol] = np.log(room.base[symbol])
    clock = state.known[1] if head else state.known[0]
    level = 0
    for context in range(contexts):
        table, parent, strength = places.table[context], places.parent[context], places.strength[context]
        start = room.rows[table] + cell
        seen, kept = state.counts[start], np.float32(1)
        if places.memory[table] > 0 and seen > 0:
            kept = np.exp((state.last[room.lasts[table] + head] - clock) / places.memory[table])
            seen *= kept
        if context == places.identity:
            level = level_of(seen)
        room.levels[context] = level_of(seen) if seen > 0.3 else 0
        if seen <= 0.3:
            for symbol in range(count):
                room.estimates[context, symbol] = room.base[symbol] if parent < 0 else room.estimates[parent, symbol]
                room.inputs[context, symbol] = 0
            continue
        mean = np.float32(0)
        for symbol in range(count):
            before = room.base[symbol] if parent < 0 else room.estimates[parent, symbol]
            now = (state.counts[start + 1 + symbol] * kept + strength * before) / (seen + strength)
            room.estimates[context, symbol] = now
            room.inputs[context, symbol] = np.log(now / before)
            mean += room.inputs[context, symbol]
        for symbol in range(count):
            room.inputs[context, symbol] -= mean / count
    for which in range(2):
        place = contexts + which
        room.levels[place] = 0
        for symbol in range(count):
            room.inputs[place, symbol] = 0
        if regression:
            for term in range(len(room.terms)):
                value = room.values[term]
                if value != 0:
                    at = room.terms[term] + heads.weight[head]
                    for symbol in range(count):
                        room.inputs[place, symbol] += value * state.weights[which, at + symbol]
            mean = np.float32(0)
            for symbol in range(count):
                mean += room.inputs[place, symbol]
            for symbol in range(count):
                room.inputs[place, symbol] -= mean / count
    return level


@compiled
def stack(
    state: ContextState, head: int, count: int, inputs: Array, levels: Array, level: int, room: Scratch, out: Array
) -> None:
    """Writes what the stack of a head says."""
    for symbol in range(count):
        room.sums[symbol] = room.logs[symbol]
    for place in range(len(inputs)):
        weight = state.stacks[0, head, place, levels[place]] + state.stacks[1, head, place, level]
        for symbol in range(count):
            room.sums[symbol] += weight * inputs[place, symbol]
    soften(room.sums, count, SMALLEST, out)


@compiled
def teach_stack(
    state: ContextState, head: int, count: int, target: int, inputs: Array, levels: Array, level: int, said: Array
) -> None:
    """One step of the weights of a stack, by the slope of the loss and the curvature gathered so far."""
    for place in range(len(inputs)):
        mean, spread = np.float32(0), np.float32(0)
        for symbol in range(count):
            mean += said[symbol] * inputs[place, symbol]
            spread += said[symbol] * inputs[place, symbol] * inputs[place, symbol]
        slope = mean - inputs[place, target]
        spread -= mean * mean
        if slope != 0:
            own = levels[place]
            state.stacks[2, head, place, own] += max(spread, np.float32(0))
            state.stacks[0, head, place, own] -= slope / (state.stacks[2, head, place, own] + WEIGHT_RIDGE)
            state.stacks[3, head, place, level] += max(spread, np.float32(0))
            state.stacks[1, head, place, level] -= slope / (state.stacks[3, head, place, level] + LEVEL_RIDGE)


@compiled
def teach_regression(
    heads: Heads, state: ContextState, which: int, head: int, count: int, target: int, said: Array, rate: float,
    room: Scratch,
) -> None:  # fmt: skip
    """One AdaGrad step of the weights of a regression."""
    for term in range(len(room.terms)):
        value = room.values[term]
        if value == 0:
            continue
        at = room.terms[term] + heads.weight[head]
        for symbol in range(count):
            slope = said[symbol] * value
            if symbol == target:
                slope -= value
            state.squares[which, at + symbol] += slope * slope
            state.weights[which, at + symbol] -= rate * slope / np.sqrt(1 + state.squares[which, at + symbol])


@compiled
def count_symbol(places: Places, heads: Heads, state: ContextState, head: int, symbol: int, room: Scratch) -> None:
    """Counts one symbol in the whole and in every table."""
    cell, count = heads.cell[head], heads.symbols[head]
    clock = state.known[1] if head else state.known[0]
    state.whole[cell] += 1
    state.whole[cell + 1 + symbol] += 1
    for table in range(len(places.first)):
        start = room.rows[table] + cell
        kept = np.float32(1)
        if places.memory[table] > 0:
            at = room.lasts[table] + head
            kept = np.exp((state.last[at] - clock) / places.memory[table])
            state.last[at] = clock
        elif state.counts[start] >= FULL:
            kept = np.float32(0.5)
        if kept < 1:
            for place in range(start, start + count + 1):
                state.counts[place] *= kept
        state.counts[start] += 1
        state.counts[start + 1 + symbol] += 1


@compiled
def memo_place(heads: Heads, inputs: int, outcomes: int, head: int) -> int:
    """Where the part of a head begins in a memo."""
    place = 2 * M * outcomes + 9
    for before in range(head):
        place += inputs * (heads.symbols[before] + 1) + 1
    return place


@compiled
def write_memo(heads: Heads, head: int, level: int, outcomes: int, room: Scratch, memo: Array) -> None:
    """Keeps the inputs of a head's stack in a memo: its level, then the levels and the inputs, a byte each.

    A memo begins with the log-probabilities of the members [M, Y], two bytes each, and then how many proxies and
    outcomes were known, four bytes each, and the level of the last mixing.
    """
    inputs, count = len(room.levels), heads.symbols[head]
    place = memo_place(heads, inputs, outcomes, head)
    memo[place] = level
    for each in range(inputs):
        memo[place + 1 + each] = room.levels[each]
        for symbol in range(count):
            value = min(max(np.round(room.inputs[each, symbol] / STEP), np.float32(-127)), np.float32(127))
            memo[place + 1 + inputs + each * count + symbol] = np.uint8(np.int64(value) + 128)


@compiled
def read_memo(heads: Heads, head: int, outcomes: int, memo: Array, room: Scratch) -> int:
    """Writes the inputs of a head's stack as they were when the memo was made; returns the level."""
    inputs, count = len(room.levels), heads.symbols[head]
    place = memo_place(heads, inputs, outcomes, head)
    for each in range(inputs):
        room.kept_levels[each] = memo[place + 1 + each]
        for symbol in range(count):
            value = np.int64(memo[place + 1 + inputs + each * count + symbol]) - 128
            room.kept[each, symbol] = value * STEP
    return np.int64(memo[place])


@compiled
def write_whole(memo: Array, place: int, value: int) -> None:
    """Writes a whole number into four bytes of a memo."""
    for byte in range(4):
        memo[place + byte] = (value >> (8 * byte)) & 255


@compiled
def read_whole(memo: Array, place: int) -> int:
    """The whole number in four bytes of a memo."""
    value = np.int64(0)
    for byte in range(4):
        value |= np.int64(memo[place + byte]) << (8 * byte)
    return value


@compiled
def teach_head(
    places: Places, heads: Heads, switches: Switches, state: ContextState, head: int, target: int, memo: Array,
    known: int, outcomes: int, room: Scratch,
) -> None:  # fmt: skip
    """Learns one symbol: first the stack, by what the memo says or else by what is known now; then all below it."""
    count = heads.symbols[head]
    level = estimate(places, heads, state, switches.regression, head, room)
    stack(state, head, count, room.inputs, room.levels, level, room, room.stacked)
    if switches.stacking:
        now = state.known[known]
        then = read_whole(memo, 2 * M * outcomes + 4 * known)
        if then >= MATURE_ROWS and then >= MATURE_SHARE * now:
            before = read_memo(heads, head, outcomes, memo, room)
            stack(state, head, count, room.kept, room.kept_levels, before, room, room.alone)
            teach_stack(state, head, count, target, room.kept, room.kept_levels, before, room.alone)
        else:
            teach_stack(state, head, count, target, room.inputs, room.levels, level, room.stacked)
    if switches.regression:
        contexts = len(places.table)
        for symbol in range(count):
            room.sums[symbol] = room.logs[symbol] + room.inputs[contexts, symbol]
        soften(room.sums, count, np.float32(0), room.alone)
        teach_regression(heads, state, 0, head, count, target, room.alone, ALONE_RATE, room)
        if switches.boosting:
            teach_regression(heads, state, 1, head, count, target, room.stacked, BOOSTING_RATE, room)
    count_symbol(places, heads, state, head, target, room)


@compiled
def sample_numbers(places: Places, state: ContextState, dense: Array) -> None:
    """Notes the numbers of a row, and draws the edges of their bins once there are enough."""
    if places.numbers == 0 or state.known[2] >= SAMPLE:
        return
    for number in range(places.numbers):
        value = dense[number]
        value = np.float32(0) if np.isnan(value) else min(max(value, np.float32(-1e30)), np.float32(1e30))
        state.sample[state.known[2], number] = value
    state.known[2] += 1
    if state.known[2] < SAMPLE:
        return
    for number in range(places.numbers):
        values = np.sort(state.sample[:, number])
        low, high, edges = values[0], values[-1], state.edges[number]
        width = (high - low) / 4 if high > low else max(np.float32(1), abs(high) / 16)
        for place in range(7):
            edges[place] = values[(place + 1) * SAMPLE // 8]
        for place in range(10):
            reach = width * (np.float32(2.0) ** (place + 1) - 1)
            edges[7 + place], edges[17 + place] = high + reach, low - reach
        edges[: COARSE - 1] = np.sort(edges[: COARSE - 1])
        spread = values[3 * SAMPLE // 4] - values[SAMPLE // 4]
        edges[COARSE - 1] = values[SAMPLE // 2]
        edges[COARSE] = spread if spread > 0 else width


@compiled
def combine(state: ContextState, level: int, outcomes: int, room: Scratch, out: Array) -> None:
    """Writes the logistic combination of the members."""
    for symbol in range(outcomes):
        total = np.float32(0)
        for member in range(COMBINED):
            total += state.combination[0, member, level] * room.members[member, symbol]
        room.sums[symbol] = total
    soften(room.sums, outcomes, SMALLEST, out)


@compiled
def member_weights(state: ContextState, share: float, hedge: int, level: int, out: Array) -> None:
    """Writes the weights that one hedge gives the members."""
    own = level if BY_LEVEL[hedge] else 0
    soften(state.scores[hedge, own], M, np.float32(share / M), out)


@compiled
def mix(state: ContextState, switches: Switches, level: int, outcomes: int, room: Scratch, said: Array) -> None:
    """Writes the last two members, and the forecast: the geometric mean of what the hedges say."""
    combine(state, level, outcomes, room, room.alone)
    for symbol in range(outcomes):
        room.members[M - 1, symbol] = np.log(room.alone[symbol]) if switches.logistic else room.members[0, symbol]
        room.sums[symbol] = (room.members[FIRST, symbol] + room.members[SECOND, symbol]) / 2
    soften(room.sums, outcomes, SMALLEST, room.alone)
    for symbol in range(outcomes):
        room.members[M - 2, symbol] = np.log(room.alone[symbol])
        room.sums[symbol] = 0
    for hedge in range(len(GAMMAS)):
        member_weights(state, switches.share, hedge, level, room.weights)
        for symbol in range(outcomes):
            total = np.float32(0)
            for member in range(M):
                total += room.weights[member] * np.exp(room.members[member, symbol])
            room.sums[symbol] += np.log(total) / len(GAMMAS)
    soften(room.sums, outcomes, SMALLEST, room.alone)
    for symbol in range(outcomes):
        said[symbol] = np.log(room.alone[symbol])


@compiled
def predict_row(
    places: Places, heads: Heads, switches: Switches, state: ContextState, symbols: Array, dense: Array, room: Scratch,
    said: Array, memo: Array,
) -> int:  # fmt: skip
    """Writes the log-probabilities `said` [Y] of an instance and its memo; returns the level of the last mixing."""
    proxies, outcomes, contexts = heads.symbols[0], heads.symbols[-1], len(places.table)
    locate(places, heads, state, symbols, dense, room)
    room.mixed[:] = 0
    last = 0
    for head in range(len(heads.symbols)):
        count = heads.symbols[head]
        level = estimate(places, heads, state, switches.regression, head, room)
        stack(state, head, count, room.inputs, room.levels, level, room, room.stacked)
        if len(memo):
            write_memo(heads, head, level, outcomes, room, memo)
        for symbol in range(count):
            room.sums[symbol] = room.logs[symbol] + room.inputs[contexts, symbol]
        soften(room.sums, count, SMALLEST, room.alone)
        identity = places.identity
        for symbol in range(count):
            plain = room.estimates[identity, symbol] if identity >= 0 else room.base[symbol]
            if head == 0:
                room.first[0, symbol], room.first[1, symbol] = room.stacked[symbol], room.alone[symbol]
                room.first[2, symbol] = plain
            elif head <= proxies:
                room.mixed[0, symbol] += room.first[0, head - 1] * room.stacked[symbol]
                room.mixed[1, symbol] += room.first[1, head - 1] * room.alone[symbol]
                room.mixed[2, symbol] += room.first[2, head - 1] * plain
            else:
                room.members[1, symbol] = np.log(room.stacked[symbol])
                room.members[3, symbol] = np.log(room.alone[symbol])
        if head == 0:
            last = FRESH if level > 0 else 0
        elif head > proxies:
            last = level if level > 0 else last
    if state.known[1] < MATURE_ROWS:
        last = EARLY
    for symbol in range(outcomes):
        room.members[0, symbol] = np.log(room.mixed[0, symbol])
        room.members[2, symbol] = np.log(room.mixed[1, symbol])
        room.members[4, symbol] = np.log(max(room.mixed[2, symbol], SMALLEST))
    mix(state, switches, last, outcomes, room, said)
    if len(memo):
        for member in range(M):
            for symbol in range(outcomes):
                code = min(np.int64(np.round(-room.members[member, symbol] / MEMO_STEP)), np.int64(65535))
                place = 2 * (member * outcomes + symbol)
                memo[place], memo[place + 1] = code & 255, code >> 8
        write_whole(memo, 2 * M * outcomes, np.int64(state.known[0]))
        write_whole(memo, 2 * M * outcomes + 4, np.int64(state.known[1]))
        memo[2 * M * outcomes + 8] = last
    return last


@compiled
def nowcast_row(
    places: Places, heads: Heads, switches: Switches, state: ContextState, symbols: Array, dense: Array, z: int,
    room: Scratch, said: Array,
) -> None:  # fmt: skip
    """Writes the log-probabilities `said` [Y] of the outcome of an instance whose proxy is known."""
    locate(places, heads, state, symbols, dense, room)
    level = estimate(places, heads, state, switches.regression, 1 + z, room)
    stack(state, 1 + z, heads.symbols[-1], room.inputs, room.levels, level, room, room.stacked)
    for symbol in range(heads.symbols[-1]):
        said[symbol] = np.log(room.stacked[symbol])


@compiled
def learn_proxy(
    places: Places, heads: Heads, switches: Switches, state: ContextState, symbols: Array, dense: Array, z: int, y: int,
    memo: Array, room: Scratch,
) -> None:  # fmt: skip
    """Learns a proxy; y is known (not -1) where the outcome was learnt before."""
    outcomes = heads.symbols[-1]
    sample_numbers(places, state, dense)
    locate(places, heads, state, symbols, dense, room)
    teach_head(places, heads, switches, state, 0, z, memo, 0, outcomes, room)
    if y >= 0:
        teach_head(places, heads, switches, state, 1 + z, y, memo, 1, outcomes, room)
    state.known[0] += 1


@compiled
def learn_outcome(
    places: Places, heads: Heads, switches: Switches, state: ContextState, symbols: Array, dense: Array, z: int, y: int,
    memo: Array, room: Scratch,
) -> None:  # fmt: skip
    """Learns an outcome; z is known (not -1) where the proxy is learnt by now."""
    outcomes = heads.symbols[-1]
    level = np.int64(memo[2 * M * outcomes + 8])
    for member in range(M):
        for symbol in range(outcomes):
            place = 2 * (member * outcomes + symbol)
            room.members[member, symbol] = -(np.int64(memo[place]) + (np.int64(memo[place + 1]) << 8)) * MEMO_STEP
    for hedge in range(len(GAMMAS)):
        own = level if BY_LEVEL[hedge] else 0
        for member in range(M):
            score = state.scores[hedge, own, member]
            state.scores[hedge, own, member] = GAMMAS[hedge] * score + room.members[member, y]
        most = state.scores[hedge, own].max()
        for member in range(M):
            state.scores[hedge, own, member] -= most
    if switches.logistic:
        combine(state, level, outcomes, room, room.alone)
        for member in range(COMBINED):
            mean, spread = np.float32(0), np.float32(0)
            for symbol in range(outcomes):
                value = room.members[member, symbol]
                mean += room.alone[symbol] * value
                spread += room.alone[symbol] * value * value
            state.combination[1, member, level] += max(spread - mean * mean, np.float32(0))
            slope = mean - room.members[member, y]
            state.combination[0, member, level] -= slope / (state.combination[1, member, level] + WEIGHT_RIDGE)
    locate(places, heads, state, symbols, dense, room)
    teach_head(places, heads, switches, state, len(heads.symbols) - 1, y, memo, 1, outcomes, room)
    if z >= 0:
        teach_head(places, heads, switches, state, 1 + z, y, memo, 1, outcomes, room)
    state.known[1] += 1
