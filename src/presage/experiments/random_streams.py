"""Random streams of an experiment: one for each purpose, none the same as another's."""

from enum import IntEnum

import numpy as np


class RandomStream(IntEnum):
    """What randomness is for; worlds draw from their seed alone, so no purpose is 0."""

    TRIAL = 1
    ORACLE = 2
    RESAMPLE = 3


def stream(seed: int, purpose: RandomStream, *counters: int) -> np.random.Generator:
    """The generator for one use of randomness."""
    # NumPy pads entropy with zeros, so counters stand before the purpose, which is never 0.
    return np.random.default_rng([seed, *counters, int(purpose)])
