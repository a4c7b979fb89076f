"""The paper's two-step search: first what concerns the direct network, then what does not.

The first step chooses the learning rate and L2 of all towers by direct's loss. The second keeps them for direct and
draws the rest at random: layers, rate and L2 of the tower of h, the rate of g, and that of the residual tower.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed

from presage.experiments.networks import NetworkSettings
from presage.settings import one_of, positive, whole
from presage.spaces import Array

Settings = TypeVar("Settings", bound=NetworkSettings)

APART = 1_000_000
"""Added to the seed, so that a search never sees the trials that are reported."""


class TuningScore(NamedTuple):
    """How settings do: the mean loss of each forecaster, and further figures of the experiment that choose nothing."""

    losses: dict[str, float]
    figures: dict[str, float]


FIRST = ("learning_rate", "l2")
SECOND = ("h_hidden", "h_rate", "h_l2", "proxy_rate", "residual_rate")
"""The settings that each step searches."""


@dataclass(frozen=True)
class Search:
    """What is tried: in the first step every combination, in the second `draws`, the first of them step one's winner.

    Layers are drawn evenly from `h_hidden`; rates and L2 between the ends given, evenly in their logarithms. A
    `kind` of "random" draws as many combinations between the ends in the first step too.
    """

    kind: str = "grid"
    learning_rates: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0)
    l2s: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2)
    h_hidden: tuple[tuple[int, ...], ...] = ((20,), (80,), (20, 10), (40, 20), (80, 40), (20, 10, 10), (80, 40, 20))
    h_rates: tuple[float, float] = (0.03, 3.0)
    h_l2s: tuple[float, float] = (1e-6, 1e-2)
    proxy_rates: tuple[float, float] = (0.03, 10.0)
    residual_rates: tuple[float, float] = (0.03, 3.0)
    draws: int = 60
    jobs: int = 1

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("grid", "random"))
        whole("draws", self.draws)
        whole("jobs", self.jobs)
        for value in (*self.learning_rates, *self.l2s, *itertools.chain(*self._ends)):
            positive("a value to try", value)

    @property
    def _ends(self) -> tuple[tuple[float, float], ...]:
        return self.h_rates, self.h_l2s, self.proxy_rates, self.residual_rates

    def first(self, settings: Settings) -> list[Settings]:
        """The settings that the first step tries."""
        each: Iterable[tuple[float, float]] = itertools.product(self.learning_rates, self.l2s)
        if self.kind == "random":
            draw = np.random.default_rng(settings.seed)
            low, high = np.log([(min(values), max(values)) for values in (self.learning_rates, self.l2s)]).T
            drawn = np.exp(draw.uniform(low, high, (self.draws, 2)))
            each = [(rate, l2) for rate, l2 in map(_rounded, drawn)]
        return [replace(settings, learning_rate=rate, l2=l2) for rate, l2 in each]

    def second(self, settings: Settings) -> list[Settings]:
        """The settings that the second step tries, given those of step one's winner."""
        draw = np.random.default_rng(settings.seed)
        low, high = np.log(self._ends).T
        drawn = [settings]
        for _ in range(self.draws - 1):
            hidden = self.h_hidden[draw.integers(len(self.h_hidden))]
            h_rate, h_l2, proxy_rate, residual_rate = _rounded(np.exp(draw.uniform(low, high)))
            own: Any = {"h_hidden": hidden, "h_rate": h_rate, "h_l2": h_l2}
            drawn.append(replace(settings, proxy_rate=proxy_rate, residual_rate=residual_rate, **own))
        return drawn


class Tried(NamedTuple):
    """One combination of settings, and how it does."""

    step: int
    settings: dict[str, Any]  # those that are searched
    score: TuningScore

    @property
    def objective(self) -> float:
        """What its step makes small: direct's loss first, then the mean of factored's and residual's.

        Networks that left the range of numbers come last.
        """
        losses = self.score.losses
        found = losses["direct"] if self.step == 1 else (losses["factored"] + losses["residual"]) / 2
        return found if math.isfinite(found) else math.inf


def tune(
    settings: Settings, score: Callable[[Settings], TuningScore], search: Search, progress: Callable[[int], None]
) -> tuple[Settings, list[Tried]]:
    """The best settings found, and all that was tried; the seed is set apart, and comes back as it was."""
    own = replace(settings, seed=settings.seed + APART)
    tried = _try(1, search.first(own), score, search.jobs, progress)
    best = min(tried, key=lambda one: one.objective)
    second = _try(2, search.second(_with(own, best, FIRST)), score, search.jobs, progress)
    best = min(second, key=lambda one: one.objective)
    return replace(_with(settings, best, FIRST + SECOND), seed=settings.seed), tried + second


def combinations(search: Search) -> int:
    """How many combinations a search tries in all."""
    first = len(search.learning_rates) * len(search.l2s) if search.kind == "grid" else search.draws
    return first + search.draws


def _with(settings: Settings, tried: Tried, names: Sequence[str]) -> Settings:
    return replace(settings, **{name: tried.settings[name] for name in names})


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.3g}") for value in values]


def _try(
    step: int,
    tried: list[Settings],
    score: Callable[[Settings], TuningScore],
    jobs: int,
    progress: Callable[[int], None],
) -> list[Tried]:
    run = Parallel(n_jobs=jobs, return_as="generator")
    found = []
    for settings, scored in zip(tried, run(delayed(score)(settings) for settings in tried), strict=True):
        chosen = {name: asdict(settings)[name] for name in FIRST + SECOND}
        found.append(Tried(step, chosen, scored))
        progress(1)
    return found
