"""Markets: what the marketplace experiment is played on, and simulated ones much like a real university's."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.errors import SettingError
from presage.settings import between, positive, share, whole
from presage.spaces import Array

ENGAGEMENTS = ("deleted", "zero", "one", "many")
"""What became of an acquired item, after 2 days (the proxy) and after 7 (the outcome)."""

DAYS = 21


class Market(NamedTuple):
    """How users engage with the items of a market, and when they acquire them."""

    items: tuple[str, ...]  # [I] names
    proxies: Array  # float64 [I, 4]: p(z | item)
    outcomes: Array  # float64 [I, 4, 4]: p(y | item, z)
    launch: Array  # float64 [I, 21]: acquisitions by days since launch; zeros where the launch was not seen
    calendar: Array  # float64 [I, 21]: acquisitions on 21 days of a calendar; zeros where there were none


class Volume(NamedTuple):
    """How much is acquired of each item in 21 days, and how unevenly over them.

    An item is acquired at least `least` times: the excess is log-normal with median `excess` and `spread` in logs.
    Its daily volume varies: by a log-normal of `waver` in logs, with a correlation of `memory` from one day to the
    next.
    """

    least: float
    excess: float
    spread: float
    waver: float
    memory: float

    def check(self, name: str) -> None:
        """Raise SettingError for the first part that cannot be right."""
        between(f"{name}.least", self.least, 0.0, 1e9)
        positive(f"{name}.excess", self.excess)
        for part in ("spread", "waver"):
            between(f"{name}.{part}", getattr(self, part), 0.0, 10.0)
        between(f"{name}.memory", self.memory, 0.0, 1.0)

    def acquired(self, fame: Array, shape: Array, draw: np.random.Generator) -> Array:
        """Counts [I, 21] of items with standard normal `fame`, spread over the days as `shape` before wavering."""
        wavering = np.exp(self.waver * self._autoregression(shape.shape, draw)) * shape
        total = self.least + self.excess * np.exp(self.spread * fame)
        return draw.poisson(total[:, None] * wavering / wavering.sum(axis=1, keepdims=True)).astype(float)

    def _autoregression(self, shape: tuple[int, int], draw: np.random.Generator) -> Array:
        """Standard normals [I, days], each day correlated with the day before by `memory`."""
        fresh = draw.normal(size=shape)
        values = fresh.copy()
        for day in range(1, shape[1]):
            values[:, day] = self.memory * values[:, day - 1] + np.sqrt(1 - self.memory**2) * fresh[:, day]
        return values


DELETED, ZERO, ONE, MANY = range(len(ENGAGEMENTS))
PROXIES = (DELETED, ONE, MANY)
"""Those whose log-odds against zero engagements are settings."""
MOVES = ((ZERO, DELETED), (ZERO, ONE), (ZERO, MANY), (ONE, DELETED), (ONE, MANY), (MANY, DELETED))
"""From a proxy to another outcome. There are no others: engagements only grow, and what is deleted stays so."""
LAUNCH = Volume(least=100.0, excess=118.0, spread=1.1, waver=0.85, memory=0.94)
CALENDAR = Volume(least=100.0, excess=140.0, spread=0.8, waver=1.15, memory=0.95)


@dataclass(frozen=True)
class MarketplaceSettings:
    """A market whose items differ in engagement and in how often they are acquired.

    `proxy_odds` are the log-odds of deleted, one and many against zero engagements after two days, and
    `outcome_odds` those of each move of `MOVES` against staying, in the five days after; both for the median
    item. Items differ from it by normal amounts with the standard deviations `proxy_spread` and `outcome_spread`.
    A share `appeal` of the variance of every engagement comes from how well the item is liked, which its proxies and
    outcomes have in common; deletions vary on their own.

    `violation` is how much the outcomes given the proxy depend on the item: p(y|item, z) lies that share of the way
    from g(y|z), which is the same for all items, to the item's own distribution. At 0 the proxy says everything about
    the outcome, at 1 as little as in the real data. As g is the market's own mean, p(y|z) over all items is the same
    at any violation.

    `fame` is the correlation between an item's volume and how well it is liked. `launch` and `calendar` are volumes
    by days since launch and by calendar day. On the day of its launch an item is acquired 1 + `spike` times as often
    as later (`spike` being the median of a log-normal with `spike_spread`), an excess that falls by a factor of e in
    `fade_days`. The calendar has a weekly cycle of amplitude `weekly`, in logs.
    """

    items: int = 400
    violation: float = 1.0
    proxy_odds: tuple[float, ...] = (-6.23, -2.33, -4.72)
    proxy_spread: tuple[float, ...] = (0.68, 0.87, 1.57)
    outcome_odds: tuple[float, ...] = (-5.92, -2.35, -4.15, -5.99, -1.5, -7.5)
    outcome_spread: tuple[float, ...] = (0.81, 0.95, 1.65, 1.05, 1.13, 1.7)
    appeal: float = 0.92
    fame: float = 0.4
    launch: Volume = LAUNCH
    calendar: Volume = CALENDAR
    spike: float = 0.9
    spike_spread: float = 1.05
    fade_days: float = 0.7
    weekly: float = 0.4

    def __post_init__(self) -> None:
        whole("items", self.items)
        for kind, size in (("proxy", len(PROXIES)), ("outcome", len(MOVES))):
            _several(f"{kind}_odds", getattr(self, f"{kind}_odds"), size, -50.0)
            _several(f"{kind}_spread", getattr(self, f"{kind}_spread"), size, 0.0)
        for name in ("violation", "appeal", "fame"):
            share(name, getattr(self, name))
        for name in ("launch", "calendar"):
            getattr(self, name).check(name)
        for name in ("spike", "spike_spread", "weekly"):
            between(name, getattr(self, name), 0.0, 50.0)
        positive("fade_days", self.fade_days)

    def deal(self, seed: int) -> Market:
        """A market, every item of which has a launch and a calendar; the same seed deals the same one.

        >>> MarketplaceSettings(items=30).deal(seed=0).outcomes.shape
        (30, 4, 4)
        """
        draw = np.random.default_rng(seed)
        liking, famous = draw.normal(size=(2, self.items))
        proxies = self._proxies(liking, draw)
        outcomes = self._outcomes(liking, proxies, draw)
        fame = self.fame * liking + np.sqrt(1 - self.fame**2) * famous
        spike = self.spike * draw.lognormal(0, self.spike_spread, self.items)
        by_age = 1 + np.outer(spike, np.exp(-np.arange(DAYS) / self.fade_days))
        by_day = np.exp(self.weekly * np.sin(2 * np.pi * np.arange(DAYS) / 7))
        launch = self.launch.acquired(fame, by_age, draw)
        calendar = self.calendar.acquired(fame, np.tile(by_day, (self.items, 1)), draw)
        names = tuple(f"item-{number:0{len(str(self.items - 1))}}" for number in range(self.items))
        return Market(names, proxies, outcomes, launch, calendar)

    def _proxies(self, liking: Array, draw: np.random.Generator) -> Array:
        logits = np.zeros((self.items, len(ENGAGEMENTS)))
        for proxy, odds, spread in zip(PROXIES, self.proxy_odds, self.proxy_spread, strict=True):
            logits[:, proxy] = odds + spread * self._taste(liking, proxy, draw)
        return _softmax(logits)

    def _outcomes(self, liking: Array, proxies: Array, draw: np.random.Generator) -> Array:
        logits = np.broadcast_to(np.where(np.eye(len(ENGAGEMENTS)), 0.0, -np.inf), (self.items, 4, 4)).copy()
        for (proxy, outcome), odds, spread in zip(MOVES, self.outcome_odds, self.outcome_spread, strict=True):
            logits[:, proxy, outcome] = odds + spread * self._taste(liking, outcome, draw)
        own = _softmax(logits)
        shared = np.einsum("iz,izy->zy", proxies / proxies.sum(axis=0), own)  # g(y|z)
        return shared + self.violation * (own - shared)

    def _taste(self, liking: Array, engagement: int, draw: np.random.Generator) -> Array:
        """Standard normals [I], in part the liking unless the engagement is a deletion."""
        common = 0.0 if engagement == DELETED else self.appeal
        return np.sqrt(common) * liking + np.sqrt(1 - common) * draw.normal(size=self.items)


def _several(name: str, values: tuple[float, ...], size: int, low: float) -> None:
    if len(values) != size:
        raise SettingError(f"{name} needs a number for each of {size} cases", values, f"give {size} numbers")
    for value in values:
        between(name, value, low, 50.0)


def _softmax(logits: Array) -> Array:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)
