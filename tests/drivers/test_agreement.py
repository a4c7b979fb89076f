"""Live against compiled, trials against single episodes: the same numbers on every road."""

import jax
import numpy as np
import pytest

from presage import Episode, Learner, play
from presage.drivers.xla.episodes import scan_episode, scan_trials, trial_key
from presage.metrics.losses import log_loss
from presage.spaces import Array
from tests.drivers.reference_learner import ReferenceLearner
from tests.problems import FORECASTERS, KINDS, MIXED, PLAIN, TABLES, episode, play_live


def leaves(state: object) -> list[Array]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(state)]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORECASTERS)
def test_live_gives_the_numbers_of_compiled(name: str, kind: str) -> None:
    forecaster, dealt = FORECASTERS[name](PLAIN), episode(kind)
    compiled = scan_episode(forecaster, dealt, 5)
    for learner in (ReferenceLearner, Learner):
        said, state = play_live(forecaster, dealt, 5, learner)
        gap = np.abs(log_loss(said, dealt.y) - log_loss(compiled.log_probabilities, dealt.y)).max()
        if name in TABLES:
            assert all(np.array_equal(a, b) for a, b in zip(leaves(state), leaves(compiled.state), strict=True))
            assert gap == 0 if learner is ReferenceLearner else gap < 1e-6
        else:
            assert gap < (1e-5 if "network" in name else 1e-6)


@pytest.mark.long
@pytest.mark.parametrize("name", FORECASTERS)
def test_live_gives_the_numbers_of_compiled_for_mixed_features(name: str) -> None:
    forecaster, dealt = FORECASTERS[name](MIXED), episode("varying", MIXED)
    said, _ = play_live(forecaster, dealt, 5)
    assert np.abs(log_loss(said, dealt.y) - play(forecaster, dealt, 5)).max() < 1e-5


@pytest.mark.long
@pytest.mark.parametrize("kind", ["fixed", "varying", "bursts"])
@pytest.mark.parametrize("name", FORECASTERS)
def test_a_trial_among_others_is_the_trial_alone(name: str, kind: str) -> None:
    forecaster = FORECASTERS[name](PLAIN)
    dealt = Episode.stack([episode(kind, seed=seed) for seed in range(2)])
    together = scan_trials(forecaster, dealt, 5)
    states = leaves(together.state) if name in TABLES else []
    for trial in range(2):
        alone = scan_episode(forecaster, dealt.trial(trial), trial_key(5, trial))
        ours, others = together.log_probabilities[trial], alone.log_probabilities
        gap = np.abs(log_loss(ours, dealt.y[trial]) - log_loss(others, dealt.y[trial])).max()
        assert gap == 0 if name in TABLES else gap < 1e-5
        if name in TABLES:
            assert all(np.array_equal(a[trial], b) for a, b in zip(states, leaves(alone.state), strict=True))


def test_rounds_whose_outcome_nobody_knows_score_nan() -> None:
    dealt = Episode.varying([0, 0, 0], [0, 0, 0], [1, -1, 1], [0, 1, 2], [0, -1, 2])
    losses = play(TABLES["direct-table"](PLAIN), dealt, 0)
    assert np.isnan(losses).tolist() == [False, True, False]
