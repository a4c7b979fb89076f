"""Ebooks whose length decides what an early sign means: a third read promises more of a short story than of a saga."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.settings import between, share, whole
from presage.spaces import Array, Features, Instance, Spaces
from presage.timeline.episode import Delays, Episode
from presage.worlds.factored import interleaved


class LengthTrials(NamedTuple):
    """Episodes, and what a forecaster with full knowledge of the world would lose."""

    episode: Episode  # instances are (title, length)
    true_loss: Array  # [R, T]: -ln p(y|x)


@dataclass(frozen=True)
class LengthWorld:
    """Worlds in which outcomes depend on the proxy and on the length of the title; every trial draws its own.

    The length of a title is one of `lengths`, all as likely. How it is begun, h(z|title), is a draw from the uniform
    distribution over distributions. The log-odds of finishing it vary by `spread` between proxies, and by `told` around
    that between the lengths: at 0 the length is useless.
    """

    titles: int = 20
    lengths: int = 3
    proxies: int = 3
    spread: float = 2.0
    told: float = 2.0

    def __post_init__(self) -> None:
        for name in ("titles", "lengths", "proxies"):
            whole(name, getattr(self, name))
        for name in ("spread", "told"):
            between(name, getattr(self, name), 0.0, 100.0)

    @property
    def spaces(self) -> Spaces:
        """The spaces of this world, with a plain proxy."""
        return Spaces(Features(symbols=(self.titles, self.lengths)), self.proxies, 2)

    def deal(self, trials: int, rounds: int, delays: Delays, mix: float, seed: int) -> LengthTrials:
        """`trials` episodes with the paper's schedule (see `interleaved`); the same seed deals the same ones.

        >>> LengthWorld().deal(2, 50, Delays(0, 10), mix=0.5, seed=0).true_loss.shape
        (2, 50)
        """
        draw = np.random.default_rng(seed)
        share("mix", mix)
        title = interleaved((whole("trials", trials), rounds), delays.outcome, self.titles, mix, draw)
        length = draw.integers(0, self.lengths, (trials, self.titles), np.int32)
        h = draw.dirichlet(np.ones(self.proxies), (trials, self.titles))  # [R, X, Z]
        odds = self.spread * draw.normal(size=(trials, 1, self.proxies))
        odds = odds + self.told * draw.normal(size=(trials, self.lengths, self.proxies))
        g = 1 / (1 + np.exp(-odds))  # [R, C, Z]
        each = np.arange(trials)[:, None]
        x = np.stack([title, length[each, title]], axis=-1).astype(np.int32)
        z = (h[each, title].cumsum(-1) < draw.random((*title.shape, 1))).sum(-1)
        z = np.minimum(z, self.proxies - 1).astype(np.int32)  # sums of floats may end below 1
        finished = g[each, x[..., 1]]  # [R, T, Z]
        y = (draw.random(title.shape) < np.take_along_axis(finished, z[..., None], -1)[..., 0]).astype(np.int32)
        truth = (h[each, title] * finished).sum(-1)
        dense = np.zeros((*title.shape, 0), np.float32)
        loss = -np.log(np.where(y == 1, truth, 1 - truth))
        return LengthTrials(Episode.fixed(Instance(x, dense), z, y, delays), loss)
