"""How strong a prior may be: float32 carries every strength that is accepted, on every road to a prediction."""

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage import (
    Delays,
    Episode,
    Features,
    Forecaster,
    Instance,
    Learner,
    Spaces,
    direct_table,
    factored_table,
    mixture,
    play,
    residual_table,
)
from presage.drivers.counting import kernels
from presage.drivers.counting.episodes import count_experts
from presage.drivers.counting.table_core import LearntCounts, TableFunctions
from presage.drivers.lessons import Lessons
from presage.errors import SettingError
from presage.forecasters import back_off as counts
from presage.forecasters.direct_table import marginal_table
from presage.settings import STRENGTHS
from presage.spaces import Array
from tests.problems import PLAIN

SPACES = Spaces(Features(symbols=(8, 4, 2)), proxies=3, outcomes=2)
GROUPS = ((2,), (1, 2))
SEEN = 3
X = Instance(np.array([[0, 0, 0], [1, 1, 1], [2, 2, 0], [3, 1, 1], [4, 3, 0]], np.int32), np.zeros((5, 0), np.float32))
"""The first three are met; of the fourth the finer group is, of the last the coarser one alone."""
ROWS = np.tile(np.arange(SEEN, dtype=np.int32), 4)
FEW = Instance(X.symbols[ROWS], X.dense[ROWS])
Z, Y = ROWS % 2, ROWS % 2  # the last proxy never comes, and each instance has one outcome


def tables(alpha: float, kappa: float, shrinkage: float) -> list[Forecaster]:
    """Tables of one, two and four levels."""
    return [
        marginal_table(SPACES, alpha),
        residual_table(SPACES, alpha, kappa=kappa),
        direct_table(SPACES, alpha, shrinkage=shrinkage, groups=GROUPS),
        residual_table(SPACES, alpha, kappa=kappa, shrinkage=shrinkage, groups=GROUPS),
    ]


def by_numba(forecaster: Forecaster, times: int) -> Array:
    """The log-probabilities and the now-casts [5, 2, Y] of a tally that has met all rows so many times."""
    tally = TableFunctions(forecaster)
    learnt, z = tally.start(), np.arange(5) % 3
    lessons = Lessons(FEW, Z, Y, tally.predict(learnt, FEW).memo, np.arange(len(ROWS)))
    tally.learn(learnt, lessons._replace(y=np.full_like(Y, -1)), lessons)
    learnt = LearntCounts(learnt.counts * times, learnt.scores)
    return np.stack([tally.predict(learnt, X).log_probabilities, tally.nowcast(learnt, X, z)], axis=1)


def met(forecaster: Forecaster, times: int) -> Any:
    """The state of a learner that has met all rows so many times."""
    learner = Learner(forecaster)
    for x, z, y in zip(FEW.symbols, Z, Y, strict=True):
        row = learner.predict(Instance(x, X.dense[0])).id
        learner.proxy(row, z)
        learner.outcome(row, y)
    return jax.tree.map(lambda part: part * times, learner.state)


def by_forecaster(forecaster: Forecaster, state: Any, place: Any) -> Array:
    """The same by the forecaster's own functions, on NumPy's or JAX's arrays."""
    state, found = jax.tree.map(place, state), []
    for row, each in enumerate(zip(*X, strict=True)):
        x = Instance(*map(place, each))
        found.append((forecaster.predict(state, x).log_probabilities, forecaster.nowcast(state, x, place(row % 3))))
    return np.array(found, np.float64)


def check_roads(alpha: float, kappa: float, shrinkage: float, times: int) -> None:
    """Every table says finite numbers, and the same ones, whichever road is taken."""
    for forecaster in tables(alpha, kappa, shrinkage):
        state = met(forecaster, times)
        roads = [
            by_numba(forecaster, times),
            *(by_forecaster(forecaster, state, to) for to in (np.asarray, jnp.asarray)),
        ]
        for road in roads:
            assert np.isfinite(road).all(), forecaster
            assert np.allclose(np.exp(road), np.exp(roads[0]), rtol=1e-4, atol=1e-6), forecaster


def within(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers of every size between two."""
    return st.floats(np.log10(low), np.log10(high)).map(lambda power: min(max(10.0**power, low), high))


@given(within(*STRENGTHS), within(*STRENGTHS), within(*STRENGTHS), st.sampled_from([1, 10**3, 10**8]))
@settings(max_examples=20, deadline=None)
def test_every_strength_that_is_accepted_gives_finite_answers_on_every_road(
    alpha: float, kappa: float, shrinkage: float, times: int
) -> None:
    check_roads(alpha, kappa, shrinkage, times)


@pytest.mark.parametrize(("alpha", "kappa", "shrinkage"), [*product(STRENGTHS, repeat=3)])
def test_so_does_every_corner_of_what_is_accepted(alpha: float, kappa: float, shrinkage: float) -> None:
    check_roads(alpha, kappa, shrinkage, 10**8)


@pytest.mark.long
@pytest.mark.parametrize(("alpha", "kappa"), [*product(STRENGTHS, repeat=2)])
def test_so_does_a_mixture_over_whole_episodes(alpha: float, kappa: float) -> None:
    x, z, y = np.tile(X.symbols, (40, 1)), np.arange(200) % 2, np.arange(200) % 2
    dealt = Episode.fixed(Instance(x, np.zeros((200, 0), np.float32)), z, y, Delays(0, 3))
    forecaster = mixture(SPACES, tables(alpha, kappa, kappa)[1:])
    assert np.isfinite(play(forecaster, dealt, 0)).all()
    assert np.isfinite(count_experts(forecaster, Episode.stack([dealt])).own).all()


def test_no_road_says_less_than_another() -> None:
    assert kernels.LEAST == counts.LEAST


@pytest.mark.parametrize("strength", [1e-46, 1e-39, 0.9 * STRENGTHS[0], 1.1 * STRENGTHS[1], 1e39])
def test_a_strength_that_float32_cannot_carry_is_refused(strength: float) -> None:
    for make in (marginal_table, direct_table, factored_table, residual_table):
        with pytest.raises(SettingError, match=r"alpha must lie in \[1e-09, 1e\+30\]: found"):
            make(PLAIN, strength)
    for make in (direct_table, factored_table, residual_table):
        with pytest.raises(SettingError, match="shrinkage must lie in"):
            make(PLAIN, shrinkage=strength)
    with pytest.raises(SettingError, match="kappa must lie in"):
        residual_table(PLAIN, kappa=strength)
