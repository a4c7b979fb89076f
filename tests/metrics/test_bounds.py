"""The bounds hold on every sequence anybody thinks of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage import Delays, Episode, Spaces, direct_table, factored_table, play_trials
from presage.metrics.bounds import direct_bound, drift_bound, factored_bound, laplace_bound, quoted_lower_bound
from presage.metrics.regret import best_static_losses, regret
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


def test_the_bound_without_delay_is_met_exactly_by_one_symbol() -> None:
    # One instance that always shows the same outcome: a Laplace table pays ln((T + Y - 1 over Y - 1)), no less.
    zeros = np.zeros((1, 60), int)
    losses = play_trials(direct_table(Spaces(1, 1, 4)), Episode.fixed(zeros, zeros, zeros, Delays(0, 0)), 0)
    assert losses.sum() == pytest.approx(laplace_bound(60, 1, 4), rel=1e-5)


@pytest.mark.parametrize("mix", [0.0, 1.0])
def test_the_factored_bound_holds_on_average_where_proxies_tell_all(mix: float) -> None:
    world, delays = FactoredWorld(instances=5), Delays(proxy=3, outcome=20)
    dealt = world.deal(100, 200, delays, mix, seed=3)
    measured = regret(play_trials(factored_table(world.spaces), dealt.episode, 0), dealt.true_loss).mean()
    assert 0 < measured < factored_bound(200, delays, 5, 4, 5)


def test_the_quoted_lower_bound_is_never_negative() -> None:
    assert quoted_lower_bound(1000, 100, 10) == 0.0
    assert quoted_lower_bound(100_000, 99, 10) == pytest.approx(1000 * np.log(100))
