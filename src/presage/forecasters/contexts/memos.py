"""What is kept with a prediction until its feedback comes, in as few bytes as teach the same.

A memo holds, one after another:

- the log-probabilities of the forecasts [1 + F, Y], members first, a byte each: the root, in steps of 1/72;
- how many proxies and outcomes were known, four bytes each, and the level of the last mixing;
- how much was known of the row of each table, for each head: three levels of six in a byte;
- the inputs of the stacks, six bits each: the bits of the inputs of one lane follow each other in bytes that lie as far
  apart as there are lanes. What follows from the rest is left out: the inputs of a head sum to 0, so that its last lane
  is not kept, and of contexts that are there twice one is.
"""

import numpy as np

from presage.forecasters.contexts.arithmetic import MAGIC, ONE, POSITIVE, ZERO, inlined
from presage.forecasters.contexts.layout import (
    INPUT_BITS,
    KNOWN_BYTES,
    LEVELS,
    LEVELS_IN_BYTE,
    MEMBER_CODE,
    MEMBERS,
    Heads,
    RowPlaces,
)
from presage.spaces import Array

M = len(MEMBERS)
PER_CODE, CODE, MOST_CODE = np.float32(1 / MEMBER_CODE), np.float32(MEMBER_CODE), np.float32(255)
INPUT_CODES, MOST_STEPS = 2**INPUT_BITS, 2 ** (INPUT_BITS - 1) - 1
STEPS = np.arange(INPUT_CODES) - MOST_STEPS - 1
INPUTS = (5 * STEPS / (50 - abs(STEPS))).astype(np.float32)
"""The input that each code stands for: from -8.2 to 8.2, in steps that grow from 0.1 at 0 to 0.7."""
STEEP, BEND, MOST_STEP, NO_STEP = np.float32(10), np.float32(1 / 5), np.float32(MOST_STEPS), np.float32(MOST_STEPS + 1)
TOGETHER = 4
"""Inputs that are packed together into three bytes: a float32 holds so many bits."""


@inlined
def write_forecasts(forecasts: Array, level: int, memo: Array) -> None:
    """Keeps the log-probabilities of the forecasts, and the level of the last mixing."""
    place = 0
    for each in range(len(forecasts)):
        for symbol in range(forecasts.shape[1]):
            code = np.rint(np.sqrt(max(-forecasts[each, symbol], ZERO)) * PER_CODE)
            memo[place] = np.uint8(min(code, MOST_CODE))
            place += 1
    memo[place + 8] = level


@inlined
def read_forecasts(memo: Array, forecasts: Array) -> np.int64:
    """Writes the log-probabilities of the forecasts as a memo keeps them; the level of the last mixing."""
    place = 0
    for each in range(len(forecasts)):
        for symbol in range(forecasts.shape[1]):
            root = np.float32(memo[place]) * CODE
            forecasts[each, symbol] = -root * root
            place += 1
    return np.int64(memo[place + 8])


@inlined
def known_begins(places: RowPlaces, heads: Heads) -> int:
    """Where the counts of known proxies and outcomes begin in a memo."""
    place: int = (M - 1 + len(places.spoken)) * heads.symbols[-1]
    return place


@inlined
def write_known(places: RowPlaces, heads: Heads, known: Array, memo: Array) -> None:
    """Keeps how many proxies and outcomes were known."""
    place = known_begins(places, heads)
    for which in range(2):
        for byte in range(4):
            memo[place + 4 * which + byte] = (known[which] >> (8 * byte)) & 255


@inlined
def read_known(places: RowPlaces, heads: Heads, memo: Array, which: int) -> np.int64:
    """How many proxies (0) or outcomes (1) were known."""
    place, known = known_begins(places, heads) + 4 * which, np.int64(0)
    for byte in range(4):
        known |= np.int64(memo[place + byte]) << (8 * byte)
    return known


@inlined
def write_levels(places: RowPlaces, heads: Heads, levels: Array, memo: Array) -> None:
    """Keeps how much was known of the row of each table."""
    place, tables = known_begins(places, heads) + KNOWN_BYTES, len(places.context)
    for first in range(0, tables, LEVELS_IN_BYTE):
        for head in range(len(heads.symbols)):
            code, unit = np.int64(0), 1
            for table in range(first, min(first + LEVELS_IN_BYTE, tables)):
                code += unit * levels[places.context[table], head]
                unit *= LEVELS
            memo[place + head] = code
        place += len(heads.symbols)


@inlined
def read_levels(places: RowPlaces, heads: Heads, head: int, memo: Array, levels: Array) -> None:
    """Writes how much was known of the inputs of a head, and of the identity, when the memo was made."""
    place, contexts = known_begins(places, heads) + KNOWN_BYTES + head, len(places.table)
    for context in range(contexts):
        at, part = places.table[context] // LEVELS_IN_BYTE, places.table[context] % LEVELS_IN_BYTE
        code = np.int64(memo[place + at * len(heads.symbols)])
        for _ in range(part):
            code //= LEVELS
        levels[context, head] = code % LEVELS
    levels[contexts + 2, head] = levels[places.identity, head] if places.identity >= 0 else 0


@inlined
def inputs_begin(places: RowPlaces, heads: Heads) -> int:
    """Where the inputs begin in a memo."""
    levels = -(-len(places.context) // LEVELS_IN_BYTE) * len(heads.symbols)
    place: int = known_begins(places, heads) + KNOWN_BYTES + levels
    return place


@inlined
def write_inputs(places: RowPlaces, heads: Heads, inputs: Array, codes: Array, memo: Array) -> None:
    """Keeps the inputs of stacks; `codes` is room [lanes]."""
    place, inputs_kept, lanes = inputs_begin(places, heads), len(places.kept), len(heads.kept)
    for first in range(0, inputs_kept, TOGETHER):
        count, unit = min(TOGETHER, inputs_kept - first), ONE
        for lane in range(heads.lanes):
            codes[lane] = ZERO
        for each in range(first, first + count):
            values = inputs[places.kept[each] & POSITIVE]
            for lane in range(heads.lanes):
                steps = values[lane] * STEEP / (ONE + abs(values[lane]) * BEND)
                steps = min(max(steps, -MOST_STEP), MOST_STEP)
                codes[lane] += unit * (((steps + MAGIC) - MAGIC) + NO_STEP)
            unit *= np.float32(INPUT_CODES)
        for byte in range((INPUT_BITS * count + 7) // 8):
            for each in range(lanes):
                memo[place + each] = (np.int64(codes[heads.kept[each] & POSITIVE]) >> (8 * byte)) & 255
            place += lanes


@inlined
def read_inputs(places: RowPlaces, heads: Heads, head: int, memo: Array, inputs: Array) -> None:
    """Writes the inputs of a head's stack as they were when the memo was made."""
    place, lanes = inputs_begin(places, heads) + heads.first[head] - head, len(heads.kept)
    first, last = heads.first[head] & POSITIVE, (heads.first[head] + heads.symbols[head] - 1) & POSITIVE
    for each in range(len(inputs)):
        bit = INPUT_BITS * places.kept_at[each]
        shift, start, total = bit % 8, (place + bit // 8 * lanes) & POSITIVE, ZERO
        then = start + lanes if shift + INPUT_BITS > 8 else start
        for symbol in range(last - first):
            code = (np.int64(memo[start + symbol]) | (np.int64(memo[then + symbol]) << 8)) >> shift
            value = INPUTS[code & (INPUT_CODES - 1)]
            inputs[each, first + symbol] = value
            total += value
        inputs[each, last] = -total
