"""Adam against a plain loop, in towers and alone."""

import jax.numpy as jnp
import numpy as np

from presage.forecasters.towers import adam_step, start_moments


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


def test_a_step_that_is_not_real_moves_nothing() -> None:
    start = start_moments(jnp.ones(3))
    weights, moments = adam_step(jnp.ones(3), jnp.ones(3), start, 0.01, jnp.array(False))
    assert (np.asarray(weights) == 1).all()
    assert float(moments.steps) == 0
