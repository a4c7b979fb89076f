"""What the forecast rests on: how much the log loss of the default rises when it has to do without a feature."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from presage.backtesting.leak_check import first_rows
from presage.backtesting.score_columns import TextTable, spread
from presage.backtesting.scores import plain_json
from presage.dataframes import Columns
from presage.drivers.contexts.episodes import stretch_contexts
from presage.drivers.threads import over_cores
from presage.forecasters.contexts.layout import ContextLayout
from presage.forecasters.contract import Forecaster
from presage.metrics.bootstrap import LEAST, bootstrap_mean
from presage.metrics.intervals import Interval
from presage.metrics.losses import log_loss
from presage.proxies.judge import WORTH_HAVING
from presage.spaces import EMPTY, Array, Features, Instance
from presage.task.features import Number, SetFeature, symbol_names
from presage.task.task import Task
from presage.timeline.episode import Episode

REPLAYED, LEAST_REPLAYED = 10_000_000, 150_000
"""How many rows are replayed in all, and at least without each feature: the first ones."""

NAMED = 3
"""How many features the verdict names at most: those that cost at least a share of what the first one does."""

SHARE = 0.25


class FeaturePlaces(NamedTuple):
    """Which columns of an instance hold a feature."""

    symbols: tuple[int, ...]  # of symbols, and of slots of sets
    empty: bool  # whether these are slots of a set
    dense: tuple[int, ...]


class Reliance(NamedTuple):
    """What it costs to do without a feature."""

    feature: str
    loss_without: float
    rise: Interval  # of the log loss, row by row


class RestsOn(NamedTuple):
    """What it costs to do without each feature, the dearest first."""

    features: tuple[Reliance, ...]  # none where the default was not played, or too few rows are scored
    identity: str
    rows: int  # how many were replayed
    every: int  # how many there are

    @property
    def sentence(self) -> str:
        """The features that the forecast rests on most, as the verdict says it; empty where nothing is known."""
        if not self.features:
            return ""
        first = self.features[0]
        if first.rise.low <= 0:
            return "The forecast rests on no single feature: without any one of them the log loss is much the same."
        if first.rise.mean < WORTH_HAVING * first.loss_without:
            return (
                f"The forecast rests on no single feature: without {first.feature}, the one that it would miss most, "
                f"the log loss would be only {first.rise.mean:.2g} higher."
            )
        most = [
            each.feature
            for each in self.features[:NAMED]
            if each.rise.low > 0 and each.rise.mean >= SHARE * first.rise.mean
        ]
        listed = f"{', '.join(most[:-1])} and {most[-1]}" if len(most) > 1 else most[0]
        mostly = "mostly " if len(most) < len(self.features) else ""
        return (
            f"The forecast rests {mostly}on {listed}: without {first.feature} the log loss would be "
            f"{first.rise.mean:.2g} higher."
        )

    @property
    def part(self) -> str:
        """Which rows were replayed, where those are not all; empty where they are."""
        if self.rows == self.every:
            return ""
        return f"On the first {self.rows:,} of {self.every:,} predictions."

    def named(self, feature: str) -> str:
        """A feature as tables and charts call it."""
        return f"{feature} (identity)" if feature == self.identity else feature

    def text_table(self) -> TextTable:
        """Head and rows for the terminal."""
        rows = [[self.named(each.feature), f"{each.loss_without:.4f}", spread(each.rise)] for each in self.features]
        return ["the forecast rests on", "log loss without it", "rise"], rows

    def columns(self) -> Columns:
        """A row per feature, for files and dataframes."""
        numbers = [(each.loss_without, *each.rise) for each in self.features]
        names = ("loss_without", "rise", "low", "high")
        return {"feature": np.array([each.feature for each in self.features], object)} | {
            name: np.array([row[place] for row in numbers], np.float64) for place, name in enumerate(names)
        }

    def as_json(self) -> list[dict[str, Any]]:
        """The same as JSON values."""
        return [
            plain_json(
                {
                    "feature": each.feature,
                    "loss_without": each.loss_without,
                    "rise": each.rise.mean,
                    "low": each.rise.low,
                    "high": each.rise.high,
                }
            )
            for each in self.features
        ]


def feature_columns(task: Task, features: Features) -> dict[str, FeaturePlaces]:
    """Which columns hold each feature of a task; the parts of a timestamp are one feature."""
    found, symbols, slots, dense = {}, 0, len(features.symbols), 0
    sets = iter(features.sets)
    for feature in task.instance:
        if isinstance(feature, SetFeature):
            size = next(sets).slots
            found[feature.name] = FeaturePlaces(tuple(range(slots, slots + size)), True, ())
            slots += size
        elif isinstance(feature, Number):
            found[feature.name] = FeaturePlaces((), False, (dense,))
            dense += 1
        else:
            size = len(symbol_names((feature,)))
            found[feature.name] = FeaturePlaces(tuple(range(symbols, symbols + size)), False, ())
            symbols += size
    return found


def held_constant(x: Instance, columns: FeaturePlaces) -> Instance:
    """The instances with one feature the same in all of them: its first symbol, an empty set, or 0.

    >>> x = Instance(np.array([[3, 1], [2, 0]]), np.array([[0.5], [1.5]]))
    >>> held_constant(x, FeaturePlaces((0,), False, ())).symbols.tolist()
    [[0, 1], [0, 0]]
    """
    symbols, dense = x.symbols.copy(), x.dense.copy()
    symbols[:, columns.symbols] = EMPTY if columns.empty else 0
    dense[:, columns.dense] = 0
    return Instance(symbols, dense)


def rests_on(
    task: Task,
    default: Forecaster,
    episode: Episode,
    said: Array,
    tell: Callable[[str], None],
    *,
    most: int | None = None,
) -> RestsOn:
    """What the default rests on in the first rows of an episode, of which it said `said` [N, Y].

    The rows are replayed once for each feature, which is held constant, so that nothing can be learnt from it; `tell`
    is told of each that is done. `most` bounds the rows; by default the features share a bound. Features that tell the
    same stand in for each other: each alone then costs little.
    """
    layout = default.structure
    assert isinstance(layout, ContextLayout)
    most = most or max(LEAST_REPLAYED, REPLAYED // len(task.instance))
    rows, identity = min(episode.rounds, most), task.instance[0].name
    part = first_rows(episode, rows)
    if np.count_nonzero(part.y >= 0) < LEAST:
        return RestsOn((), identity, rows, episode.rounds)
    x = layout.spaces.encode(part.x)
    losses = log_loss(said[:rows], part.y)
    loss = float(np.nanmean(losses, dtype=np.float64))
    columns = feature_columns(task, layout.spaces.features)

    def without(name: str) -> Reliance:
        other = Episode(held_constant(x, columns[name]), part.z, part.y, part.proxy_seen, part.outcome_seen)
        replayed = np.concatenate([each.log_probabilities for each in stretch_contexts(layout, other)])
        rise = bootstrap_mean(log_loss(replayed, part.y) - losses)
        tell(name)
        return Reliance(name, loss + rise.mean, rise)

    each = over_cores(without, columns)
    each.sort(key=lambda one: -math.inf if math.isnan(one.rise.mean) else one.rise.mean, reverse=True)
    return RestsOn(tuple(each), identity, rows, episode.rounds)
