"""Checks the compiled kernels of the default forecaster against plain formulas."""

import numpy as np
import pytest

from presage.forecasters.contexts.arithmetic import exp32, log32
from presage.forecasters.contexts.kernels import REGRESSION_START, scratch_for, start_state
from presage.forecasters.contexts.layout import ContextLayout, ContextSettings
from presage.forecasters.contexts.loops import predict_rows
from presage.spaces import Array, Features, Spaces
from tests.forecasters.reference_contexts import uncached


@uncached
def logs_and_exponentials(values: Array, logs: Array, exponentials: Array) -> None:
    for place in range(len(values)):
        logs[place] = log32(values[place])
        exponentials[place] = exp32(logs[place])


def test_logarithms_and_exponentials_are_those_of_the_library() -> None:
    values = np.geomspace(1e-37, 1e37, 100_001).astype(np.float32)
    logs, exponentials = np.empty_like(values), np.empty_like(values)
    logs_and_exponentials(values, logs, exponentials)
    np.testing.assert_allclose(logs, np.log(values.astype(np.float64)), rtol=3e-7, atol=1e-7)
    np.testing.assert_allclose(exponentials, np.exp(logs.astype(np.float64)), rtol=3e-7)


def softmax(sums: Array) -> Array:
    parts = np.exp(sums - sums.max())
    return parts / parts.sum() * (1 - 1e-5 * len(sums)) + 1e-5


@pytest.mark.long
def test_the_direct_member_is_the_formula_of_the_stack() -> None:
    layout = ContextLayout(Spaces(Features(symbols=(20, 5), dense=1), 3, 2), ContextSettings(forgetting=False))
    state, room, random = start_state(layout), scratch_for(layout), np.random.default_rng(0)
    heads, contexts = layout.heads, len(layout.contexts)
    head = len(heads.symbols) - 1
    lanes = slice(heads.first[head], heads.first[head] + 2)
    rows = state.counts.reshape(-1, heads.lanes + heads.padded)
    rows[:, lanes] = random.integers(0, 9, (len(rows), 2))
    rows[::3] = 0
    rows[:, heads.lanes + head] = rows[:, lanes].sum(1)
    state.whole[lanes], state.whole[heads.lanes + head] = (70, 30), 100
    state.weights[:] = random.normal(size=len(state.weights))
    symbols, dense = np.array([[4, 2], [19, 0]], np.int32), np.array([[0.5], [-2.0]], np.float32)
    said, memos = np.empty((1, 2), np.float32), np.zeros((1, layout.memo_width), np.uint8)
    for row in range(2):
        predict_rows(layout.places, heads, layout.switches, state, room, symbols[[row]], dense[[row]], said, memos)
        base = (state.whole[lanes] + heads.prior[lanes]) / (100 + heads.prior[lanes].sum())
        estimates, sums = [base], np.log(base)
        for context in layout.contexts:
            counts = state.counts[room.rows[context.table] :][lanes]
            before = estimates[context.parent + 1]
            now = (counts + context.strength * before) / (counts.sum() + context.strength)
            estimates.append(now)
            sums = sums + np.log(now / before) / contexts
        for which in range(2):
            for term, value in zip(room.terms, room.values, strict=True):
                at = term + which * heads.lanes + heads.first[head]
                sums = sums + REGRESSION_START * value * state.weights[at : at + 2]
        np.testing.assert_allclose(room.chances[2], softmax(sums), rtol=1e-5)
