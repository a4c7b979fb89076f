"""Schedules: which instance is asked about in each round, chosen before the first one."""

import numpy as np

from presage.settings import share, whole
from presage.spaces import Array


def interleaved(shape: tuple[int, int], delay: int, instances: int, mix: float, draw: np.random.Generator) -> Array:
    """The paper's schedule, from adversarial (mix 0) to uniform (mix 1), as instances [trials, rounds].

    The adversarial one asks about a new instance every `delay` rounds, just before the first outcome of the old
    one is seen, and stays with the last. With probability `mix` a round asks about any instance instead.

    >>> interleaved((1, 7), 2, 3, 0.0, np.random.default_rng(0)).tolist()
    [[0, 0, 1, 1, 2, 2, 2]]
    """
    rounds = whole("rounds", shape[1])
    whole("instances", instances)
    share("mix", mix)
    adversarial = np.minimum(np.arange(rounds) // max(whole("delay", delay, 0), 1), instances - 1)
    uniform = draw.integers(0, instances, shape, np.int32)
    return np.where(draw.random(shape, np.float32) < mix, uniform, adversarial.astype(np.int32))
