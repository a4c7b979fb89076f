"""An ebook shop: new titles every day, a third of the book read on day one, finished within 90 days or not."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.errors import SettingError
from presage.settings import between, positive, whole
from presage.spaces import Array, Features, Instance, Spaces
from presage.timeline.episode import Delays, Episode

PROXIES = ("unopened", "opened", "a third read")
OUTCOMES = ("not finished", "finished")


class ShopTrials(NamedTuple):
    """Purchases in order, and what a forecaster with full knowledge of each title would predict."""

    episode: Episode  # instances are (title, genre)
    true_loss: Array  # [R, T]
    day: Array  # [T]: the day of each purchase
    age: Array  # [R, T]: how many days the title bought had been on sale


@dataclass(frozen=True)
class ShopSettings:
    """An ebook shop.

    A purchase is of a title on sale, more often of new and of popular ones: the weight of a title is its popularity
    (log-normal, `popularity_spread`) times exp(-age / `fashion_days`) + `back_catalogue`. Each title has a genre.
    How it is begun, p(proxy | title), varies around its genre's way (`begin_spread` between genres as between the
    titles of one). Whether it is finished depends on how it was begun (`finish` are the log-odds for each proxy) and
    on the title itself: `title_spread` is the standard deviation of that effect in log-odds, the part of the outcome
    that the proxy does not tell. At 0 the proxy tells all.
    """

    days: int = 240
    purchases: int = 100  # a day
    first_titles: int = 60
    new_titles: int = 2  # a day
    genres: int = 6
    proxy_days: int = 1
    outcome_days: int = 90
    popularity_spread: float = 1.0
    fashion_days: float = 25.0
    back_catalogue: float = 0.05
    begin_spread: float = 0.7
    finish: tuple[float, ...] = (-3.0, -1.0, 1.2)
    title_spread: float = 0.5

    def __post_init__(self) -> None:
        for name in ("days", "purchases", "first_titles", "genres", "proxy_days", "outcome_days"):
            whole(name, getattr(self, name))
        whole("new_titles", self.new_titles, 0)
        for name in ("fashion_days", "back_catalogue"):
            positive(name, getattr(self, name))
        for name in ("popularity_spread", "begin_spread", "title_spread"):
            between(name, getattr(self, name), 0.0, 100.0)
        for odds in self.finish:
            between("finish", odds, -100.0, 100.0)
        if len(self.finish) != len(PROXIES):
            raise SettingError("finish gives the log-odds for each proxy", self.finish, f"give {len(PROXIES)} numbers")
        if self.proxy_days > self.outcome_days:
            remedy = f"give at most {self.outcome_days}"
            raise SettingError("proxy_days must not exceed outcome_days", self.proxy_days, remedy)

    @property
    def titles(self) -> int:
        """How many titles are ever on sale."""
        return self.first_titles + self.new_titles * (self.days - 1)

    @property
    def spaces(self) -> Spaces:
        """Instances are a title and its genre."""
        return Spaces(Features(symbols=(self.titles, self.genres)), len(PROXIES), len(OUTCOMES))

    def deal(self, trials: int, seed: int) -> ShopTrials:
        """Shops with the same settings, each with titles and readers of its own.

        >>> ShopSettings(days=5, outcome_days=3).deal(2, seed=0).true_loss.shape
        (2, 500)
        """
        each = [self._shop(np.random.default_rng([seed, trial])) for trial in range(whole("trials", trials))]
        x, z, y, loss, age = (np.stack(parts) for parts in zip(*each, strict=True))
        dense = np.zeros((*z.shape, 0), np.float32)
        delays = Delays(self.proxy_days * self.purchases, self.outcome_days * self.purchases)
        day = np.repeat(np.arange(self.days), self.purchases)
        return ShopTrials(Episode.fixed(Instance(x, dense), z, y, delays), loss, day, age)

    def _shop(self, draw: np.random.Generator) -> tuple[Array, ...]:
        launch = np.r_[np.zeros(self.first_titles, int), np.repeat(np.arange(1, self.days), self.new_titles)]
        genre = draw.integers(0, self.genres, self.titles)
        of_genre, of_title = (draw.normal(0, self.begin_spread, (size, 3)) for size in (self.genres, self.titles))
        begin = _softmax(of_genre[genre] + of_title)  # [X, Z]
        odds = np.add.outer(draw.normal(0, self.title_spread, self.titles), self.finish)
        finished = 1 / (1 + np.exp(-odds))  # [X, Z]
        title = self._bought(launch, draw)
        z = (begin[title].cumsum(-1) > draw.random((len(title), 1))).argmax(-1)
        y = (draw.random(len(title)) < finished[title, z]).astype(int)
        truth = (begin * finished).sum(-1)[title]
        day = np.repeat(np.arange(self.days), self.purchases)
        x = np.stack([title, genre[title]], axis=-1).astype(np.int32)
        return x, z, y, -np.log(np.where(y == 1, truth, 1 - truth)), day - launch[title]

    def _bought(self, launch: Array, draw: np.random.Generator) -> Array:
        """The title of each purchase, day by day."""
        popularity = draw.lognormal(0, self.popularity_spread, self.titles)
        bought = []
        for day in range(self.days):
            age = day - launch
            weight = np.where(age < 0, 0, popularity * (np.exp(-age / self.fashion_days) + self.back_catalogue))
            bought.append(draw.choice(self.titles, self.purchases, p=weight / weight.sum()))
        return np.concatenate(bought)


def _softmax(logits: Array) -> Array:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)
