"""The paper's synthetic world: instances cause proxies, proxies cause outcomes, both nearly deterministic."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.settings import share, whole
from presage.spaces import Array, Spaces
from presage.timeline.delays import Delays
from presage.timeline.episode import Episode
from presage.worlds.schedules import interleaved


class Trials(NamedTuple):
    """Episodes, and the loss of a forecaster that knew the world."""

    episode: Episode
    true_loss: Array  # [R, T]: -ln p(y|x)


@dataclass(frozen=True)
class FactoredWorld:
    """Worlds drawn as in the appendix of the paper; every trial draws its own.

    Each row of h and g is one symbol drawn uniformly, mixed with the uniform distribution by `noise` (the paper
    does not give its value). `useful` is the share of proxies that forecasters see as they are; the others are
    replaced by a uniform symbol after the outcome was drawn. With `bypass` above 0 that share of outcomes comes
    straight from the instance, not from its proxy: then no forecaster through proxies alone can be right.
    """

    instances: int = 10
    proxies: int = 4
    outcomes: int = 5
    noise: float = 0.1
    useful: float = 1.0
    bypass: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "useful", "bypass"):
            share(name, getattr(self, name))

    @property
    def spaces(self) -> Spaces:
        """The spaces of this world."""
        return Spaces(self.instances, self.proxies, self.outcomes)

    def deal(self, trials: int, rounds: int, delays: Delays, mix: float, seed: int) -> Trials:
        """`trials` episodes with the paper's schedule; the same seed deals the same ones.

        >>> FactoredWorld().deal(2, 50, Delays(0, 10), mix=0.5, seed=0).true_loss.shape
        (2, 50)
        """
        draw = np.random.default_rng(seed)
        steps = range(whole("trials", trials))
        x = np.stack([interleaved(rounds, delays.outcome, self.instances, mix, draw) for _ in steps])
        h = self._kernel((trials, self.instances, self.proxies), draw)
        g = self._kernel((trials, self.proxies, self.outcomes), draw)
        straight = self._kernel((trials, self.instances, self.outcomes), draw)
        each = np.arange(trials)[:, None]
        z = _sample(h[each, x], draw)
        through = _sample(g[each, z], draw)
        y = np.where(draw.random(x.shape) < self.bypass, _sample(straight[each, x], draw), through)
        shown = np.where(draw.random(x.shape) < self.useful, z, draw.integers(0, self.proxies, x.shape))
        truth = (1 - self.bypass) * h @ g + self.bypass * straight  # [R, X, Y]
        return Trials(Episode.fixed(x, shown, y, delays), -np.log(truth[each, x, y]))

    def _kernel(self, shape: tuple[int, int, int], draw: np.random.Generator) -> Array:
        symbols = draw.integers(0, shape[-1], shape[:-1])
        return (1 - self.noise) * np.eye(shape[-1])[symbols] + self.noise / shape[-1]


def _sample(probabilities: Array, draw: np.random.Generator) -> Array:
    """A symbol from each distribution along the last axis."""
    cumulative = probabilities.cumsum(-1)
    uniform = draw.random(probabilities.shape[:-1]) * cumulative[..., -1]
    return (cumulative > uniform[..., None]).argmax(-1)
