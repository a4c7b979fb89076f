"""The default forecaster by two roads: its compiled loops against plain Python that shares none of their code."""

import numpy as np
import pytest

from presage.drivers.contexts.episodes import ContextLog
from presage.forecasters.contexts.kernels import key_row
from presage.forecasters.contexts.layout import ContextLayout, ContextSettings
from presage.spaces import EMPTY, Array, Features, Instance, SetOf, Spaces
from presage.timeline.episode import Delays, Episode
from tests.forecasters.reference_contexts import ReferenceContexts, play_reference, uncached

SPACES = Spaces(Features(symbols=(7, 3), sets=(SetOf(4, 2),), dense=1), proxies=3, outcomes=2)
ROUNDS = 1000


def world(seed: int) -> Episode:
    """A log in which every feature tells something, and feedback comes late, in another order or not at all."""
    draw = np.random.default_rng(seed)
    symbols = draw.integers(0, [7, 3, 4, 4], (ROUNDS, 4)).astype(np.int32)
    symbols[draw.random(ROUNDS) < 0.5, 3] = EMPTY
    symbols[symbols[:, 2] == symbols[:, 3], 3] = EMPTY
    symbols[:, 0] = np.minimum(symbols[:, 0], np.arange(ROUNDS) // 100)  # new items come all the time
    dense = np.round(draw.normal(size=(ROUNDS, 1)) * 4, 1).astype(np.float32)
    lean = 0.5 * (symbols[:, 0] % 3) + symbols[:, 1] - 0.4 * (symbols[:, 2] == 1) + 0.3 * np.sign(dense[:, 0]) - 1
    z = (draw.normal(size=ROUNDS) + lean > 0).astype(int) + (draw.normal(size=ROUNDS) + lean > 1)
    y = (draw.normal(size=ROUNDS) + lean / 2 + 0.7 * (z - 1) > 0).astype(int)
    now = np.arange(ROUNDS)
    late = [np.where(draw.random(ROUNDS) < 0.05, -1, now + draw.integers(0, most, ROUNDS)) for most in (30, 90)]
    return Episode.varying(Instance(symbols, dense), z, y, *late)


@pytest.mark.long
def test_what_is_said_and_learnt_is_what_plain_python_says_and_learns() -> None:
    layout = ContextLayout(SPACES, ContextSettings(memory=60.0), same=(0, 1, -1))
    episode, plain = world(0), ReferenceContexts(layout)
    log = ContextLog(layout, episode)
    said = log.play(0, ROUNDS).log_probabilities
    expected = play_reference(plain, episode)
    # A memo keeps inputs in steps: a value half-way may be rounded up by one and down by the other.
    np.testing.assert_allclose(said, expected, atol=1e-4)
    state, heads = log.state, layout.heads
    assert state.known.tolist() == [*plain.known, 500, plain.taught, plain.block]
    assert plain.taught > 300
    np.testing.assert_allclose(state.stacks, plain.stacks, atol=1e-3)
    np.testing.assert_allclose(state.combination, plain.combination, atol=1e-3)
    np.testing.assert_allclose(np.tril(state.curvature), np.tril(plain.curvature), rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(state.scores, plain.scores, atol=5e-3)
    whole = [state.whole[first : first + size].tolist() for first, size in zip(heads.first, heads.symbols, strict=True)]
    assert whole == [each.tolist() for each in plain.whole]


def test_counts_that_float32_could_not_go_on_with_are_halved() -> None:
    layout, full = ContextLayout(Spaces(2, 2, 2), ContextSettings(forgetting=False)), 2.0**23
    log, heads = ContextLog(layout, Episode.fixed([0, 0], [0, 0], [1, 1], Delays(proxy=0, outcome=0))), layout.heads
    rows, head = log.state.counts.reshape(-1, heads.lanes + heads.padded), len(heads.symbols) - 1
    lanes = slice(heads.first[head], heads.first[head] + 2)
    rows[:, lanes], rows[:, heads.lanes + head] = (full - 6, 6), full
    log.play(0, 2)
    counted = rows[1]  # of the first instance: that of values a log never showed comes before it
    assert counted[lanes].tolist() == [full / 2 - 3, 4]
    assert counted[heads.lanes + head] == full / 2 + 1


@uncached
def rows_of(table: tuple[Array, Array, int, bool], values: Array, found: Array) -> None:
    for place in range(len(values)):
        found[place] = key_row(table[0], table[1], table[2], table[3], values[place])


def test_every_combination_of_values_has_a_row_of_its_own_or_one_that_few_share() -> None:
    columns, sizes = np.array([2, 0, -1], np.int32), np.array([5, 400, 1])
    values = np.array([[first, 9, last] for first in range(400) for last in range(5)])
    found = np.empty(len(values), np.int64)
    rows_of((columns, sizes, 2000, False), values, found)
    assert sorted(found.tolist()) == list(range(2000))
    rows = 2**16
    rows_of((columns, sizes, rows, True), values, found)
    assert 0 <= found.min() <= found.max() < rows
    assert len(np.unique(found)) > 2000 - 60  # 30 of 2,000 share one by chance
