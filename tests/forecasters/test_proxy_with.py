"""Features that belong to the proxy: against plain loops, on every road, with tables and with networks."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import log

import jax
import numpy as np
import pytest

from presage import (
    Delays,
    Episode,
    Features,
    Forecaster,
    Instance,
    Learner,
    Spaces,
    direct_table,
    factored_network,
    factored_table,
    mixture,
    play,
    residual_network,
    residual_table,
)
from presage.drivers.counting.episodes import count_experts, count_tables
from presage.drivers.xla.episodes import scan_episode, scan_experts, scan_trials
from presage.errors import SpaceError, StateFileError
from presage.forecasters.back_off import TableParts
from presage.forecasters.checks import check_forecaster
from presage.forecasters.factored_network import SharedLogits
from presage.forecasters.state_files import describe, pack_state, unpack_state
from presage.metrics.losses import log_loss
from presage.spaces import EMPTY
from tests.drivers.reference_learner import ReferenceLearner
from tests.problems import MIXED, QUICK, episode, play_live

TOLD = replace(MIXED, proxy_with=(1, 2))
SMALL = Spaces(Features(symbols=(6, 3, 2)), 3, 2, proxy_with=(1,))
SHRUNK = partial(residual_table, shrinkage=4.0, kappa=2.0, groups=((2,), (1, 2)))

Key = tuple[int, ...]


class Level:
    """The counts of one level of a chain, as plain as can be."""

    def __init__(self, size: int) -> None:
        self.size, self.counts = size, Counter[Key]()

    def total(self, key: Key) -> int:
        return sum(self.counts[*key, other] for other in range(self.size))

    def shrunk(self, key: Key, symbol: int, to: float, strength: float) -> float:
        return (self.counts[*key, symbol] + strength * to) / (self.total(key) + strength)


def plain_losses(dealt: Episode, keys: Callable[[Key], list[Key]], h_keys: Callable[[Key], list[Key]],
                 strengths: tuple[list[float], list[float]]) -> list[float]:  # fmt: skip
    """The losses of sum_z g(y|z, keys(x)) h(z|h_keys(x)), event by event: each level shrinks to the one before."""
    x = dealt.x.symbols if isinstance(dealt.x, Instance) else dealt.x[:, None]
    g = [Level(SMALL.outcomes) for _ in strengths[0]]
    h = [Level(SMALL.proxies) for _ in strengths[1]]

    def read(levels: list[Level], rows: list[Key], how: list[float], symbol: int) -> float:
        said = 1 / levels[0].size
        for level, row, strength in zip(levels, rows, how, strict=True):
            said = level.shrunk(row, symbol, said, strength)
        return said

    losses = []
    for t in range(dealt.rounds):
        own = tuple(x[t].tolist())
        p = 0.0
        for z in range(SMALL.proxies):
            rows = [(*key, z) for key in keys(own)]
            p += read(g, rows, strengths[0], int(dealt.y[t])) * read(h, h_keys(own), strengths[1], z)
        losses.append(-log(p))
        for row in range(t + 1):
            told, symbols = tuple(x[row].tolist()), (int(dealt.z[row]), int(dealt.y[row]))
            if dealt.proxy_seen[row] == t:
                for level, key in zip(h, h_keys(told), strict=True):
                    level.counts[*key, symbols[0]] += 1
            both = int(dealt.proxy_seen[row]), int(dealt.outcome_seen[row])
            if min(both) >= 0 and max(both) == t:  # -1 is never
                for level, key in zip(g, keys(told), strict=True):
                    level.counts[*key, *symbols] += 1
    return losses


def alone(x: Key) -> list[Key]:
    return [(x[0],)]


@pytest.mark.parametrize("kind", ["fixed", "varying"])
def test_tables_are_plain_loops_over_proxy_and_feature(kind: str) -> None:
    dealt = episode(kind, SMALL, rounds=120)
    # Without shrinkage each combination is a symbol of its own; Laplace is a strength of 1 for each outcome.
    wanted = plain_losses(dealt, lambda x: [(x[1],)], alone, ([2.0], [3.0]))
    assert np.abs(play(factored_table(SMALL), dealt, 0) - wanted).max() < 1e-6
    # With it, a combination is like the proxy alone.
    whole_and_own = lambda x: [(), (x[0],)]  # noqa: E731
    wanted = plain_losses(dealt, lambda x: [(), (x[1],)], whole_and_own, ([2.0, 4.0], [3.0, 4.0]))
    assert np.abs(play(factored_table(SMALL, shrinkage=4.0), dealt, 0) - wanted).max() < 1e-6
    # The residual bends that towards the instance, each with its value of the feature; the group lies between.
    wanted = plain_losses(
        dealt,
        lambda x: [(), (x[1],), (x[1], x[2]), (x[0], x[1])],
        lambda x: [(), (x[2],), (x[0],)],
        ([2.0] * 4, [3.0, 4.0, 4.0]),
    )
    assert np.abs(play(residual_table(SMALL, shrinkage=4.0, kappa=2.0, groups=((2,),)), dealt, 0) - wanted).max() < 1e-6


@pytest.mark.parametrize(("own", "levels"), [
    ((), [(), (1,), (1, 2), (0,)]),
    ((1,), [(), (1,), (1, 2), (0, 1)]),
    ((2,), [(), (2,), (1, 2), (0, 2)]),
    ((1, 2), [(), (1,), (1, 2), (0, 1, 2)]),
    ((1, 3), [(), (1,), (1, 3), (1, 2, 3), (0, 1, 3)]),
])  # fmt: skip
def test_what_belongs_to_the_proxy_stays_from_its_level_on(own: Key, levels: list[Key]) -> None:
    spaces = Spaces(Features(symbols=(6, 3, 2, 2)), 3, 2, proxy_with=own)
    structure = residual_table(spaces, shrinkage=4.0, groups=((1,), (1, 2))).structure
    assert isinstance(structure, TableParts)
    assert [key.columns for key in structure.g.keys] == levels


def pool(spaces: Spaces) -> Forecaster:
    tables = [make(spaces, shrinkage=3.0, groups=((2,),)) for make in (direct_table, factored_table, residual_table)]
    return mixture(spaces, [*tables, factored_table(spaces), residual_table(spaces)])


@pytest.mark.long
@pytest.mark.parametrize("kind", ["fixed", "varying", "bursts"])
@pytest.mark.parametrize("make", [factored_table, SHRUNK, pool])
def test_drivers_agree(make: Callable[[Spaces], Forecaster], kind: str) -> None:
    forecaster, dealt = make(TOLD), Episode.stack([episode(kind, TOLD, seed=seed) for seed in range(2)])
    counted, compiled = count_experts(forecaster, dealt), scan_experts(forecaster, dealt, 0)
    assert np.abs(counted.own - compiled.own).max() < 2e-6
    own = dealt.trial(0)
    for learner in (Learner, ReferenceLearner):
        said, state = play_live(forecaster, own, 0, learner)
        assert np.abs(log_loss(said, own.y) - counted.own[0]).max() < 2e-6
    last = scan_episode(forecaster, own, 0).state
    counts = [leaf for leaf in jax.tree.leaves(state) if np.asarray(leaf).dtype == np.int32]
    theirs = [leaf for leaf in jax.tree.leaves(last) if np.asarray(leaf).dtype == np.int32]
    assert len(counts) >= 2
    assert all(np.array_equal(a, b) for a, b in zip(counts, theirs, strict=True))


@pytest.mark.parametrize("make", [factored_table, SHRUNK])
def test_nowcasts_read_the_feature(make: Callable[[Spaces], Forecaster]) -> None:
    forecaster, dealt = make(TOLD), Episode.stack([episode("at once", TOLD)])
    compiled = scan_trials(forecaster, dealt, 0, nowcasts=True).nowcasts
    assert np.abs(np.log(count_tables([forecaster], dealt, judge=0).told[:, 0]) - compiled).max() < 1e-6


def crossed(rounds: int = 3000) -> Episode:
    """A world in which a proxy means the opposite for every other row, and a feature says for which: 0.602 at best."""
    draw = np.random.default_rng(0)
    item, kind = draw.integers(0, 6, rounds), draw.integers(0, 2, rounds)
    z = (draw.random(rounds) < np.array([0.1, 0.3, 0.5, 0.5, 0.7, 0.9])[item]).astype(np.int32)
    y = np.where(draw.random(rounds) < 0.1, 1 - (z ^ kind), z ^ kind)
    x = Instance(np.stack([item, kind], axis=-1).astype(np.int32), np.zeros((rounds, 0), np.float32))
    return Episode.fixed(x, z, y, Delays(1, 20))


def test_a_proxy_that_means_two_things_needs_the_feature() -> None:
    dealt, plain = crossed(), Spaces(Features(symbols=(6, 2)), 2, 2)
    told = replace(plain, proxy_with=(1,))
    for make in (factored_table, partial(factored_table, shrinkage=10.0)):
        without, with_it = (play(make(spaces), dealt, 0)[1500:].mean() for spaces in (plain, told))
        assert without > 0.69
        assert with_it < 0.62


@pytest.mark.long
@pytest.mark.parametrize("make", [factored_network, residual_network])
def test_networks_learn_the_feature(make: Callable[..., Forecaster]) -> None:
    dealt, plain = crossed(), Spaces(Features(symbols=(6, 2)), 2, 2)
    told = replace(plain, proxy_with=(1,))
    make = partial(make, replay=replace(QUICK, proxy_window=1000, outcome_window=1000), hidden=(8, 6), l2=0.0)
    without, with_it = (play(make(spaces), dealt, 0)[1500:].mean() for spaces in (plain, told))
    assert with_it < 0.62
    if make.func is factored_network:
        assert without > 0.66
    short = episode("varying", TOLD)
    scanned = log_loss(scan_episode(make(TOLD), short, 0).log_probabilities, short.y)
    assert np.abs(scanned - play(make(TOLD), short, 0)).max() < 1e-5
    live = log_loss(play_live(make(TOLD), short, 0)[0], short.y)
    assert np.abs(scanned - live).max() < 1e-5


@pytest.mark.long
@pytest.mark.parametrize("make", [factored_network, residual_network])
def test_a_feature_of_one_value_changes_nothing(make: Callable[..., Forecaster]) -> None:
    plain = Spaces(Features(symbols=(6, 1)), 3, 2)
    dealt, make = episode("varying", plain), partial(make, replay=QUICK, hidden=(8, 6))
    ours, theirs = (play(make(spaces), dealt, 0) for spaces in (replace(plain, proxy_with=(1,)), plain))
    assert np.abs(ours - theirs).max() < 1e-6


def test_logits_of_a_value_never_seen_are_the_mean() -> None:
    shared = SharedLogits(SMALL)
    table = np.arange(18, dtype=np.float32).reshape(9, 2)
    x = Instance(np.array([0, 2, 1], np.int32), np.zeros(0, np.float32))
    assert np.array_equal(shared.read(table, x), table[6:9])
    unseen = x._replace(symbols=np.array([0, EMPTY, 1], np.int32))
    assert np.array_equal(shared.read(table, unseen), table[3:6])  # the mean of three equally distant ones
    rows = Instance(np.array([[0, 2, 1], [0, EMPTY, 1]], np.int32), np.zeros((2, 0), np.float32))
    places, weight = shared.places(rows, np.array([1, 1]), np.array([1, 1]))
    assert (places[0], weight.tolist()) == (7, [1, 0])


@pytest.mark.long
@pytest.mark.parametrize("make", [factored_table, SHRUNK, partial(factored_network, hidden=(6,)),
                                  partial(residual_network, hidden=(6,))])  # fmt: skip
def test_the_contract_holds(make: Callable[[Spaces], Forecaster]) -> None:
    assert check_forecaster(make, SMALL)


def test_a_state_belongs_to_what_the_proxy_is_told_with() -> None:
    plain, told = replace(SMALL, proxy_with=()), SMALL
    kept = pack_state(residual_table(told), residual_table(told).init(jax.random.key(0)))
    with pytest.raises(StateFileError, match="another forecaster"):
        unpack_state(residual_table(plain), kept)
    assert "proxy_with" not in describe(residual_table(plain))["spaces"]  # as in manifests written before
    assert describe(residual_table(told))["spaces"]["proxy_with"] == [1]
    assert residual_table(told) != residual_table(plain)


@pytest.mark.parametrize("wrong", [(0,), (3,), (-1,), (1, 1)])
def test_columns_that_cannot_belong_to_a_proxy_are_refused(wrong: Key) -> None:
    with pytest.raises(SpaceError, match=r"symbol columns after the first: .*name columns 1 to 2, each once"):
        replace(SMALL, proxy_with=wrong)
    with pytest.raises(SpaceError, match="no other column"):
        Spaces(10, 3, 2, proxy_with=(1,))
