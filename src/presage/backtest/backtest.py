"""A backtest: every forecaster over a log, honestly, and a proof that nothing leaked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from presage.backtest.forecasters import chosen_forecasters, named_forecasters
from presage.backtest.leaks import LeakCheck, check_leaks
from presage.backtest.replay import Said, replay
from presage.backtest.rows import new_rows
from presage.backtest.scores import Score, score_log
from presage.errors import DataError
from presage.logs.episodes import to_episode
from presage.logs.rows import LogRows
from presage.metrics.loss import log_loss
from presage.spaces import Spaces
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
    leak_check: LeakCheck
    said: Said

    @property
    def best(self) -> str:
        """The forecaster with the least loss, in hindsight."""
        return min(self.scores, key=lambda name: self.scores[name].losses.overall.mean)

    def as_json(self, seconds: Seconds) -> dict[str, Any]:
        """The results as JSON values."""
        return {
            "rows": self.rows,
            "instances": self.instances,
            "seconds": {name: round(value, 3) for name, value in seconds._asdict().items()},
            "forecasters": {name: score.as_json() for name, score in self.scores.items()},
            "best": self.best,
            "default": DEFAULT,
            "leak_check": self.leak_check._asdict(),
        }


def groups_of(task: Task) -> tuple[tuple[int, ...], ...]:
    """The symbol columns through which tables back off, coarse to fine."""
    places = {name: place for place, name in enumerate(task.symbols)}
    return tuple(tuple(sorted(places[name] for name in group)) for group in task.forecaster.back_off)


def table_names(task: Task) -> tuple[str, ...]:
    """The forecasters of a backtest that names none: all tables, and their mixture."""
    return tuple(name for name in named_forecasters(groups_of(task)) if "network" not in name)


def run_backtest(
    task: Task,
    rows: LogRows,
    names: tuple[str, ...],
    seed: int,
    tell: Callable[[str], None],
    *,
    proxy: str | None = None,
) -> Backtest:
    """The forecasters of these names over the rows of a log; `tell` is told of each that is done."""
    episode = to_episode(rows, proxy)
    if not (rows.outcome.symbols >= 0).any():
        raise DataError("no outcome is known", len(rows.shown_at), "give a longer log, or a shorter horizon")
    spaces = Spaces(rows.features, len(task.proxy(proxy).values), len(task.outcome.values))
    forecasters = chosen_forecasters(tuple(dict.fromkeys((MARGINAL, *names))), spaces, groups_of(task))
    said = replay(forecasters, episode, seed, tell)
    identity = rows.instances.symbols[:, 0]
    new = new_rows(identity, episode.proxy_seen, episode.outcome_seen)
    scores = score_log(said, episode.y, new, rows.group, log_loss(said[MARGINAL], episode.y))
    leaks = check_leaks(forecasters, spaces, episode, seed)
    return Backtest(len(identity), len(np.unique(identity)), scores, leaks, said)
