"""What happens before a log is written: items that come and go, an early sign, an outcome, and the truth about both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.spaces import Array

DAY = 86_400


@dataclass(frozen=True)
class World:
    """Predictions about items that are launched all the time and live for a while."""

    rows: int
    items: int
    days: float
    life: float  # of an item, in days
    signs: tuple[float, ...]  # how often each value of the early sign is seen
    outcome_given_sign: tuple[float, ...]  # P(outcome) for each of them
    groups: int = 4
    spread: float = 1.0  # how far items differ in their signs, in log-odds
    tilt: float = 0.2  # how far they differ in the outcome beyond the sign


class Dealt(NamedTuple):
    """N predictions in the order of time."""

    item: Array  # int [N]
    group: Array  # int [N]: of the item
    at: Array  # int64 [N]: seconds since the start
    sign: Array  # int [N]
    outcome: Array  # bool [N]
    truth: Array  # float [N]: P(outcome) for someone who knows the item
    pooled: Array  # float [N]: the same for someone who knows its group only
    through_sign: Array  # float [N]: the same for someone who knows how often each sign is seen, and what it means

    @property
    def gain(self) -> float:
        """By how many nats the sign improves on the group, for an item whose outcomes are not known yet."""
        return float(np.mean(divergence(self.truth, self.pooled) - divergence(self.truth, self.through_sign)))


def deal(world: World, seed: int) -> Dealt:
    """What happens in a world."""
    draw = np.random.default_rng(seed)
    launch = draw.uniform(-world.life, world.days, world.items)
    item = draw.integers(0, world.items, 6 * world.rows)
    day = launch[item] + draw.uniform(0, world.life, len(item))
    inside = np.flatnonzero((day >= 0) & (day < world.days))[: world.rows]
    inside = inside[np.argsort(day[inside])]
    item, day = item[inside], day[inside]
    group_of = draw.integers(0, world.groups, world.items)
    odds = np.log(world.signs) + draw.normal(0, 0.4, (world.groups, len(world.signs)))[group_of]
    odds = np.exp(odds + draw.normal(0, world.spread, odds.shape))
    seen = odds / odds.sum(1, keepdims=True)
    sign = (seen.cumsum(1)[item] < draw.random((len(item), 1))).sum(1)
    given = np.array(world.outcome_given_sign)
    tilted = _sigmoid(np.log(given / (1 - given)) + draw.normal(0, world.tilt, (world.items, 1)))
    truth = (seen * tilted).sum(1)[item]
    means = np.array([truth[group_of[item] == group].mean() for group in range(world.groups)])
    return Dealt(
        item,
        group_of[item],
        (day * DAY).astype(np.int64),
        sign,
        draw.random(len(item)) < tilted[item, sign],
        truth,
        means[group_of[item]],
        (seen @ given)[item],
    )


def divergence(truth: Array, said: Array) -> Array:
    """The Kullback-Leibler divergence of two probabilities of the same thing, in nats."""
    return truth * np.log(truth / said) + (1 - truth) * np.log((1 - truth) / (1 - said))


def _sigmoid(logit: Array) -> Array:
    return 1 / (1 + np.exp(-logit))


@dataclass(frozen=True)
class RealisticLog:
    """A log as a company has it, with what only its maker knows."""

    name: str
    file: str  # its name, which says how it is written
    content: bytes
    task: str  # the best task file, by hand
    shown_at: str
    signals: dict[str, str]  # the columns, or kinds of events, that the outcome and each proxy come from
    leaks: tuple[str, ...]  # columns that tell of what is not known at the prediction
    honest: tuple[str, ...]  # columns that may be features
    gappy: tuple[str, ...]  # those of them that have gaps
    ids: tuple[str, ...]  # of each prediction, as a backtest names it
    outcome: Array  # bool [N]
    truth: Array  # float [N]: P(outcome)
    signs: dict[str, Array]  # by proxy: its symbols [N], -1 where the log does not tell
    gains: dict[str, float]  # by proxy: `Dealt.gain`, 0 where it tells nothing

    @property
    def least_loss(self) -> Array:
        """The log loss [N] of the true probabilities."""
        return -np.log(np.where(self.outcome, self.truth, 1 - self.truth))


class Delays(NamedTuple):
    """How many days things take: from `soonest` to `horizon`, or, for a share `late` of the others, to `latest`."""

    soonest: float
    horizon: float
    latest: float
    late: float


def moments(at: Array, happens: Array, delays: Delays, export: int, draw: np.random.Generator) -> Array:
    """When something happened, in seconds [N]; -1 where it had not by the time of the export."""
    soon = draw.uniform(delays.soonest, delays.horizon, len(at))
    after = draw.uniform(delays.horizon + 0.05, delays.latest, len(at))
    when = at + (np.where(happens, soon, after) * DAY).astype(np.int64)
    return np.where((happens | (draw.random(len(at)) < delays.late)) & (when <= export), when, -1)


GAPS = ("", "NULL", "n/a")
"""How companies write that there is nothing."""


def with_gaps(words: list[str], share: float, draw: np.random.Generator) -> list[str]:
    """The words, a share of them replaced by nothing."""
    gone, how = draw.random(len(words)) < share, draw.integers(0, len(GAPS), len(words))
    return [GAPS[gap] if lost else word for word, lost, gap in zip(words, gone, how, strict=True)]


def in_figures(words: list[str]) -> Array:
    """Which of the words are numbers, bool [N]."""
    return np.array([word.isdecimal() for word in words])


def lines(separator: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], end: str) -> str:
    """Delimited text; a cell that holds the separator is quoted."""
    quoted = ([f'"{cell}"' if separator in cell else cell for cell in row] for row in [head, *rows])
    return "".join(separator.join(row) + end for row in quoted)
