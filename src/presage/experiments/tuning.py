"""The paper's two-stage search: first what concerns the direct network, then what does not."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed

from presage.experiments.networks import NetworkSettings
from presage.settings import one_of, positive, whole

Settings = TypeVar("Settings", bound=NetworkSettings)
Score = Callable[[Settings], dict[str, float]]
"""The mean loss of each forecaster under some settings."""

APART = 1_000_000
"""Added to the seed, so that a search never sees the trials that are reported."""


@dataclass(frozen=True)
class Search:
    """What is tried: every combination of these values, or `draws` drawn between the least and the largest of each."""

    kind: str = "grid"
    learning_rates: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0)
    l2s: tuple[float, ...] = (1e-4, 1e-3, 1e-2)
    proxy_rates: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    draws: int = 12
    jobs: int = 1

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("grid", "random"))
        whole("draws", self.draws)
        whole("jobs", self.jobs)
        for value in (*self.learning_rates, *self.l2s, *self.proxy_rates):
            positive("a value to try", value)

    def values(self, axes: Sequence[tuple[float, ...]], seed: int) -> list[tuple[float, ...]]:
        """The combinations to try of some of the settings.

        >>> Search().values([(0.1, 0.3), (1.0,)], seed=0)
        [(0.1, 1.0), (0.3, 1.0)]
        """
        if self.kind == "grid":
            return list(itertools.product(*axes))
        draw = np.random.default_rng(seed)
        ends = np.log([(min(axis), max(axis)) for axis in axes])  # [axes, 2]
        drawn = np.exp(draw.uniform(ends[:, 0], ends[:, 1], (self.draws, len(axes))))
        return [tuple(float(f"{value:.3g}") for value in row) for row in drawn]


class Tried(NamedTuple):
    """One combination, and the mean loss of each forecaster with it."""

    stage: int
    learning_rate: float
    l2: float
    proxy_rate: float
    losses: dict[str, float]

    @property
    def objective(self) -> float:
        """What its stage makes small: direct's loss first, then the mean of factored's and residual's."""
        if self.stage == 1:
            return self.losses["direct"]
        return (self.losses["factored"] + self.losses["residual"]) / 2


def tune(
    settings: Settings, score: Score[Settings], search: Search, progress: Callable[[int], None]
) -> tuple[Settings, list[Tried]]:
    """The best settings found, and all that was tried; the seed is set apart, and comes back as it was."""
    own = replace(settings, seed=settings.seed + APART)
    first = [
        replace(own, learning_rate=rate, l2=l2)
        for rate, l2 in search.values((search.learning_rates, search.l2s), settings.seed)
    ]
    tried = _try(1, first, score, search.jobs, progress)
    best = min(tried, key=lambda one: one.objective)
    own = replace(own, learning_rate=best.learning_rate, l2=best.l2)
    second = [replace(own, proxy_rate=rate) for (rate,) in search.values((search.proxy_rates,), settings.seed + 1)]
    tried += _try(2, second, score, search.jobs, progress)
    best = min((one for one in tried if one.stage == 2), key=lambda one: one.objective)
    return replace(own, proxy_rate=best.proxy_rate, seed=settings.seed), tried


def trials_played(search: Search) -> int:
    """How many combinations a search tries in all."""
    if search.kind == "random":
        return 2 * search.draws
    return len(search.learning_rates) * len(search.l2s) + len(search.proxy_rates)


def _try(
    stage: int, tried: list[Settings], score: Score[Settings], jobs: int, progress: Callable[[int], None]
) -> list[Tried]:
    run = Parallel(n_jobs=jobs, return_as="generator")
    found = []
    for settings, losses in zip(tried, run(delayed(score)(settings) for settings in tried), strict=True):
        found.append(Tried(stage, settings.learning_rate, settings.l2, settings.proxy_rate, losses))
        progress(1)
    return found
