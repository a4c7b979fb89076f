"""Trials made up so that what a claim must say is known."""

from collections.abc import Iterable

import numpy as np

from presage.experiments.claims import Claim, Verdict
from presage.spaces import Array

TRIALS = 40

SPREAD = np.linspace(-1.0, 1.0, TRIALS)
"""Trials around 0, whose interval is about 0.19 to either side."""


def verdict_of(id: str, claims: Iterable[Claim]) -> Verdict:
    """The verdict on the one claim of this name."""
    (found,) = [claim.verdict for claim in claims if claim.id == id]
    return found


def around(mean: float | Array, spread: float = 1.0, turn: int = 0) -> Array:
    """Trials of a mean, along the last axis; a `turn` puts them into another order."""
    return np.asarray(mean, np.float64)[..., None] + spread * np.roll(SPREAD, turn)
