"""The paper's synthetic world: its schedules, instances that cause proxies, and proxies that cause outcomes."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from presage.settings import share, whole
from presage.spaces import Array, Spaces
from presage.timeline.episode import Delays, Episode


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


class Trials(NamedTuple):
    """Episodes, and what a forecaster with full knowledge of the world would predict."""

    episode: Episode
    h: Array  # [R, X, Z]
    g: Array  # [R, Z, Y]
    truth: Array  # [R, X, Y]: p(y|x)

    @property
    def true_loss(self) -> Array:  # [R, T]
        """-ln p(y|x), the least loss there is on average."""
        return _losses(self.truth, self.episode.x, self.episode.y)

    @property
    def h_loss(self) -> Array:  # [R, T]
        """-ln h(z|x), of proxies shown as they are."""
        return _losses(self.h, self.episode.x, self.episode.z)

    @property
    def g_loss(self) -> Array:  # [R, T]
        """-ln g(y|z), of proxies shown as they are."""
        return _losses(self.g, self.episode.z, self.episode.y)

    def obscured(self, useful: float, seed: int) -> "Trials":
        """The same trials with only a `useful` share of proxies shown as they are, the others replaced by noise."""
        draw = np.random.default_rng(seed)
        noise = draw.integers(0, self.h.shape[-1], self.episode.z.shape, np.int32)
        shown = _either(share("useful", useful), self.episode.z, noise, draw)
        return self._replace(episode=replace(self.episode, z=shown))


@dataclass(frozen=True)
class FactoredWorld:
    """Worlds drawn as in the appendix of the paper; every trial draws its own.

    Each row of h and g is one symbol drawn uniformly, mixed with the uniform distribution by `noise` (the paper
    does not give its value). With `bypass` above 0 that share of outcomes comes straight from the instance, not
    from its proxy: then no forecaster through proxies alone can be right.
    """

    instances: int = 10
    proxies: int = 4
    outcomes: int = 5
    noise: float = 0.1
    bypass: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "bypass"):
            share(name, getattr(self, name))

    @property
    def spaces(self) -> Spaces:
        """The spaces of this world."""
        return Spaces(self.instances, self.proxies, self.outcomes)

    def deal(self, trials: int, rounds: int, delays: Delays, mix: float, seed: int) -> Trials:
        """`trials` episodes with the paper's schedule (see `interleaved`); the same seed deals the same ones.

        >>> FactoredWorld().deal(2, 50, Delays(0, 10), mix=0.5, seed=0).true_loss.shape
        (2, 50)
        """
        draw = np.random.default_rng(seed)
        shape = (whole("trials", trials), rounds)
        x = interleaved(shape, delays.outcome, self.instances, mix, draw)
        favourite_proxy = draw.integers(0, self.proxies, (trials, self.instances), np.int32)
        favourite_outcome = draw.integers(0, self.outcomes, (trials, self.proxies), np.int32)
        own_outcome = draw.integers(0, self.outcomes, (trials, self.instances), np.int32)
        each = np.arange(trials)[:, None]
        z = self._noisy(favourite_proxy[each, x], self.proxies, draw)
        wanted = _either(self.bypass, own_outcome[each, x], favourite_outcome[each, z], draw)
        y = self._noisy(wanted, self.outcomes, draw)
        h, g = self._kernel(favourite_proxy, self.proxies), self._kernel(favourite_outcome, self.outcomes)
        truth = (1 - self.bypass) * h @ g + self.bypass * self._kernel(own_outcome, self.outcomes)  # [R, X, Y]
        return Trials(Episode.fixed(x, z, y, delays), h, g, truth)

    def _noisy(self, favourite: Array, symbols: int, draw: np.random.Generator) -> Array:
        """A draw from the kernel: the favourite, or with probability `noise` any symbol."""
        return _either(self.noise, draw.integers(0, symbols, favourite.shape, np.int32), favourite, draw)

    def _kernel(self, favourite: Array, symbols: int) -> Array:
        return (1 - self.noise) * np.eye(symbols)[favourite] + self.noise / symbols


def _either(share: float, one: Array, other: Array, draw: np.random.Generator) -> Array:
    """`one` with probability `share`, otherwise `other`."""
    return np.where(draw.random(one.shape, np.float32) < share, one, other)


def _losses(kernel: Array, given: Array, symbol: Array) -> Array:
    return -np.log(kernel)[np.arange(len(kernel))[:, None], given, symbol]
