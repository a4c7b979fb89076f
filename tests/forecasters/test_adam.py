"""Adam against a plain loop, in towers and alone."""

import jax
import jax.numpy as jnp
import numpy as np

from presage import Features, Instance
from presage.forecasters.towers import TowerPlan, Training, adam_step, start_moments


def test_steps_are_those_of_a_plain_loop() -> None:
    draw = np.random.default_rng(0)
    slopes = draw.normal(size=(5, 3))
    w, m, v = np.ones(3), np.zeros(3), np.zeros(3)
    ours, moments = jnp.ones(3), start_moments(jnp.ones(3))
    for step, slope in enumerate(slopes, start=1):
        m, v = 0.9 * m + 0.1 * slope, 0.999 * v + 0.001 * slope**2
        w = w - 0.01 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        ours, moments = adam_step(ours, jnp.asarray(slope, jnp.float32), moments, 0.01, jnp.array(True))
    assert np.abs(np.asarray(ours) - w).max() < 1e-5


def test_small_slopes_make_steps_as_long_as_large_ones() -> None:
    slopes, moved = np.random.default_rng(1).normal(size=(5, 3)), []
    for size in (1.0, 1e-4):
        weights, moments = jnp.zeros(3), start_moments(jnp.zeros(3))
        for slope in size * slopes:
            weights, moments = adam_step(weights, jnp.asarray(slope, jnp.float32), moments, 0.01, jnp.array(True))
        moved.append(np.asarray(weights))
    assert np.abs(moved[0] - moved[1]).max() < 1e-3 < np.abs(moved[0]).max()


def test_a_step_that_is_not_real_moves_nothing() -> None:
    start = start_moments(jnp.ones(3))
    weights, moments = adam_step(jnp.ones(3), jnp.ones(3), start, 0.01, jnp.array(False))
    assert (np.asarray(weights) == 1).all()
    assert float(moments.steps) == 0


def test_l2_alone_pulls_every_weight_of_a_tower_and_no_bias() -> None:
    """Adam's first step is the rate, whatever the size of the slope."""
    how = Training(hidden=(4, 3), learning_rate=0.01, l2=0.5, output_start="random", optimiser="adam")
    plan = TowerPlan(how, Features(symbols=(5,), dense=2), 2)
    tower, x = plan.init(jax.random.key(0)), Instance(jnp.zeros((6, 1), jnp.int32), jnp.ones((6, 2)))
    stepped = plan.descend(tower, x, None, lambda logits: 0.0 * logits.sum(), jnp.ones(6, jnp.int32))
    for old, new in zip(tower.layers, stepped.layers, strict=True):
        assert np.abs(new.weights - (old.weights - 0.01 * np.sign(old.weights))).max() < 1e-5
        assert (new.biases == old.biases).all()
    assert np.abs(stepped.rows - (tower.rows - 0.01 * np.sign(tower.rows))).max() < 1e-5
