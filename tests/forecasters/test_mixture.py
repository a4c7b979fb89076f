"""The mixture against its formulas, and the regret table that chose its default."""

from typing import Any

import numpy as np
import pytest

from presage import (
    Delays,
    Episode,
    Forecaster,
    Replay,
    Spaces,
    direct_network,
    direct_table,
    factored_table,
    mixture,
    play,
    play_trials,
    residual_network,
    residual_table,
)
from presage.drivers.xla.episodes import scan_episode
from presage.errors import SettingError
from presage.forecasters.expert_weights import EarlyWeights
from presage.worlds.factored import FactoredWorld
from tests.problems import PLAIN, episode, play_live

SINGLES = (direct_table, factored_table, residual_table)


def test_early_weights_follow_their_formulas() -> None:
    """A plain loop over counts, kept apart from the code of tables and mixture."""
    dealt, gamma = episode("fixed", rounds=120), 0.99
    n_xz, n_xzy = np.zeros((7, 3)), np.zeros((7, 3, 2))
    score, lean, mass, matured = np.zeros(3), np.zeros(3), 0.0, 0.0
    said, losses = [], []

    def now_cast(row: int) -> np.ndarray:
        shared = n_xzy.sum(0)[dealt.z[row]] + 1
        own = n_xzy[dealt.x[row], dealt.z[row]]
        return np.asarray((own + 5 * shared / shared.sum()) / (own.sum() + 5))

    def predicted(x: int) -> np.ndarray:  # [K, Y], from what is counted by now
        own, shared, h = n_xzy[x], n_xzy.sum(0) + 1, n_xz[x] + 1
        g = shared / shared.sum(1, keepdims=True)
        direct = own.sum(0) + 1
        residual = (own + 5 * g) / (own.sum(1, keepdims=True) + 5)
        return np.stack([direct / direct.sum(), h / h.sum() @ g, h / h.sum() @ residual])

    for t in range(dealt.rounds):
        total = score + (mass * lean / matured if matured else 0)
        weights = np.exp(total.min() - total)
        weights = 0.97 * weights / weights.sum() + 0.01
        said.append(predicted(dealt.x[t]))
        losses.append(-np.log(weights @ said[t][:, dealt.y[t]]))
        if (row := t - 3) >= 0:
            score = gamma * score - np.log(predicted(dealt.x[row])) @ now_cast(row)
            mass = gamma * mass + 1
            n_xz[dealt.x[row], dealt.z[row]] += 1
        if (row := t - 40) >= 0:
            expected = -np.log(said[row]) @ now_cast(row)
            lean = gamma * lean - np.log(said[row][:, dealt.y[row]]) - expected
            matured = gamma * matured + 1
            n_xzy[dealt.x[row], dealt.z[row], dealt.y[row]] += 1
    assert np.abs(play(mixture(PLAIN), dealt, 0) - losses).max() < 2e-6


def test_outcome_weights_are_the_posterior_of_a_bayesian() -> None:
    dealt = episode("fixed", rounds=120)
    each = np.stack([np.exp(play_live(make(PLAIN), dealt, 0)[0]) for make in SINGLES], axis=1)
    posterior, losses = np.ones(3) / 3, []
    for t in range(dealt.rounds):
        losses.append(-np.log((0.97 * posterior + 0.01) @ each[t, :, dealt.y[t]]))
        if (row := t - 40) >= 0:
            posterior = posterior * each[row, :, dealt.y[row]]
            posterior /= posterior.sum()
    assert np.abs(play(mixture(PLAIN, weighting="outcomes"), dealt, 0) - losses).max() < 2e-6


ROWS = {  # mix, useful, bypass, rounds, trials; regret of direct, factored, residual from an independent computation
    "adversarial, 100 % useful": (0.0, 1.0, 0.0, 1000, 200, (1043.2, 247.0, 247.0)),
    "adversarial, 75 %": (0.0, 0.75, 0.0, 1000, 200, (1043.2, 475.0, 475.0)),
    "adversarial, 0 %": (0.0, 0.0, 0.0, 1000, 200, (1043.2, 866.0, 866.0)),
    "uniform, 100 %": (1.0, 1.0, 0.0, 1000, 200, (179.2, 151.3, 150.9)),
    "uniform, 75 %": (1.0, 0.75, 0.0, 1000, 200, (179.2, 276.8, 177.4)),
    "uniform, 0 %": (1.0, 0.0, 0.0, 1000, 200, (179.2, 605.0, 229.0)),
    "uniform, half of y straight from x": (1.0, 1.0, 0.5, 5000, 60, (172.1, 1316.0, 171.0)),
}


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS)
def test_the_default_mixture_is_near_the_best_single_forecaster(row: str) -> None:
    mix, useful, bypass, rounds, trials, independent = ROWS[row]
    world = FactoredWorld(bypass=bypass)
    dealt = world.deal(trials, rounds, Delays(proxy=0, outcome=100), mix, seed=1).obscured(useful, seed=2)

    def regret(forecaster: Forecaster) -> np.ndarray:
        return np.asarray((play_trials(forecaster, dealt.episode, 0) - dealt.true_loss).sum(axis=1))

    singles = [regret(make(world.spaces)) for make in SINGLES]
    for measured, expected in zip(singles, independent, strict=True):
        assert abs(measured.mean() - expected) < 4 * measured.std() / np.sqrt(trials)
    best = min(single.mean() for single in singles)
    assert regret(mixture(world.spaces)).mean() < 1.15 * best
    assert regret(mixture(world.spaces, weighting="outcomes")).mean() < 1.10 * best


def test_the_last_residual_expert_now_casts() -> None:
    experts = [residual_table(PLAIN, kappa=1.0), residual_table(PLAIN, kappa=50.0), direct_table(PLAIN)]
    forecaster = mixture(PLAIN, experts)
    state, x = scan_episode(forecaster, episode("fixed"), 0).state, PLAIN.encode(3)
    told = forecaster.nowcast(state, x, 1)
    first, last = (experts[k].nowcast(state.experts[k], x, 1) for k in (0, 1))
    assert np.array_equal(told, last)
    assert np.abs(np.exp(last) - np.exp(first)).max() > 0.01


def test_outcomes_without_proxies_still_move_early_weights() -> None:
    # Proxies never come: the factored expert stays ignorant, the direct one learns, and the weights must notice.
    never, at_once = np.full(400, -1), np.arange(400)
    dealt = Episode.varying(np.zeros(400, int), never, np.ones(400, int), never, at_once)
    assert play(mixture(PLAIN), dealt, 0)[-1] < 0.05


def test_experts_that_do_not_belong_together_are_refused() -> None:
    other = Spaces(8, 3, 2)
    networks = [direct_network(PLAIN), residual_network(PLAIN, replay=Replay(every=7))]
    for experts, wrong in (([], "experts"), ([direct_table(other)], "share"), (networks, "replay settings")):
        with pytest.raises(SettingError, match=wrong):
            mixture(PLAIN, experts)
    with pytest.raises(SettingError, match="residual"):
        mixture(PLAIN, [direct_table(PLAIN), factored_table(PLAIN)])
    mixture(PLAIN, [direct_table(PLAIN), factored_table(PLAIN)], weighting="outcomes")


def test_settings_of_the_weights_are_checked() -> None:
    with pytest.raises(SettingError, match="share"):
        mixture(PLAIN, share=0.4)
    late: Any = "late"
    with pytest.raises(SettingError, match="early, outcomes"):
        mixture(PLAIN, weighting=late)
    with pytest.raises(SettingError):
        EarlyWeights(rows=1.0)
    assert mixture(PLAIN, weighting=EarlyWeights(rows=50.0)) != mixture(PLAIN)
