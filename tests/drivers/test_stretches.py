"""Stretch after stretch against all rounds at once: the same numbers."""

import numpy as np
import pytest

from presage import Episode, direct_table, factored_table, mixture, residual_table
from presage.drivers.counting import episodes as stretches
from presage.drivers.counting.episodes import count_tables, lay_out_log, stretch_mixture, stretch_tables
from presage.drivers.counting.weighing import weights_of
from presage.forecasters.contract import Forecaster
from presage.forecasters.expert_weights import EarlyWeights
from presage.forecasters.mixture import pool_of
from presage.spaces import Array
from tests.problems import KINDS, MIXED, PLAIN, episode

TABLES = [direct_table(MIXED), factored_table(MIXED, shrinkage=3.0), residual_table(MIXED)]
POOLS: dict[str, Forecaster] = {
    "early": mixture(MIXED, TABLES),
    "outcomes": mixture(MIXED, TABLES, weighting="outcomes"),
}


@pytest.fixture(autouse=True, params=[1, 37, 10**6])
def _so_many_events_make_a_stretch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "EVENTS", request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_go_on_from_stretch_to_stretch(kind: str) -> None:
    dealt = episode(kind, MIXED)
    whole = count_tables(TABLES, Episode.stack([dealt])).logs[0]
    assert np.array_equal(np.concatenate(list(stretch_tables(TABLES, dealt))), whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighting", POOLS)
def test_the_weights_of_a_mixture_go_on_too(kind: str, weighting: str) -> None:
    dealt, pool = episode(kind, MIXED), pool_of(POOLS[weighting])
    judge = pool.judge if isinstance(pool.rule, EarlyWeights) else None
    counted = count_tables(pool.experts, Episode.stack([dealt]), judge)
    weights: Array = weights_of(pool, counted.feedback, counted.logs, counted.expected, counted.told[:, 1])[0]  # [K, T]
    mixed = np.einsum("kt,tky->ty", weights, np.exp(counted.logs[0]))
    played = list(stretch_mixture(POOLS[weighting], dealt))
    assert np.abs(np.concatenate([part.weights for part in played], axis=1) - weights).max() < 1e-6
    assert np.abs(np.exp(np.concatenate([part.log_probabilities for part in played])) - mixed).max() < 1e-6


def test_only_open_rows_are_kept() -> None:
    rounds = np.arange(2000)
    dealt = Episode.varying(rounds % 7, rounds % 3, rounds % 2, rounds, rounds + 20)
    log = lay_out_log([direct_table(PLAIN)], None, dealt)
    longest = max(stop - start for start, stop in log.bounds())
    assert log.open == min(20 + 1 + longest, 2000)
    assert [start for start, _ in log.bounds()][1:] == [stop for _, stop in log.bounds()][:-1]
