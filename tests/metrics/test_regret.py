"""Regret and its parts, intervals, and recovery."""

import numpy as np
import pytest

from presage import Delays, direct_table, factored_table, play_trials, residual_table
from presage.drivers.xla.episodes import scan_trials
from presage.errors import SettingError, ShapeError
from presage.metrics.intervals import mean_interval, ratio_interval
from presage.metrics.losses import (
    best_static_losses,
    factorisation_bias,
    log_loss,
    regret,
    rounds_to_recover,
    running_mean,
    split_regret,
)
from presage.worlds.factored import FactoredWorld


def test_the_best_static_comparator_is_no_worse_than_the_truth() -> None:
    dealt = FactoredWorld().deal(20, 400, Delays(0, 10), 1.0, seed=0)
    best = best_static_losses(dealt.episode.x, dealt.episode.y, 10, 5)
    assert best.shape == (20, 400)
    assert (best.sum(1) <= dealt.true_loss.sum(1)).all()


def test_learning_and_delay_add_up_to_the_regret() -> None:
    world, delays = FactoredWorld(), Delays(proxy=5, outcome=60)
    dealt = world.deal(10, 300, delays, 0.0, seed=1)
    losses, twin = (
        play_trials(direct_table(world.spaces), episode, 0)
        for episode in (dealt.episode, dealt.episode.without_delay())
    )
    split = split_regret(losses, twin, dealt.true_loss)
    np.testing.assert_allclose(split.learning + split.delay, regret(losses, dealt.true_loss), rtol=1e-9)
    assert split.delay.mean() > split.learning.mean() > 0


@pytest.mark.parametrize(("useful", "least", "most"), [(1.0, -0.02, 0.02), (0.0, 0.3, 2.0)])
def test_the_factorisation_bias_is_the_information_the_proxy_misses(useful: float, least: float, most: float) -> None:
    """Nothing is missed by a proxy that tells all; one that is noise misses I(X;Y), computed from the truth."""
    world = FactoredWorld()
    dealt = world.deal(40, 4000, Delays(0, 5), 1.0, seed=1).obscured(useful, seed=2)
    tables = factored_table(world.spaces), residual_table(world.spaces)
    played = [scan_trials(table, dealt.episode, 0, nowcasts=True).nowcasts for table in tables]
    shared, corrected = (log_loss(said, dealt.episode.y)[:, 2000:] for said in played)
    bias = factorisation_bias(shared, corrected).mean() / 2000
    assert least < bias < most
    if useful == 0.0:
        x, y = dealt.episode.x, dealt.episode.y
        marginal = best_static_losses(np.zeros_like(x), y, 1, 5).mean()
        assert bias == pytest.approx(marginal - dealt.true_loss.mean(), abs=0.1)


def test_an_interval_covers_the_mean_as_often_as_it_says() -> None:
    draw = np.random.default_rng(0)
    hits = [low <= 3.0 <= high for _, low, high in (mean_interval(draw.normal(3.0, 2.0, 12)) for _ in range(2000))]
    assert abs(np.mean(hits) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2000)


def test_a_ratio_has_a_narrower_interval_when_its_trials_are_paired() -> None:
    draw = np.random.default_rng(0)
    below = draw.normal(100.0, 20.0, 200)
    paired = ratio_interval(2 * below + draw.normal(0, 1, 200), below)
    shuffled = ratio_interval(2 * draw.permutation(below), below)
    assert paired.low < 2.0 < paired.high
    assert paired.high - paired.low < (shuffled.high - shuffled.low) / 5


def test_an_interval_of_one_trial_is_refused() -> None:
    with pytest.raises(ShapeError, match="two trials"):
        mean_interval(np.array([1.0]))


def test_recovery_is_the_moment_most_of_the_way_is_made() -> None:
    ramp = np.concatenate([np.zeros(100), np.ones(50), np.linspace(1, 0, 101), np.zeros(100)])
    assert rounds_to_recover(ramp, shift=100, start=50, end=50, smooth=1) == 50 + 70
    assert abs(rounds_to_recover(ramp, shift=100, start=50, end=50, smooth=20) - 120) <= 1
    with pytest.raises(SettingError, match="too few"):
        rounds_to_recover(ramp, shift=300, start=50, end=50)


def test_the_way_back_leads_from_the_first_rounds_to_the_last() -> None:
    ramp = np.linspace(1, 0, 101)
    high, low = ramp[:5].mean(), ramp[-50:].mean()
    expected = np.flatnonzero(ramp <= high - 0.7 * (high - low))[0]
    assert rounds_to_recover(ramp, shift=0, start=5, end=50, smooth=1) == expected == 54


@pytest.mark.parametrize("rounds", [4, 5])
def test_smoothing_spreads_a_round_over_as_many_as_it_is_told(rounds: int) -> None:
    once = running_mean(np.eye(20)[10], rounds)
    assert once[once > 0].tolist() == pytest.approx([1 / rounds] * rounds)


def test_smoothing_averages_neighbours_and_keeps_the_length() -> None:
    values = np.arange(10.0)
    assert running_mean(values, 1).tolist() == values.tolist()
    assert running_mean(values, 5)[5] == pytest.approx(5.0)
    assert len(running_mean(values, 5)) == 10
