"""A backtest: every forecaster over a log, honestly, and a proof that nothing leaked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from presage.backtest.blocks import time_blocks
from presage.backtest.families import proxy_pair
from presage.backtest.family_weights import family_weights
from presage.backtest.leaks import LeakCheck, check_leaks
from presage.backtest.over_time import OverTime, losses_over_time
from presage.backtest.replay import Said, replay
from presage.backtest.rows import new_rows
from presage.backtest.scores import Score, gain_over, plain_json, score_log
from presage.backtest.twins import delay_costs
from presage.backtest.verdict import ProxyGain, loss_of, verdict
from presage.errors import DataError
from presage.forecasters.catalogue import chosen_forecasters, named_forecasters
from presage.logs.episodes import to_episode
from presage.logs.rows import LogRows
from presage.metrics.bootstrap import LEAST
from presage.metrics.regret import log_loss
from presage.spaces import Array, Spaces
from presage.task.task import Task

DEFAULT = "mixture"
MARGINAL = "marginal"


class Seconds(NamedTuple):
    """How long a backtest took."""

    read: float
    compile: float
    run: float


@dataclass(frozen=True)
class Backtest:
    """The results of a backtest."""

    rows: int
    instances: int
    scores: dict[str, Score]
    proxy_gain: ProxyGain | None
    over_time: OverTime
    leak_check: LeakCheck
    said: Said

    @property
    def best(self) -> str:
        """The forecaster with the least loss, in hindsight."""
        return min(self.scores, key=lambda name: self.scores[name].losses.overall.mean)

    @property
    def verdict(self) -> list[str]:
        """What it comes to, in plain words."""
        return verdict(self.scores, self.proxy_gain, self.over_time, self.leak_check, DEFAULT)

    def as_json(self, seconds: Seconds) -> dict[str, Any]:
        """The results as JSON values."""
        gain = self.proxy_gain
        return {
            "rows": self.rows,
            "instances": self.instances,
            "seconds": {name: round(value, 3) for name, value in seconds._asdict().items()},
            "forecasters": {name: score.as_json() for name, score in self.scores.items()},
            "best": self.best,
            "default": DEFAULT,
            "leak_check": self.leak_check._asdict(),
            "verdict": self.verdict,
            "proxy_gain": gain and {"forecaster": gain.name, **plain_json(gain.over.as_json())},
            "over_time": self.over_time.as_json(),
        }


def groups_of(task: Task) -> tuple[tuple[int, ...], ...]:
    """The symbol columns through which tables back off, coarse to fine."""
    places = {name: place for place, name in enumerate(task.symbols)}
    return tuple(tuple(sorted(places[name] for name in group)) for group in task.forecaster.back_off)


def table_names(task: Task) -> tuple[str, ...]:
    """The forecasters of a backtest that names none: all tables, and their mixture."""
    return tuple(name for name in named_forecasters(groups_of(task)) if "network" not in name)


def played_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The forecasters that are played when these are asked for: the marginal is, always."""
    return tuple(dict.fromkeys((MARGINAL, *names)))


def spaces_of(task: Task, rows: LogRows, proxy: str | None) -> Spaces:
    """The spaces of a log with one of its proxies."""
    return Spaces(rows.features, len(task.proxy(proxy).values), len(task.outcome.values))


def run_backtest(
    task: Task,
    rows: LogRows,
    names: tuple[str, ...],
    seed: int,
    tell: Callable[[str], None],
    *,
    proxy: str | None = None,
    twins: bool = False,
) -> Backtest:
    """The forecasters of these names over the rows of a log; `tell` is told of each that is done.

    With `twins` each is played again without delays, which tells what waiting costs it.
    """
    episode = to_episode(rows, proxy)
    scored = rows.outcome.symbols >= 0
    known = int(scored.sum())
    if known < LEAST:
        remedy = f"give one with at least {LEAST} outcomes that are known, or a shorter horizon"
        raise DataError("too few rows of the log can be scored", known, remedy)
    spaces = spaces_of(task, rows, proxy)
    forecasters = chosen_forecasters(played_names(names), spaces, groups_of(task))
    said = replay(forecasters, episode, seed, tell)
    identity = rows.instances.symbols[:, 0]
    new = new_rows(identity, episode.proxy_seen, episode.outcome_seen)
    scores = score_log(said, episode.y, new, rows.group, log_loss(said[MARGINAL], episode.y))
    if twins:
        costs = delay_costs(forecasters, said, episode, seed, tell)
        scores = {name: score.with_delay_cost(costs[name]) for name, score in scores.items()}
    pair = proxy_pair({name: loss_of(score) for name, score in scores.items()})
    gain = pair and ProxyGain(pair[0], gain_over(said, episode.y, new, *pair))
    over_time = losses_over_time(said, episode.y, new, time_blocks(rows.shown_at, scored))
    leaks = check_leaks(forecasters, spaces, episode, seed)
    return Backtest(len(identity), len(np.unique(identity)), scores, gain, over_time, leaks, said)


def default_weights(task: Task, rows: LogRows, found: Backtest, proxy: str | None) -> dict[str, Array] | None:
    """How much the default trusted each family of its experts over time; None where it was not played."""
    if DEFAULT not in found.scores:
        return None
    forecaster = chosen_forecasters((DEFAULT,), spaces_of(task, rows, proxy), groups_of(task))[DEFAULT]
    return family_weights(forecaster, to_episode(rows, proxy), found.over_time.blocks)
