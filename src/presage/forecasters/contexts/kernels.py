"""The arithmetic of the default forecaster, one row at a time, compiled by numba over plain arrays.

Each head estimates one distribution, a symbol s of S, from what is known of an instance x:

    whole:      p_0(s) = (n_s + prior_s) / (n + prior)
    context c:  p_c(s) = (n_cs + k_c p_b(s)) / (n_c + k_c),  b the context it backs off to
    regression: p_r(s) = softmax(ln p_0 + sum of the weights of x's terms)
    stack:      p(s) = softmax(ln p_0 + sum_i (W_i,l(i) + V_i,l(x)) a_i(s))

with a_i = ln(p_c / p_b) of a context, or the sum of a regression's weights, and l how much is known of the context, or
of the identity. There is a head h(z|x), a head g(y|x,z) for each z, and a head p(y|x). They give forecasts of y such as
sum_z h(z|x) g(y|x,z) with every head a stack, or with one context; the last one combines the others:

    combination: p(y) = softmax(sum_f U_f,l(x) ln p_f(y))

The answer is the mixture of the first few, the members.
"""

from typing import NamedTuple

import numpy as np

from presage.forecasters.contexts.arithmetic import ONE, POSITIVE, ZERO, exp32, inlined, log32
from presage.forecasters.contexts.layout import (
    BLOCK,
    COARSE,
    EARLY,
    FINE,
    FRESH,
    HEDGES,
    LEVELS,
    MEMBERS,
    SAMPLE,
    ContextLayout,
    Heads,
    RowPlaces,
    Switches,
)
from presage.forecasters.contexts.memos import (
    read_forecasts,
    read_inputs,
    read_known,
    read_levels,
    write_forecasts,
    write_inputs,
    write_known,
    write_levels,
)
from presage.spaces import Array

M = len(MEMBERS)
GAMMAS = np.array([gamma for gamma, _ in HEDGES], np.float32)
BY_LEVEL = np.array([by_level for _, by_level in HEDGES])
SMALLEST = np.float32(1e-5)
"""No probability of a head is below it."""
ALONE_RATE, BOOSTING_RATE = np.float32(0.03), np.float32(0.02)
WEIGHT_RIDGE, LEVEL_RIDGE = np.float32(200.0), np.float32(1000.0)
REGRESSION_START = np.float32(0.25)
MATURE_ROWS, MATURE_SHARE = 200, np.float32(0.75)
"""A memo teaches a stack if so many rows were known when it was made, and this share of those known now."""
LEADS = np.array([0, 0, -4, 0, -4, -1], np.float32)
PLAIN_LEADS = np.array([0, 0, -4, -4, -4, 0], np.float32)
"""What members start with: before outcomes come direct ones know nothing, and the identity alone knows little. Where it
is all there is, regressions have nothing to add."""
COMBINATION_RIDGE, LONGEST_STEP = np.float32(200.0), np.float32(0.5)
FIRST_BLOCK, LAST_BLOCK = 16, 500
"""How many rows teach the combination together: a twentieth of those so far, within these bounds."""
FULL = np.float32(2.0**23)
"""Beyond so many, counts in float32 would stand still: they are halved."""
LEAST = np.float32(0.3)
"""A context that has seen less, for it forgets, counts as unknown."""
MIX = np.int64(0x5851F42D4C957F2D)
MASK = np.int64(0x7FFFFFFFFFFFFFFF)


class ContextState(NamedTuple):
    """All that a default forecaster has learnt: float32 and int32, so that JAX can hold it, too."""

    counts: Array  # float32 [rows of tables * (lanes + padded heads)]
    last: Array  # int32 [rows of forgetting tables * padded heads]: the row up to which each has forgotten
    whole: Array  # int32 [lanes + padded heads]
    weights: Array  # float32 [rows * 2 * lanes]: of both regressions
    squares: Array  # float32 [rows * 2 * lanes]: sums of squared gradients
    stacks: Array  # float32 [4, H, K, LEVELS]: W, V and the curvature of each
    combination: Array  # float32 [LEVELS + 2, F]: weights of the logistic combination
    slopes: Array  # float32 [LEVELS + 2, F]: those of its loss that are not learnt yet
    curvature: Array  # float32 [LEVELS + 2, F, F]: of its loss
    scores: Array  # float32 [HEDGES, LEVELS + 2, M]: discounted log-probabilities of members
    known: Array  # int32 [5]: how many proxies, outcomes and sampled rows there have been, and rows that taught the
    # combination, of which so many since its last step
    sample: Array  # float32 [SAMPLE, D]
    edges: Array  # float32 [D, COARSE + 1]: edges of the bins of a number, then its centre and its scale


class Scratch(NamedTuple):
    """Room for one row."""

    columns: Array  # int64
    rows: Array  # int64 [T]: where the row begins in each table
    lasts: Array  # int64 [T]: where its last is, in forgetting tables
    terms: Array  # int64 [F]: where the weights of each term begin
    values: Array  # float32 [F]
    levels: Array  # int64 [K + 1, padded heads]: how much is known of each input, then of the identity
    gains: Array  # float32 [padded heads]: what a count adds to an estimate of the context
    pulls: Array  # float32 [padded heads]: the share of the context that it backs off to
    estimates: Array  # float32 [1 + C, lanes]: of the whole, then of the contexts
    inputs: Array  # float32 [K, lanes]
    strengths: Array  # float32 [K, padded heads]: the weights of inputs
    logs: Array  # float32 [(1 + C) * lanes]: their logarithms, in the blocks of the heads that are estimated
    sums: Array  # float32 [lanes]
    stacked: Array  # float32 [lanes]
    alone: Array  # float32 [lanes]
    slopes: Array  # float32 [lanes]
    mixed: Array  # float32 [Y]
    chances: Array  # float32 [1 + F, Y]: probabilities: the combination's, then those of the forecasts it combines
    forecasts: Array  # float32 [1 + F, Y]: their logarithms; the first M are the members
    factor: Array  # float32 [F, F]
    step: Array  # float32 [F]
    hedged: Array  # float32 [HEDGES, M]: the weights of members
    heard: Array  # float32 [HEDGES, Y]
    kept: Array  # float32 [K, lanes]: inputs from a memo
    kept_levels: Array  # int64 [K + 1, padded heads]


def start_state(layout: ContextLayout) -> ContextState:
    """What is known before anything is learnt."""
    places, heads, inputs = layout.places, layout.heads, len(layout.inputs)
    of, numbers = len(heads.symbols), layout.spaces.features.dense
    stacks = np.zeros((4, of, inputs, LEVELS), np.float32)
    contexts = len(layout.contexts)
    stacks[0, :, :contexts] = 1 / max(contexts, 1)
    stacks[0, :, contexts:] = REGRESSION_START
    combined = layout.forecasts - 1
    combination = np.zeros((LEVELS + 2, combined), np.float32)
    told = layout.settings.regression and layout.has_features
    combination[:, [0, 2 if told else 4]] = 0.5
    scores = np.zeros((len(HEDGES), LEVELS + 2, M), np.float32) + (LEADS if told else PLAIN_LEADS)
    size = layout.weight_rows * 2 * heads.lanes if layout.settings.regression else 0
    return ContextState(
        np.zeros(int(places.rows.sum()) * (heads.lanes + heads.padded), np.float32),
        np.zeros(layout.last_rows * heads.padded, np.int32),
        np.zeros(heads.lanes + heads.padded, np.int32),
        np.zeros(size, np.float32),
        np.zeros(size, np.float32),
        stacks,
        combination,
        np.zeros((LEVELS + 2, combined), np.float32),
        np.zeros((LEVELS + 2, combined, combined), np.float32),
        scores,
        np.zeros(5, np.int32),
        np.zeros((SAMPLE, numbers), np.float32),
        np.zeros((numbers, COARSE + 1), np.float32),
    )


def scratch_for(layout: ContextLayout) -> Scratch:
    """Room for one row."""
    places, heads, inputs = layout.places, layout.heads, len(layout.inputs)
    outcomes, lanes, padded = layout.spaces.outcomes, heads.lanes, heads.padded
    terms = len(places.term_first) + len(places.slot_first) + places.numbers
    said = layout.forecasts

    def numbers(*shape: int) -> Array:
        return np.zeros(shape, np.float32)

    def wholes(*shape: int) -> Array:
        return np.zeros(shape, np.int64)

    return Scratch(
        wholes(len(layout.column_sizes)), wholes(len(places.first)), wholes(len(places.first)), wholes(terms),
        numbers(terms), wholes(inputs + 1, padded), numbers(padded), numbers(padded), numbers(inputs - 1, lanes),
        numbers(inputs, lanes), numbers(inputs, padded), numbers((inputs - 1) * lanes), numbers(lanes), numbers(lanes),
        numbers(lanes), numbers(lanes), numbers(outcomes), numbers(said, outcomes), numbers(said, outcomes),
        numbers(said - 1, said - 1), numbers(said - 1), numbers(len(HEDGES), M), numbers(len(HEDGES), outcomes),
        numbers(inputs, lanes), wholes(inputs + 1, padded),
    )  # fmt: skip


@inlined
def key_row(columns: Array, sizes: Array, rows: int, hashes: bool, values: Array) -> np.int64:
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


@inlined
def fine_bin(value: float) -> np.int64:
    """The bin of a number by its size, 16 for each doubling."""
    if value == 0:
        return np.int64(0)
    step = np.int64(np.floor(16 * np.log2(abs(value)) + 1e-6))
    return (step if value > 0 else step + 7919) % (FINE - 1) + 1


@inlined
def locate(places: RowPlaces, heads: Heads, state: ContextState, symbols: Array, dense: Array, room: Scratch) -> None:
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
            coarse = 1
            for edge in range(COARSE - 1):
                coarse += state.edges[number, edge] <= value
            scaled = (value - state.edges[number, COARSE - 1]) / state.edges[number, COARSE]
            scaled = min(max(scaled, np.float32(-3)), np.float32(3))
        room.columns[places.symbols + number] = coarse
        room.columns[places.symbols + places.numbers + number] = fine_bin(value)
        room.terms[base + number] = (places.linear_first + number) * (2 * heads.lanes)
        room.values[base + number] = scaled
    width = heads.lanes + heads.padded
    for table in range(len(places.first)):
        row = key_row(
            places.columns[table], places.sizes[table], places.rows[table], places.hashes[table], room.columns
        )
        room.rows[table] = (places.first[table] + row) * width
        room.lasts[table] = (places.last[table] + row) * heads.padded
    for term in range(len(places.term_first)):
        row = key_row(
            places.term_columns[term], places.term_sizes[term], places.term_rows[term], places.term_hashes[term],
            room.columns,
        )  # fmt: skip
        room.terms[term] = (places.term_first[term] + row) * (2 * heads.lanes)
        room.values[term] = 1
    for slot in range(len(places.slot_first)):
        symbol, term = symbols[places.symbols + slot], len(places.term_first) + slot
        room.terms[term] = (places.slot_first[slot] + max(symbol, 0) % places.slot_rows[slot]) * (2 * heads.lanes)
        room.values[term] = symbol >= 0


@inlined
def soften(sums: Array, first: int, count: int, floor: float, out: Array) -> None:
    """Writes the softmax of `count` sums from `first` on, no probability of which is below `floor`."""
    most, total = sums[first], ZERO
    for place in range(first + 1, first + count):
        most = max(most, sums[place])
    for place in range(first, first + count):
        out[place] = exp32(sums[place] - most)
    for place in range(first, first + count):
        total += out[place]
    scale = (ONE - np.float32(count) * floor) / total
    for place in range(first, first + count):
        out[place] = out[place] * scale + floor


@inlined
def level_of(count: float) -> np.int64:
    """How much is known: 0 for nothing, up to 5 from 200 rows on."""
    return (
        np.int64(count > LEAST)
        + np.int64(count >= np.float32(3))
        + np.int64(count >= np.float32(10))
        + np.int64(count >= np.float32(40))
        + np.int64(count >= np.float32(200))
    )


@inlined
def estimate_whole(heads: Heads, state: ContextState, low: int, high: int, room: Scratch) -> None:
    """Writes what the whole says to the heads from `low` to `high`."""
    for head in range(low, high + 1):
        room.gains[head] = ONE / (np.float32(state.whole[heads.lanes + head]) + heads.prior_sums[head])
    begin = heads.begin[low]
    for lane in range(heads.first[low] & POSITIVE, (heads.first[high] + heads.symbols[high]) & POSITIVE):
        count = np.float32(state.whole[lane]) + heads.prior[lane]
        said = count * room.gains[heads.of_lane[lane] & POSITIVE]
        room.estimates[0, lane] = room.logs[(lane - begin) & POSITIVE] = said


@inlined
def estimate_context(
    places: RowPlaces, heads: Heads, state: ContextState, context: int, low: int, high: int, room: Scratch
) -> None:
    """Writes what a context says to the heads from `low` to `high`, and how much is known of it."""
    table, strength, parent = places.table[context], places.strength[context], (places.parent[context] + 1) & POSITIVE
    start, last, memory = room.rows[table] & POSITIVE, room.lasts[table] & POSITIVE, places.memory[table]
    estimates, before = room.estimates[context + 1], room.estimates[parent]
    at = (context + 1) * (heads.end[high] - heads.begin[low]) - heads.begin[low]
    for head in range(low & POSITIVE, high + 1):
        seen, kept = state.counts[start + heads.lanes + head], ONE
        if memory > 0:
            clock = state.known[1] if head else state.known[0]
            kept = exp32(np.float32(np.int32(state.last[last + head] - clock)) / memory)
            seen *= kept
        share = ONE / (seen + strength)
        room.levels[context, head] = level_of(seen)
        room.gains[head] = kept * share if seen > LEAST else ZERO
        room.pulls[head] = strength * share if seen > LEAST else ONE
    for lane in range(heads.first[low] & POSITIVE, (heads.first[high] + heads.symbols[high]) & POSITIVE):
        head = heads.of_lane[lane] & POSITIVE
        now = state.counts[start + lane] * room.gains[head] + before[lane] * room.pulls[head]
        estimates[lane] = room.logs[(at + lane) & POSITIVE] = now


@inlined
def sum_weights(heads: Heads, state: ContextState, contexts: int, low: int, high: int, room: Scratch) -> None:
    """Writes the sums of the weights of both regressions."""
    begin, end = heads.begin[low] // BLOCK, heads.end[high] // BLOCK
    for which in range(2):
        sums = room.inputs[contexts + which]
        for block in range(begin, end):
            start = (block * BLOCK) & POSITIVE
            for lane in range(BLOCK):
                sums[start + lane] = ZERO
        for term in range(len(room.terms)):
            value, at = room.values[term], (room.terms[term] + which * heads.lanes) & POSITIVE
            for block in range(begin, end):
                start = (block * BLOCK) & POSITIVE
                for lane in range(BLOCK):
                    sums[start + lane] += value * state.weights[at + start + lane]


@inlined
def estimate(
    places: RowPlaces, heads: Heads, state: ContextState, regression: bool, low: int, high: int, room: Scratch
) -> None:
    """Writes what the whole, the contexts and the regressions say to the heads from `low` to `high`, and the levels."""
    contexts, begin, span = len(places.table), heads.begin[low], heads.end[high] - heads.begin[low]
    estimate_whole(heads, state, low, high, room)
    for context in range(contexts):
        estimate_context(places, heads, state, context, low, high, room)
    for head in range(low, high + 1):
        room.levels[contexts + 2, head] = room.levels[places.identity, head] if places.identity >= 0 else 0
    for place in range((contexts + 1) * span):
        room.logs[place] = log32(room.logs[place])
    if regression:
        sum_weights(heads, state, contexts, low, high, room)
    for place in range(contexts + 2):
        inputs, now = room.inputs[place], (place + 1) * span - begin
        before = (places.parent[place] + 1) * span - begin if place < contexts else 0
        for head in range(low, high + 1):
            mean, first, count = ZERO, heads.first[head] & POSITIVE, heads.symbols[head]
            for lane in range(first, first + count):
                if place < contexts:
                    inputs[lane] = room.logs[(now + lane) & POSITIVE] - room.logs[(before + lane) & POSITIVE]
                mean += inputs[lane]
            mean /= np.float32(count)
            for lane in range(first, first + count):
                inputs[lane] -= mean


@inlined
def stack(
    heads: Heads, state: ContextState, low: int, high: int, inputs: Array, levels: Array, room: Scratch, out: Array
) -> None:
    """Writes what the stacks of the heads from `low` to `high` say."""
    begin, end = heads.begin[low] & POSITIVE, heads.end[high] & POSITIVE
    for head in range(low, high + 1):
        level = levels[len(inputs), head]
        for place in range(len(inputs)):
            own = state.stacks[0, head, place, levels[place, head] & POSITIVE]
            room.strengths[place, head] = own + state.stacks[1, head, place, level & POSITIVE]
    for lane in range(begin, end):
        room.sums[lane] = room.logs[lane - begin]
    for place in range(len(inputs)):
        for lane in range(begin, end):
            room.sums[lane] += room.strengths[place, heads.of_lane[lane] & POSITIVE] * inputs[place, lane]
    for head in range(low, high + 1):
        soften(room.sums, heads.first[head] & POSITIVE, heads.symbols[head], SMALLEST, out)


@inlined
def regress(heads: Heads, contexts: int, low: int, high: int, floor: float, room: Scratch) -> None:
    """Writes what the first regression says alone to the heads from `low` to `high`."""
    begin = heads.begin[low] & POSITIVE
    for lane in range(begin, heads.end[high] & POSITIVE):
        room.sums[lane] = room.logs[lane - begin] + room.inputs[contexts, lane]
    for head in range(low, high + 1):
        soften(room.sums, heads.first[head] & POSITIVE, heads.symbols[head], floor, room.alone)


@inlined
def teach_stack(
    heads: Heads, state: ContextState, head: int, target: int, inputs: Array, levels: Array, said: Array
) -> None:
    """One step of the weights of a stack, by the slope of the loss and the curvature gathered so far."""
    first, count, level = heads.first[head] & POSITIVE, heads.symbols[head], levels[len(inputs), head] & POSITIVE
    for place in range(len(inputs)):
        mean, spread = ZERO, ZERO
        for lane in range(first, first + count):
            part = said[lane] * inputs[place, lane]
            mean += part
            spread += part * inputs[place, lane]
        slope = mean - inputs[place, first + target]
        spread = max(spread - mean * mean, ZERO)
        own = levels[place, head] & POSITIVE
        state.stacks[2, head, place, own] += spread
        state.stacks[0, head, place, own] -= slope / (state.stacks[2, head, place, own] + WEIGHT_RIDGE)
        state.stacks[3, head, place, level] += spread
        state.stacks[1, head, place, level] -= slope / (state.stacks[3, head, place, level] + LEVEL_RIDGE)


@inlined
def teach_regression(
    heads: Heads, state: ContextState, which: int, head: int, target: int, said: Array, rate: float, room: Scratch
) -> None:
    """One AdaGrad step of the weights of a regression."""
    begin, end, first = heads.begin[head] & POSITIVE, heads.end[head] & POSITIVE, heads.first[head] & POSITIVE
    for lane in range(begin, end):
        room.slopes[lane] = 0
    for lane in range(first, first + heads.symbols[head]):
        room.slopes[lane] = said[lane]
    room.slopes[first + target] -= ONE
    for term in range(len(room.terms)):
        value, at = room.values[term], (room.terms[term] + which * heads.lanes) & POSITIVE
        for lane in range(begin, end):
            slope = room.slopes[lane] * value
            square = state.squares[at + lane] + slope * slope
            state.squares[at + lane] = square
            state.weights[at + lane] -= rate * slope / np.sqrt(ONE + square)


@inlined
def count_symbol(places: RowPlaces, heads: Heads, state: ContextState, head: int, symbol: int, room: Scratch) -> None:
    """Counts one symbol in the whole and in every table."""
    lane, total = (heads.first[head] + symbol) & POSITIVE, (heads.lanes + head) & POSITIVE
    clock = state.known[1] if head else state.known[0]
    state.whole[total] += 1
    state.whole[lane] += 1
    for table in range(len(places.first)):
        start, kept = room.rows[table] & POSITIVE, ONE
        if places.memory[table] > 0:
            at = (room.lasts[table] + head) & POSITIVE
            kept = exp32(np.float32(np.int32(state.last[at] - clock)) / places.memory[table])
            state.last[at] = clock
        elif state.counts[start + total] >= FULL:
            kept = np.float32(0.5)
        if kept < ONE:
            state.counts[start + total] *= kept
            for each in range(heads.symbols[head]):
                state.counts[start + heads.first[head] + each] *= kept
        state.counts[start + total] += ONE
        state.counts[start + lane] += ONE


@inlined
def mature(now: int, then: int) -> np.bool:
    """Whether a memo was made when enough labels were known, of as many as are known now."""
    return (then >= MATURE_ROWS) & (then >= MATURE_SHARE * np.float32(now))


@inlined
def teach_head(
    places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, head: int, target: int, memo: Array,
    known: int, room: Scratch,
) -> None:  # fmt: skip
    """Learns one symbol: first the stack, by what the memo says or else by what is known now; then all below it."""
    estimate(places, heads, state, switches.regression, head, head, room)
    stack(heads, state, head, head, room.inputs, room.levels, room, room.stacked)
    if switches.stacking:
        if mature(state.known[known], read_known(places, heads, memo, known)):
            read_levels(places, heads, head, memo, room.kept_levels)
            read_inputs(places, heads, head, memo, room.kept)
            stack(heads, state, head, head, room.kept, room.kept_levels, room, room.alone)
            teach_stack(heads, state, head, target, room.kept, room.kept_levels, room.alone)
        else:
            teach_stack(heads, state, head, target, room.inputs, room.levels, room.stacked)
    if switches.regression:
        regress(heads, len(places.table), head, head, ZERO, room)
        teach_regression(heads, state, 0, head, target, room.alone, ALONE_RATE, room)
        if switches.boosting:
            teach_regression(heads, state, 1, head, target, room.stacked, BOOSTING_RATE, room)
    count_symbol(places, heads, state, head, target, room)


@inlined
def sort(values: Array) -> None:
    """Sorts a few values in place."""
    for place in range(1, len(values)):
        value, gap = values[place], place
        while gap > 0 and values[gap - 1] > value:
            values[gap] = values[gap - 1]
            gap -= 1
        values[gap] = value


@inlined
def sample_numbers(places: RowPlaces, state: ContextState, dense: Array) -> None:
    """Notes the numbers of a row, and draws the edges of their bins once there are enough."""
    for number in range(places.numbers):
        value = dense[number]
        value = np.float32(0) if np.isnan(value) else min(max(value, np.float32(-1e30)), np.float32(1e30))
        state.sample[state.known[2], number] = value
    state.known[2] += 1
    if state.known[2] < SAMPLE:
        return
    for number in range(places.numbers):
        values = state.sample[:, number]
        sort(values)
        low, high, edges = values[0], values[-1], state.edges[number]
        width = (high - low) / 4 if high > low else max(np.float32(1), abs(high) / 16)
        for place in range(7):
            edges[place] = values[(place + 1) * SAMPLE // 8]
        for place in range(10):
            reach = width * (np.float32(2.0) ** (place + 1) - 1)
            edges[7 + place], edges[17 + place] = high + reach, low - reach
        sort(edges[: COARSE - 1])
        spread = values[3 * SAMPLE // 4] - values[SAMPLE // 4]
        edges[COARSE - 1] = values[SAMPLE // 2]
        edges[COARSE] = spread if spread > 0 else width


@inlined
def combine(state: ContextState, level: int, outcomes: int, room: Scratch, out: Array) -> None:
    """Writes the logistic combination of the forecasts."""
    weights = state.combination[level]
    for symbol in range(outcomes):
        total = ZERO
        for place in range(len(weights)):
            total += weights[place] * room.forecasts[1 + place, symbol]
        room.mixed[symbol] = total
    soften(room.mixed, 0, outcomes, SMALLEST, out)


@inlined
def teach_combination(state: ContextState, level: int, outcomes: int, target: int, room: Scratch) -> None:
    """Gathers the slope and the curvature of one row, and steps once a block of rows is full."""
    combine(state, level, outcomes, room, room.chances[0])
    slopes, curvature, said = state.slopes[level], state.curvature[level], room.chances[0]
    for place in range(len(slopes)):
        mean = ZERO
        for symbol in range(outcomes):
            mean += said[symbol] * room.forecasts[1 + place, symbol]
        slopes[place] += mean - room.forecasts[1 + place, target]
        for symbol in range(outcomes):
            room.chances[1 + place, symbol] = room.forecasts[1 + place, symbol] - mean
        for other in range(place + 1):
            total = ZERO
            for symbol in range(outcomes):
                total += said[symbol] * room.chances[1 + place, symbol] * room.chances[1 + other, symbol]
            curvature[place, other] += total
    state.known[3] += 1
    state.known[4] += 1
    if state.known[4] >= min(max(FIRST_BLOCK, state.known[3] // 20), LAST_BLOCK):
        state.known[4] = 0
        for each in range(len(state.combination)):
            step_combination(state, each, room)


@inlined
def step_combination(state: ContextState, level: int, room: Scratch) -> None:
    """A Newton step of the weights of one level: by Cholesky's factors of the curvature and a ridge."""
    slopes, curvature, factor, step = state.slopes[level], state.curvature[level], room.factor, room.step
    most, biggest = ZERO, ZERO
    for row in range(len(slopes)):
        step[row] = slopes[row]
        for column in range(row + 1):
            total = curvature[row, column] + (COMBINATION_RIDGE if row == column else ZERO)
            for before in range(column):
                total -= factor[row, before] * factor[column, before]
            factor[row, column] = np.sqrt(max(total, ONE)) if row == column else total / factor[column, column]
        for before in range(row):
            step[row] -= factor[row, before] * step[before]
        step[row] /= factor[row, row]
        biggest = max(biggest, curvature[row, row])
        slopes[row] = ZERO
    for back in range(len(slopes)):
        row = len(slopes) - 1 - back
        for after in range(row + 1, len(slopes)):
            step[row] -= factor[after, row] * step[after]
        step[row] /= factor[row, row]
        most = max(most, abs(step[row]))
    scale = LONGEST_STEP / most if most > LONGEST_STEP else ONE
    kept = np.float32(0.5) if biggest > FULL else ONE
    for row in range(len(slopes)):
        state.combination[level, row] -= scale * step[row]
        for column in range(row + 1):
            curvature[row, column] *= kept


@inlined
def weigh_members(state: ContextState, share: float, level: int, room: Scratch) -> None:
    """Writes the weights that each hedge gives the members."""
    for hedge in range(len(GAMMAS)):
        scores = state.scores[hedge, level if BY_LEVEL[hedge] else 0]
        soften(scores, 0, M, np.float32(share / M), room.hedged[hedge])


@inlined
def mix(state: ContextState, switches: Switches, level: int, outcomes: int, room: Scratch, said: Array) -> None:
    """Writes the combination, and the forecast: the geometric mean of what the hedges say."""
    for place in range(1, len(room.forecasts)):
        for symbol in range(outcomes):
            room.forecasts[place, symbol] = log32(room.chances[place, symbol])
    combine(state, level, outcomes, room, room.chances[0])
    for symbol in range(outcomes):
        room.forecasts[0, symbol] = log32(room.chances[0, symbol])
    weigh_members(state, switches.share, level, room)
    for hedge in range(len(GAMMAS)):
        for symbol in range(outcomes):
            total = ZERO
            for member in range(M):
                total += room.hedged[hedge, member] * room.chances[member, symbol]
            room.heard[hedge, symbol] = log32(total)
    for symbol in range(outcomes):
        total = ZERO
        for hedge in range(len(GAMMAS)):
            total += room.heard[hedge, symbol]
        room.mixed[symbol] = total / np.float32(len(GAMMAS))
    soften(room.mixed, 0, outcomes, SMALLEST, said)
    for symbol in range(outcomes):
        said[symbol] = log32(said[symbol])


@inlined
def add_up(heads: Heads, h: Array, g: Array, out: Array) -> None:
    """Writes the sum of h(z|x) g(y|x,z) over z."""
    for symbol in range(heads.symbols[-1]):
        out[symbol] = ZERO
    for z in range(heads.symbols[0]):
        first = heads.first[1 + z] & POSITIVE
        for symbol in range(heads.symbols[-1]):
            out[symbol] += h[z] * g[first + symbol]
    for symbol in range(heads.symbols[-1]):
        out[symbol] = max(out[symbol], SMALLEST)


@inlined
def predict_row(
    places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, symbols: Array, dense: Array,
    room: Scratch, said: Array, memo: Array,
) -> None:  # fmt: skip
    """Writes the log-probabilities `said` [Y] of an instance and its memo."""
    outcomes, contexts, last = heads.symbols[-1], len(places.table), len(heads.symbols) - 1
    locate(places, heads, state, symbols, dense, room)
    estimate(places, heads, state, switches.regression, 0, last, room)
    stack(heads, state, 0, last, room.inputs, room.levels, room, room.stacked)
    regress(heads, contexts, 0, last, SMALLEST, room)
    add_up(heads, room.stacked, room.stacked, room.chances[1])
    add_up(heads, room.alone, room.alone, room.chances[3])
    for place in range(len(places.spoken)):
        alone = room.estimates[places.spoken[place]]
        add_up(heads, alone, alone, room.chances[5 + place])
    first = heads.first[last] & POSITIVE
    for symbol in range(outcomes):
        room.chances[2, symbol], room.chances[4, symbol] = room.stacked[first + symbol], room.alone[first + symbol]
    levels = room.levels[contexts + 2]
    level = levels[last] if levels[last] > 0 else FRESH if levels[0] > 0 else 0
    if state.known[1] < MATURE_ROWS:
        level = EARLY
    mix(state, switches, level, outcomes, room, said)
    if len(memo):
        write_forecasts(room.forecasts, level, memo)
        write_known(places, heads, state.known, memo)
        write_levels(places, heads, room.levels, memo)
        write_inputs(places, heads, room.inputs, room.slopes, memo)


@inlined
def nowcast_row(
    places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, symbols: Array, dense: Array, z: int,
    room: Scratch, said: Array,
) -> None:  # fmt: skip
    """Writes the log-probabilities `said` [Y] of the outcome of an instance whose proxy is known."""
    locate(places, heads, state, symbols, dense, room)
    estimate(places, heads, state, switches.regression, 1 + z, 1 + z, room)
    stack(heads, state, 1 + z, 1 + z, room.inputs, room.levels, room, room.stacked)
    for symbol in range(heads.symbols[-1]):
        said[symbol] = log32(room.stacked[heads.first[1 + z] + symbol])


@inlined
def learn_proxy(
    places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, symbols: Array, dense: Array, z: int,
    y: int, memo: Array, room: Scratch,
) -> None:  # fmt: skip
    """Learns a proxy; y is known (not -1) where the outcome was learnt before."""
    if places.numbers > 0 and state.known[2] < SAMPLE:
        sample_numbers(places, state, dense)
    locate(places, heads, state, symbols, dense, room)
    for step in range(2 if y >= 0 else 1):
        teach_head(places, heads, switches, state, step * (1 + z), y if step else z, memo, step, room)
    state.known[0] += 1


@inlined
def learn_outcome(
    places: RowPlaces, heads: Heads, switches: Switches, state: ContextState, symbols: Array, dense: Array, z: int,
    y: int, memo: Array, room: Scratch,
) -> None:  # fmt: skip
    """Learns an outcome; z is known (not -1) where the proxy is learnt by now."""
    outcomes = heads.symbols[-1]
    level = read_forecasts(memo, room.forecasts)
    for hedge in range(len(GAMMAS)):
        scores = state.scores[hedge, level if BY_LEVEL[hedge] else 0]
        most = GAMMAS[hedge] * scores[0] + room.forecasts[0, y]
        for member in range(M):
            scores[member] = GAMMAS[hedge] * scores[member] + room.forecasts[member, y]
            most = max(most, scores[member])
        for member in range(M):
            scores[member] -= most
    if switches.logistic and mature(state.known[1], read_known(places, heads, memo, 1)):
        teach_combination(state, level, outcomes, y, room)
    locate(places, heads, state, symbols, dense, room)
    for step in range(2 if z >= 0 else 1):
        teach_head(places, heads, switches, state, 1 + z if step else len(heads.symbols) - 1, y, memo, 1, room)
    state.known[1] += 1
