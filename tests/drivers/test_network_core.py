"""Rows learnt batch after batch against the compiled driver, and a learner that stops and goes on."""

import jax
import numpy as np
import pytest

from presage import Episode, Forecaster
from presage.drivers.batched.network_core import NetworkLearning, memo_shape
from presage.drivers.core import digest
from presage.drivers.lessons import Lessons
from presage.drivers.xla.episodes import scan_episode
from presage.forecasters.contract import State
from presage.spaces import EMPTY, Array, Instance
from tests.problems import FORECASTERS, KINDS, MIXED, PLAIN, TABLES, episode


class Played:
    """An episode whose rounds are predicted from a batch learner's state and learnt as batches."""

    def __init__(self, forecaster: Forecaster, dealt: Episode) -> None:
        self.forecaster, self.episode = forecaster, dealt
        x, _, _ = dealt.encode(forecaster.spaces)
        self.x = Instance(x.symbols, x.dense)
        self.memos = np.zeros((dealt.rounds, memo_shape(forecaster).width), np.float32)
        self.said: list[Array] = []

    def rounds(self, learner: NetworkLearning, first: int, last: int) -> None:
        for now in range(first, last):
            forecast = self.forecaster.predict(learner.state, Instance(self.x.symbols[now], self.x.dense[now]))
            self.said.append(np.asarray(forecast.log_probabilities))
            self.memos[now] = memo_shape(self.forecaster).flatten(forecast.memo)
            proxies, outcomes = (np.flatnonzero(self.seen(kind) == now) for kind in (0, 1))
            learner.learn(self.lessons(proxies, 0, now), self.lessons(outcomes, 1, now), now + 1)

    def seen(self, kind: int) -> Array:
        return np.asarray((self.episode.proxy_seen, self.episode.outcome_seen)[kind])

    def lessons(self, rows: Array, kind: int, now: int) -> Lessons:
        first, second = self.seen(0)[rows], self.seen(1)[rows]
        z, y = self.episode.z[rows].astype(np.int32), self.episode.y[rows].astype(np.int32)
        if kind == 0:
            y = np.where((second >= 0) & (second < now), y, EMPTY)
        else:
            z = np.where((first >= 0) & (first <= now), z, EMPTY)
        x = Instance(self.x.symbols[rows], self.x.dense[rows])
        return Lessons(x, z.astype(np.int32), y.astype(np.int32), self.memos[rows], rows)


def leaves(state: State) -> list[Array]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(state)]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORECASTERS)
def test_batches_of_a_round_each_give_the_numbers_of_compiled(name: str, kind: str) -> None:
    forecaster, dealt = FORECASTERS[name](PLAIN), episode(kind)
    learner, played = NetworkLearning(forecaster, 5), Played(forecaster, dealt)
    played.rounds(learner, 0, dealt.rounds)
    compiled = scan_episode(forecaster, dealt, 5)
    assert np.abs(np.stack(played.said) - np.asarray(compiled.log_probabilities)).max() < 1e-5
    if name in TABLES:
        assert all(np.array_equal(*both) for both in zip(leaves(learner.state), leaves(compiled.state), strict=True))


@pytest.mark.parametrize("name", ["residual-table", "residual-network", "mixture", "mixture-networks"])
def test_a_learner_that_stops_and_goes_on_is_one_that_never_stopped(name: str) -> None:
    forecaster, dealt = FORECASTERS[name](MIXED), episode("varying", MIXED, rounds=120)
    steady, played = NetworkLearning(forecaster, 1), Played(forecaster, dealt)
    played.rounds(steady, 0, 120)
    stopped, resumed, again = NetworkLearning(forecaster, 1), NetworkLearning(forecaster, 1), Played(forecaster, dealt)
    again.rounds(stopped, 0, 70)
    resumed.restore(stopped.tensors(), stopped.predictions)
    assert digest(resumed) == digest(stopped)
    again.rounds(resumed, 70, 120)
    assert digest(resumed) == digest(steady) != digest(stopped)


def test_pieces_of_a_large_batch_count_as_the_whole() -> None:
    forecaster, dealt = TABLES["residual-table"](PLAIN), episode("at once", rounds=700)
    learner, played = NetworkLearning(forecaster), Played(forecaster, dealt)
    rows = np.arange(700)
    learner.learn(played.lessons(rows, 0, 10**9), played.lessons(rows[:0], 1, 0), 700)
    counts = leaves(learner.state)[0]
    assert np.array_equal(counts[dealt.x, dealt.z] > 0, np.ones(700, bool))
    assert counts.sum() == 700
