"""Blocks against rounds: networks give the same losses on both roads."""

import numpy as np
import pytest

from presage import Episode, direct_network, factored_network, mixture, residual_network, residual_table
from presage.drivers.batched.episodes import block_episode, block_experts, can_block
from presage.drivers.xla.episodes import scan_episode, scan_experts
from presage.errors import SettingError, ShapeError
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import experts_of
from tests.problems import FORECASTERS, MIXED, NETWORKS, PLAIN, QUICK, episode

MAKERS = (direct_network, factored_network, residual_network)


def networks(weighting: str = "early") -> Forecaster:
    pool = [make(PLAIN, replay=QUICK, hidden=(8, 6)) for make in MAKERS]
    return mixture(PLAIN, pool, weighting="early" if weighting == "early" else "outcomes")


def trials(kind: str) -> Episode:
    return Episode.stack([episode(kind, rounds=203, seed=seed) for seed in range(3)])


@pytest.mark.long
@pytest.mark.parametrize(("kind", "weighting"), [("varying", "early"), ("bursts", "outcomes")])
def test_a_mixture_of_networks_by_blocks_is_the_mixture_by_rounds(kind: str, weighting: str) -> None:
    told: list[int] = []
    ours, others = (
        block_experts(networks(weighting), trials(kind), 3, told.append),
        scan_experts(networks(weighting), trials(kind), 3),
    )
    assert sum(told) == 3
    assert np.abs(ours.own - others.own).max() < 1e-5
    assert ours.experts is not None
    assert np.abs(ours.experts - others.experts).max() < 1e-5


@pytest.mark.long
def test_a_network_by_blocks_is_the_network_by_rounds() -> None:
    forecaster, dealt = FORECASTERS["residual-network"](PLAIN), trials("varying")
    assert np.abs(block_experts(forecaster, dealt, 3).own - scan_experts(forecaster, dealt, 3).own).max() < 1e-5


@pytest.mark.long
def test_a_network_over_one_episode_by_blocks_says_what_it_says_by_rounds() -> None:
    for name in NETWORKS:
        forecaster, dealt = FORECASTERS[name](MIXED), episode("bursts", MIXED, rounds=203)
        assert (
            np.abs(block_episode(forecaster, dealt, 3) - scan_episode(forecaster, dealt, 3).log_probabilities).max()
            < 1e-5
        )


def test_what_learns_between_trainings_is_refused() -> None:
    assert not can_block(mixture(PLAIN, [*experts_of(networks()), residual_table(PLAIN)]))
    with pytest.raises(SettingError, match="only networks"):
        block_experts(residual_table(PLAIN), trials("fixed"), 0)
    with pytest.raises(ShapeError, match="leading axis"):
        block_experts(networks(), episode("fixed"), 0)
    with pytest.raises(SettingError, match="only a network"):
        block_episode(networks(), episode("fixed"), 0)
    with pytest.raises(ShapeError, match="single episode"):
        block_episode(direct_network(PLAIN), trials("fixed"), 0)
