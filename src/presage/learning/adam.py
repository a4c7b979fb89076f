"""Adam (Kingma and Ba, 2015): steps scaled by running means of the gradient and of its square."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from presage.spaces import Array

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8
"""The decay of both means and the number that keeps steps finite, as its authors recommend them."""


class Moments(NamedTuple):
    """Running means over the steps so far."""

    first: Any  # of the gradient, like the parameters
    second: Any  # of its square
    steps: Array  # []


def start_moments(parameters: Any) -> Moments:
    """The moments before any step."""
    nothing = jax.tree.map(jnp.zeros_like, parameters)
    return Moments(nothing, nothing, jnp.zeros(()))


def adam_step(parameters: Any, slopes: Any, moments: Moments, rate: Array | float, real: Array) -> tuple[Any, Moments]:
    """Parameters and moments after a step down the slopes; both as they were where `real` is false."""
    steps = moments.steps + 1
    first = jax.tree.map(lambda m, slope: FIRST * m + (1 - FIRST) * slope, moments.first, slopes)
    second = jax.tree.map(lambda v, slope: SECOND * v + (1 - SECOND) * slope**2, moments.second, slopes)
    size = rate * jnp.sqrt(1 - SECOND**steps) / (1 - FIRST**steps)
    moved = jax.tree.map(lambda w, m, v: w - size * m / (jnp.sqrt(v) + SMALL), parameters, first, second)
    chosen: tuple[Any, Moments] = jax.tree.map(
        lambda new, old: jnp.where(real, new, old), (moved, Moments(first, second, steps)), (parameters, moments)
    )
    return chosen
