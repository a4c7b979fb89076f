"""A tally against the compiled driver, round by round and in batches."""

import numpy as np
import pytest

from presage import Episode, Forecaster, Spaces, direct_network
from presage.drivers.core import core_for
from presage.drivers.counting.table_core import LearntCounts, TableFunctions
from presage.drivers.lessons import Lessons
from presage.drivers.xla.episodes import scan_episode
from presage.errors import SettingError
from presage.forecasters.catalogue import table_mixture
from presage.spaces import EMPTY, Array, Instance
from tests.drivers.test_counting import backing_off
from tests.problems import FORECASTERS, KINDS, MIXED, PLAIN, TABLES, episode


class Tallied:
    """An episode predicted and learnt by a tally, a batch a round."""

    def __init__(self, forecaster: Forecaster, dealt: Episode) -> None:
        self.tally, self.episode = TableFunctions(forecaster), dealt
        self.learnt = self.tally.start()
        self.x, _, _ = dealt.encode(forecaster.spaces)
        self.said = np.zeros((dealt.rounds, forecaster.spaces.outcomes), np.float32)
        self.memo = np.zeros((dealt.rounds, self.tally.memo_width), np.float32)
        for now in range(dealt.rounds):
            said = self.tally.predict(self.learnt, self.rows(np.array([now])))
            self.said[now], self.memo[now] = said.log_probabilities[0], said.memo[0]
            self.tally.learn(self.learnt, *(self.lessons(kind, now) for kind in (0, 1)))

    def rows(self, rows: Array) -> Instance:
        return Instance(self.x.symbols[rows], self.x.dense[rows])

    def lessons(self, kind: int, now: int) -> Lessons:
        seen = [np.asarray(self.episode.proxy_seen), np.asarray(self.episode.outcome_seen)]
        rows = np.flatnonzero(seen[kind] == now)
        z, y = self.episode.z[rows], self.episode.y[rows]
        if kind == 0:
            y = np.where((seen[1][rows] >= 0) & (seen[1][rows] < now), y, EMPTY)
        else:
            z = np.where((seen[0][rows] >= 0) & (seen[0][rows] <= now), z, EMPTY)
        return Lessons(self.rows(rows), z.astype(np.int32), y.astype(np.int32), self.memo[rows], rows)


def gap(forecaster: Forecaster, dealt: Episode) -> float:
    compiled = np.asarray(scan_episode(forecaster, dealt, 0).log_probabilities)
    return float(np.abs(Tallied(forecaster, dealt).said - compiled).max())


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*TABLES, "mixture", "mixture-outcomes"])
def test_a_tally_gives_the_numbers_of_compiled(name: str, kind: str) -> None:
    assert gap(FORECASTERS[name](PLAIN), episode(kind)) < 2e-6


@pytest.mark.long
@pytest.mark.parametrize("make", [backing_off, FORECASTERS["residual-table"]])
def test_so_it_does_for_tables_that_back_off_through_features(make: object) -> None:
    assert callable(make)
    assert gap(make(MIXED), episode("varying", MIXED)) < 2e-6


@pytest.mark.parametrize("name", ["direct-table", "factored-table", "residual-table", "mixture"])
def test_a_tally_now_casts_as_its_forecaster_does(name: str) -> None:
    forecaster, dealt = FORECASTERS[name](PLAIN), episode("varying", rounds=120)
    tallied, state = Tallied(forecaster, dealt), scan_episode(forecaster, dealt, 0).state
    for row in range(20):
        z = np.array([row % PLAIN.proxies])
        told = tallied.tally.nowcast(tallied.learnt, tallied.rows(np.array([row])), z)[0]
        x = Instance(tallied.x.symbols[row], tallied.x.dense[row])
        # The last round's feedback is learnt by both.
        assert np.abs(told - np.asarray(forecaster.nowcast(state, x, z[0]))).max() < 1e-6


def test_counts_do_not_depend_on_the_order_within_a_batch() -> None:
    tallied = Tallied(TABLES["residual-table"](PLAIN), episode("bursts", rounds=150))
    batch = [tallied.lessons(kind, 100) for kind in (0, 1)]
    found = []
    for order in (1, -1):
        learnt = tallied.tally.start()
        tallied.tally.learn(learnt, *(_turned(each, order) for each in batch))
        found.append(learnt.counts)
    assert found[0].sum() > 0
    assert np.array_equal(*found)


def _turned(lessons: Lessons, order: int) -> Lessons:
    x = Instance(*(part[::order].copy() for part in lessons.x))
    return Lessons(x, *(part[::order].copy() for part in lessons[1:]))


def test_counts_of_twice_the_shape_are_not_shared() -> None:
    tally = TableFunctions(TABLES["direct-table"](Spaces(3, 2, 2)))
    one, two = tally.start(), tally.start()
    assert isinstance(one, LearntCounts)
    one.counts[:] = 1
    assert two.counts.sum() == 0


def test_weights_are_summed_by_name_or_by_family() -> None:
    core = core_for(table_mixture(MIXED, ((1,),)))
    parameters = core.learner().parameters()
    by_family = core.weights(parameters, by="family")
    assert by_family == pytest.approx({"direct": 2 / 8, "factored": 2 / 8, "residual": 4 / 8})
    assert core.weights(parameters) == pytest.approx({f"{name}-table": part for name, part in by_family.items()})


def test_networks_are_refused() -> None:
    with pytest.raises(SettingError, match="only tables"):
        TableFunctions(direct_network(PLAIN))
