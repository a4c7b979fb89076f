"""Tables against plain Python loops of the paper's algorithms, and against closed forms."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from math import lgamma, log

import numpy as np
import pytest

from presage import (
    Delays,
    Episode,
    Features,
    Forecaster,
    Instance,
    Spaces,
    direct_table,
    factored_table,
    play,
    residual_table,
)
from presage.drivers.xla.episodes import scan_episode
from presage.errors import SettingError, SpaceError
from presage.forecasters.table_keys import table_key
from presage.spaces import Array
from tests.problems import PLAIN, episode


def algorithm_1(dealt: Episode, delays: Delays, spaces: Spaces, alpha: float) -> list[float]:
    """The factored forecaster for delayed outcomes, as printed in the paper."""
    x, z, y = dealt.x, dealt.z, dealt.y
    h: Counter[tuple[int, int]] = Counter()
    g: Counter[tuple[int, int]] = Counter()
    losses = []

    def base(counts: Counter[tuple[int, int]], given: int, symbol: int, size: int) -> float:
        seen = sum(counts[given, other] for other in range(size))
        return (counts[given, symbol] + alpha) / (seen + alpha * size)

    for t in range(len(x)):
        p = sum(
            base(g, proxy, y[t], spaces.outcomes) * base(h, x[t], proxy, spaces.proxies)
            for proxy in range(spaces.proxies)
        )
        losses.append(-log(p))
        if t - delays.proxy >= 0:
            h[x[t - delays.proxy], z[t - delays.proxy]] += 1
        if t - delays.outcome >= 0:
            g[z[t - delays.outcome], y[t - delays.outcome]] += 1
    return losses


def algorithm_2(x: Array, y: Array, delay: int, spaces: Spaces, alpha: float) -> list[float]:
    """The direct forecaster for delayed outcomes, as printed in the paper."""
    seen: Counter[tuple[int, int]] = Counter()
    losses = []
    for t in range(len(x)):
        total = sum(seen[x[t], other] for other in range(spaces.outcomes))
        losses.append(-log((seen[x[t], y[t]] + alpha) / (total + alpha * spaces.outcomes)))
        if t - delay >= 0:
            seen[x[t - delay], y[t - delay]] += 1
    return losses


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.03])
@pytest.mark.parametrize("delays", [Delays(0, 0), Delays(0, 30), Delays(7, 30)])
def test_tables_are_the_algorithms_of_the_paper(delays: Delays, alpha: float) -> None:
    spaces, draw = Spaces(6, 4, 3), np.random.default_rng(1)
    x, z, y = (draw.integers(0, size, 300) for size in (6, 4, 3))
    dealt = Episode.fixed(x, z, y, delays)
    direct, factored = play(direct_table(spaces, alpha), dealt, 0), play(factored_table(spaces, alpha), dealt, 0)
    assert np.abs(direct - algorithm_2(x, y, delays.outcome, spaces, alpha)).max() < 1e-6
    assert np.abs(factored - algorithm_1(dealt, delays, spaces, alpha)).max() < 1e-6


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_the_direct_table_without_delay_has_the_loss_of_the_dirichlet_integral(alpha: float) -> None:
    # Without delay the product of predictions telescopes to a ratio of gamma functions, for each instance.
    dealt = episode("at once")
    closed = 0.0
    for item in range(7):
        counts = np.bincount(dealt.y[dealt.x == item], minlength=2)
        closed += lgamma(counts.sum() + 2 * alpha) - lgamma(2 * alpha)
        closed -= sum(lgamma(count + alpha) - lgamma(alpha) for count in counts)
    assert play(direct_table(PLAIN, alpha), dealt, 0).sum() == pytest.approx(closed, rel=1e-5)


def test_before_any_feedback_every_table_is_uniform() -> None:
    for table in (direct_table, factored_table, residual_table):
        assert np.allclose(play(table(PLAIN), episode("never"), 0), np.log(2), atol=1e-6)


def test_shrinkage_mixes_in_the_running_marginal() -> None:
    dealt = Episode.fixed([0, 0, 1, 2], [0] * 4, [1, 1, 0, 1], Delays(0, 0))
    losses = play(direct_table(Spaces(3, 1, 2), shrinkage=4.0), dealt, 0)
    whole = (2 + 1) / (3 + 2)  # the marginal of outcome 1 before round 3
    assert losses[3] == pytest.approx(-log(whole), abs=1e-6)  # instance 2 is new
    marginal = (1 + 1) / (1 + 2)
    assert losses[1] == pytest.approx(-log((1 + 4 * marginal) / (1 + 4)), abs=1e-6)


@pytest.mark.parametrize("make", [direct_table, partial(residual_table, kappa=2.0)])
def test_an_instance_backs_off_through_its_group_to_the_whole(make: Callable[..., Forecaster]) -> None:
    """With one proxy the residual table is its g alone."""
    spaces = Spaces(Features(symbols=(4, 2)), 1, 2)
    x = Instance(np.array([[0, 0], [1, 1], [2, 0]], np.int32), np.zeros((3, 0), np.float32))
    dealt = Episode.fixed(x, np.zeros(3, int), np.array([1, 0, 1]), Delays(0, 0))
    losses = play(make(spaces, shrinkage=2.0, groups=((1,),)), dealt, 0)
    whole = (1 + 1) / (2 + 2)
    group = (1 + 2 * whole) / (1 + 2)  # group 0 saw outcome 1 once
    assert losses[2] == pytest.approx(-log(group), abs=1e-6)  # instance 2 itself saw nothing


def test_the_residual_table_is_factored_for_new_instances_and_direct_in_the_end() -> None:
    draw = np.random.default_rng(2)
    spaces, rounds = Spaces(2, 2, 2), 4000
    x, z = draw.integers(0, 2, rounds), draw.integers(0, 2, rounds)
    y = np.where(draw.random(rounds) < 0.9, x, 1 - x)  # the proxy says nothing, the instance all
    dealt = Episode.fixed(x, z, y, Delays(0, 0))
    late = {
        make: play(make(spaces), dealt, 0)[-1000:].mean() for make in (direct_table, factored_table, residual_table)
    }
    assert late[residual_table] == pytest.approx(late[direct_table], abs=0.01)
    assert late[factored_table] > late[direct_table] + 0.2
    new = Episode.fixed(np.r_[np.zeros(50, int), 1], z[:51], y[:51], Delays(0, 0))
    assert play(residual_table(spaces), new, 0)[50] == pytest.approx(play(factored_table(spaces), new, 0)[50], abs=1e-6)


def test_a_pair_is_counted_once_whichever_half_comes_first() -> None:
    dealt = episode("varying")
    there = dealt.proxy_seen >= 0, dealt.outcome_seen >= 0
    known = [
        (seen < dealt.rounds) & mask for seen, mask in zip((dealt.proxy_seen, dealt.outcome_seen), there, strict=True)
    ]
    expected = np.zeros((3, 2), int)
    np.add.at(expected, (dealt.z[known[0] & known[1]], dealt.y[known[0] & known[1]]), 1)
    assert (dealt.proxy_seen > dealt.outcome_seen)[known[0] & known[1]].any()
    state = scan_episode(factored_table(PLAIN), dealt, 0).state
    assert np.array_equal(state.outcomes[0][0], expected)
    assert state.proxies[0].sum() == known[0].sum()


def test_hashed_tables_keep_to_their_buckets() -> None:
    spaces = Spaces(2_000_000_000, 3, 2)
    forecaster = residual_table(spaces, buckets=1000)
    draw = np.random.default_rng(0)
    x = draw.integers(0, 2_000_000_000, 300)
    dealt = Episode.fixed(x, draw.integers(0, 3, 300), draw.integers(0, 2, 300), Delays(0, 5))
    state = scan_episode(forecaster, dealt, 0).state
    assert state.proxies[0].shape == (1000, 3)
    assert state.proxies[0].sum() == 300
    assert (state.proxies[0].sum(-1) > 0).sum() > 240  # 300 balls in 1,000 bins leave about 259 filled


def test_a_hash_of_several_columns_depends_on_each_and_on_their_order() -> None:
    key = table_key(Features(symbols=(50, 50, 50)), (0, 1, 2), buckets=1000)
    combinations = np.indices((50, 50, 50)).reshape(3, -1).T.astype(np.int32)
    rows = key.row(combinations)
    assert (np.bincount(rows, minlength=1000) > 60).all()  # 125 in each on average, with a deviation of 11
    for column in range(3):
        moved = combinations.copy()
        moved[:, column] = (moved[:, column] + 1) % 50
        assert (key.row(moved) == rows).mean() < 0.01, column
    uneven = combinations[(combinations[:, 0] != combinations[:, 1]) | (combinations[:, 1] != combinations[:, 2])]
    assert (key.row(uneven) == key.row(np.roll(uneven, 1, axis=1))).mean() < 0.01


@pytest.mark.parametrize("alpha", [0, -1.0, float("nan"), float("inf"), "1"])
def test_a_pseudo_count_that_is_not_positive_is_refused(alpha: float) -> None:
    for table in (direct_table, factored_table, residual_table):
        with pytest.raises(SettingError, match="alpha"):
            table(PLAIN, alpha)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingError, match="kappa"):
        residual_table(PLAIN, kappa=0.0)
    with pytest.raises(SettingError, match="shrinkage"):
        direct_table(PLAIN, groups=((0,),))
    with pytest.raises(SettingError, match="columns"):
        direct_table(PLAIN, shrinkage=1.0, groups=((3,),))
    with pytest.raises(SettingError, match="coarse to fine"):
        direct_table(Spaces(Features(symbols=(4, 2, 2)), 1, 2), shrinkage=1.0, groups=((1, 2), (1,)))
    with pytest.raises(SettingError, match="buckets"):
        direct_table(PLAIN, buckets=0)
    with pytest.raises(SpaceError, match="symbols"):
        direct_table(Spaces(Features(dense=3), 1, 2))
