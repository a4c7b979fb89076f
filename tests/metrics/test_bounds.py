"""The bounds are their formulas, hold on every sequence tried, and are met where they can be."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage import Delays, Episode, Spaces, direct_table, factored_table, play_trials
from presage.metrics.bounds import direct_bound, drift_bound, factored_bound, laplace_bound, quoted_lower_bound
from presage.metrics.losses import best_static_losses, regret
from presage.spaces import Array
from presage.worlds.factored import FactoredWorld

SEQUENCES, ROUNDS, INSTANCES, OUTCOMES = 100, 40, 3, 3
SPACES = Spaces(INSTANCES, 1, OUTCOMES)


def sequences(kind: str, delay: int, seed: int) -> tuple[Array, Array]:
    """Instances and outcomes [SEQUENCES, ROUNDS], at random or chosen to hurt."""
    draw = np.random.default_rng(seed)
    shape = (SEQUENCES, ROUNDS)
    blocks = np.minimum(np.arange(ROUNDS) // max(delay, 1), INSTANCES - 1)
    x = np.broadcast_to(blocks, shape) if "blocks" in kind else draw.integers(0, INSTANCES, shape)
    if "skewed" in kind:
        return x, (draw.random(shape) < draw.random((SEQUENCES, 1))).astype(int)
    if "worst" in kind:  # always the outcome that a delayed table finds least likely so far
        y = np.zeros(shape, int)
        counts = np.zeros((SEQUENCES, INSTANCES, OUTCOMES))
        each = np.arange(SEQUENCES)
        for t in range(ROUNDS):
            y[:, t] = (counts[each, x[:, t]] + draw.random((SEQUENCES, OUTCOMES)) / 2).argmin(-1)
            if t >= delay:
                counts[each, x[:, t - delay], y[:, t - delay]] += 1
        return x, y
    return x, draw.integers(0, OUTCOMES, shape)


KINDS = ("random", "skewed", "worst", "blocks random", "blocks skewed", "blocks worst")


@pytest.mark.long
@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(KINDS),
    delay=st.integers(0, ROUNDS),
    alpha=st.sampled_from([1.0, 0.5]),
    seed=st.integers(0, 2**32),
)
def test_the_drift_lemma_and_the_direct_bound_hold(kind: str, delay: int, alpha: float, seed: int) -> None:
    """120 examples of 100 sequences each: the delayed table against its zero-delay twin and the best in hindsight."""
    x, y = sequences(kind, delay, seed)
    table, nothing = direct_table(SPACES, alpha), np.zeros_like(y)
    late, twin = (play_trials(table, Episode.fixed(x, nothing, y, Delays(0, d)), 0) for d in (delay, 0))
    rounding = 1e-3
    assert (regret(late, twin) <= drift_bound(ROUNDS, delay, INSTANCES, OUTCOMES, alpha) + rounding).all()
    if alpha == 1.0:
        best = best_static_losses(x, y, INSTANCES, OUTCOMES)
        assert (regret(twin, best) <= laplace_bound(ROUNDS, INSTANCES, OUTCOMES) + rounding).all()
        assert (regret(late, best) <= direct_bound(ROUNDS, delay, INSTANCES, OUTCOMES) + rounding).all()


@pytest.mark.parametrize(("instances", "outcomes", "each"), [(1, 4, 60), (3, 4, 20), (5, 2, 7)])
def test_the_bound_without_delay_is_met_exactly_by_one_symbol(instances: int, outcomes: int, each: int) -> None:
    # Instances asked about equally often, each with one outcome of its own: a Laplace table pays
    # ln((n + Y - 1 over Y - 1)) for the n rounds of each, no less; a round more or fewer would already show.
    x = np.tile(np.arange(instances), each)[None]
    spaces = Spaces(instances, 1, outcomes)
    losses = play_trials(direct_table(spaces), Episode.fixed(x, np.zeros_like(x), x % outcomes, Delays(0, 0)), 0)
    bound = laplace_bound(instances * each, instances, outcomes)
    assert losses.sum() == pytest.approx(bound, rel=1e-6)
    assert bound == pytest.approx(instances * math.log(math.comb(each + outcomes - 1, outcomes - 1)), rel=1e-12)
    assert abs(laplace_bound(instances * each + 1, instances, outcomes) - bound) > 1e-3 * bound


POINTS = [
    (1000, Delays(0, 100), (10, 4, 5)),
    (200, Delays(3, 20), (5, 4, 5)),
    (45360, Delays(4320, 15120), (100, 4, 4)),
]


@pytest.mark.parametrize(("rounds", "delays", "sizes"), POINTS)
def test_bounds_are_their_formulas(rounds: int, delays: Delays, sizes: tuple[int, int, int]) -> None:
    """Products of exact fractions, whose logarithm is taken once at the end."""
    early, late, (instances, proxies, outcomes) = delays.proxy, delays.outcome, sizes

    def drift(delay: int, given: int, symbols: int, alpha: Fraction = Fraction(1)) -> float:
        cells = given * symbols
        return delay * cells * log(1 + Fraction(rounds - 1) / (alpha * cells))

    def laplace(given: int, symbols: int) -> float:
        product = Fraction(1)
        for j in range(1, symbols):
            product *= (Fraction(rounds, given) + j) / j
        return given * log(product)

    exactly = partial(pytest.approx, rel=1e-12)
    assert drift_bound(rounds, late, instances, outcomes) == exactly(drift(late, instances, outcomes))
    half = drift(late, instances, outcomes, Fraction(1, 2))
    assert drift_bound(rounds, late, instances, outcomes, alpha=0.5) == exactly(half)
    assert laplace_bound(rounds, instances, outcomes) == exactly(laplace(instances, outcomes))
    direct = drift(late, instances, outcomes) + laplace(instances, outcomes)
    assert direct_bound(rounds, late, instances, outcomes) == exactly(direct)
    g, h = drift(late, proxies, outcomes) + laplace(proxies, outcomes), drift(early, instances, proxies)
    factored = math.fsum([g, h, laplace(instances, proxies)])
    assert factored_bound(rounds, delays, instances, proxies, outcomes) == exactly(factored)


def log(fraction: Fraction) -> float:
    return math.log(fraction.numerator) - math.log(fraction.denominator)


@pytest.mark.parametrize(
    ("rounds", "delay", "instances", "expected"),
    [(10_000, 1, 2, 4 * math.log(2500)), (500, 0, 10, 10 * math.log(50)), (10**6, 99, 7, 700 * math.log(10**4 / 7))],
)
def test_the_quoted_lower_bound_is_as_quoted(rounds: int, delay: int, instances: int, expected: float) -> None:
    assert quoted_lower_bound(rounds, delay, instances) == pytest.approx(expected, rel=1e-12)


def test_the_factored_bound_is_within_reach() -> None:
    """Both parts are met at once without delays: each proxy has one outcome, each instance one proxy."""
    x = np.tile(np.arange(8), 25)[None]
    z, bound = x % 4, factored_bound(200, Delays(0, 0), 8, 4, 3)
    g, h = (
        play_trials(direct_table(Spaces(given, 1, symbols)), Episode.fixed(a, np.zeros_like(a), b, Delays(0, 0)), 0)
        for given, symbols, a, b in ((4, 3, z, z % 3), (8, 4, x, z))
    )
    assert g.sum() + h.sum() == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("mix", [0.0, 1.0])
def test_the_factored_bound_holds_on_average_where_proxies_tell_all(mix: float) -> None:
    world, delays = FactoredWorld(instances=5), Delays(proxy=3, outcome=20)
    dealt = world.deal(100, 200, delays, mix, seed=3)
    measured = regret(play_trials(factored_table(world.spaces), dealt.episode, 0), dealt.true_loss).mean()
    assert 0 < measured < factored_bound(200, delays, 5, 4, 5)


def test_the_quoted_lower_bound_is_never_negative() -> None:
    assert quoted_lower_bound(1000, 100, 10) == 0.0
    assert quoted_lower_bound(100_000, 99, 10) == pytest.approx(1000 * np.log(100))
