"""What a memo of the default forecaster gives back: all that it was told, within half a step."""

from typing import NamedTuple

import numpy as np
import pytest

from presage.forecasters.contexts.arithmetic import Function, njit
from presage.forecasters.contexts.layout import (
    LEVELS,
    ContextLayout,
    ContextSettings,
    Heads,
    RowPlaces,
    from_codes,
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
from presage.spaces import Array, Features, Spaces

GUARD = 8
compiled: Function = njit(error_model="numpy", _nrt=False)  # not kept: numba's cache would miss changes in callees


class Told(NamedTuple):
    """What a memo keeps."""

    forecasts: Array
    known: Array
    levels: Array
    inputs: Array
    room: Array


@compiled
def write(places: RowPlaces, heads: Heads, told: Told, memo: Array) -> None:
    write_forecasts(told.forecasts, 7, memo)
    write_known(places, heads, told.known, memo)
    write_levels(places, heads, told.levels, memo)
    write_inputs(places, heads, told.inputs, told.room, memo)


@compiled
def read(places: RowPlaces, heads: Heads, memo: Array, found: Told) -> int:
    for which in range(2):
        found.known[which] = read_known(places, heads, memo, which)
    for head in range(len(heads.symbols)):
        read_levels(places, heads, head, memo, found.levels)
        read_inputs(places, heads, head, memo, found.inputs)
    level: int = read_forecasts(memo, found.forecasts)
    return level


@pytest.mark.parametrize(
    ("spaces", "settings"),
    [
        (Spaces(Features(symbols=(20, 5, 3, 80), dense=1), 3, 2), ContextSettings()),
        (Spaces(Features(symbols=(20, 5), dense=2), 5, 4), ContextSettings()),
        (Spaces(Features(symbols=(20,)), 2, 3), ContextSettings(forgetting=False)),
    ],
)
def test_a_memo_gives_back_what_was_written(spaces: Spaces, settings: ContextSettings) -> None:
    layout, random = ContextLayout(spaces, settings), np.random.default_rng(0)
    places, heads = layout.places, layout.heads
    shape, of = (len(layout.inputs), heads.lanes), len(heads.symbols)
    forecasts = np.log(random.dirichlet(np.ones(spaces.outcomes), layout.forecasts)).astype(np.float32)
    known = np.array([2**31 - 1, 70_000, 3], np.int32)
    of_tables = random.integers(0, LEVELS, (len(places.rows), heads.padded))
    levels = np.zeros((len(layout.inputs) + 1, heads.padded), np.int64)
    levels[: len(places.table), :of] = of_tables[places.table, :of]
    levels[-1] = levels[places.identity]
    inputs, room = np.zeros(shape, np.float32), np.zeros(heads.lanes, np.float32)
    for head in range(of):
        lanes = slice(heads.first[head], heads.first[head] + heads.symbols[head])
        values = random.normal(size=(len(places.kept), heads.symbols[head])) * 10.0 ** random.uniform(-2, 0)
        inputs[:, lanes] = (values - values.mean(1, keepdims=True))[places.kept_at]
    memos = [np.full(layout.memo_width + GUARD, fill, np.uint8) for fill in (0, 255)]
    for memo in memos:
        write(places, heads, Told(forecasts, known, levels, inputs, room), memo)
    width = layout.memo_width
    assert np.array_equal(memos[0][:width], memos[1][:width]), "every byte is written"
    assert not memos[0][width:].any(), "and none past the end"

    found = Told(*map(np.zeros_like, (forecasts, known, levels, inputs, room)))
    assert read(places, heads, memos[0][:width].copy(), found) == 7
    assert found.known[:2].tolist() == known[:2].tolist()
    np.testing.assert_array_equal(found.levels, levels)
    roots = np.sqrt(-forecasts), np.sqrt(-found.forecasts)
    np.testing.assert_allclose(roots[0], roots[1], atol=0.5001 / 72)
    flat = memos[0][: forecasts.size].reshape(forecasts.shape)
    np.testing.assert_allclose(from_codes(flat), found.forecasts, rtol=1e-6)
    bent = [10 * part / (1 + np.abs(part) / 5) for part in (inputs, found.inputs)]
    np.testing.assert_allclose(bent[0][:, heads.kept], bent[1][:, heads.kept], atol=0.501)
    for head in range(of):
        lanes = slice(heads.first[head], heads.first[head] + heads.symbols[head])
        np.testing.assert_allclose(found.inputs[:, lanes].sum(1), 0, atol=1e-5)


def test_what_follows_from_the_rest_is_not_kept() -> None:
    layout = ContextLayout(Spaces(Features(symbols=(400, 5, 4), dense=1), 4, 4), ContextSettings())
    kept = [layout.inputs[place] for place in layout.places.kept]
    assert len(kept) == len(layout.inputs) - 1, "the first feature is the start of the chain, too"
    assert len(layout.heads.kept) == 6 * 3, "one of four lanes of each head"
    levels = -(-len(layout.places.rows) // 3) * 6
    assert layout.memo_width == layout.forecasts * 4 + 9 + levels + -(-len(kept) * 6 // 8) * 18
