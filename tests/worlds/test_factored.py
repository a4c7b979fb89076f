"""The synthetic world is the one the paper describes."""

from typing import Any

import numpy as np
import pytest

from presage import Delays
from presage.errors import SettingError
from presage.worlds.factored import FactoredWorld, interleaved


def test_the_adversary_moves_on_just_before_the_first_outcome_is_seen() -> None:
    x = interleaved((1, 1000), 100, 10, 0.0, np.random.default_rng(0))[0]
    assert (x[:100] == 0).all()  # x = 1 for the first D rounds, as printed; the formula would stop at D - 1
    assert x[100] == 1
    assert (x == np.minimum(np.arange(1000) // 100, 9)).all()


def test_the_mix_is_the_share_of_uniform_rounds() -> None:
    x = interleaved((50, 1000), 100, 10, 0.4, np.random.default_rng(0))
    off = (x != np.minimum(np.arange(1000) // 100, 9)).mean()
    assert off == pytest.approx(0.4 * 0.9, abs=4 * np.sqrt(0.23 / 50_000))
    assert np.bincount(interleaved((50, 1000), 100, 10, 1.0, np.random.default_rng(0)).ravel()).std() < 300


def test_the_truth_is_the_distribution_of_outcomes() -> None:
    """Mean true loss against the entropy of the empirical distribution of y given x, within one trial."""
    world = FactoredWorld(instances=3, bypass=0.3)
    dealt = world.deal(1, 60_000, Delays(0, 10), mix=1.0, seed=5)
    x, y = dealt.episode.x[0], dealt.episode.y[0]
    counts = np.zeros((3, 5))
    np.add.at(counts, (x, y), 1)
    empirical = -(counts * np.log(counts / counts.sum(1, keepdims=True))).sum() / len(x)
    assert dealt.true_loss.mean() == pytest.approx(empirical, abs=2e-3)


def test_useless_proxies_say_nothing_and_change_no_outcome() -> None:
    useful = FactoredWorld().deal(20, 500, Delays(0, 10), 1.0, seed=2)
    useless = useful.obscured(0.0, seed=1)
    assert np.array_equal(useful.obscured(1.0, seed=1).episode.z, useful.episode.z)
    assert np.array_equal(useful.episode.y, useless.episode.y)
    assert np.array_equal(useful.true_loss, useless.true_loss)
    assert (useful.episode.z == useless.episode.z).mean() == pytest.approx(0.25, abs=0.02)


def test_the_same_seed_deals_the_same_and_another_deals_another() -> None:
    deal = [FactoredWorld().deal(2, 50, Delays(0, 10), 0.5, seed).episode.y for seed in (1, 1, 2)]
    assert np.array_equal(deal[0], deal[1])
    assert not np.array_equal(deal[0], deal[2])


@pytest.mark.parametrize("setting", ["noise", "bypass"])
def test_shares_outside_zero_to_one_are_refused(setting: str) -> None:
    settings: dict[str, Any] = {setting: 1.1}
    with pytest.raises(SettingError, match=setting):
        FactoredWorld(**settings)
    with pytest.raises(SettingError, match="useful"):
        FactoredWorld().deal(1, 10, Delays(0, 1), mix=0.0, seed=0).obscured(2.0, seed=0)
    with pytest.raises(SettingError, match="mix"):
        FactoredWorld().deal(1, 10, Delays(0, 1), mix=-0.1, seed=0)
