"""Rivals in a backtest: played on its rows, scored like its forecasters, and compared with the default row by row."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from presage.backtesting.backtest import MARGINAL, Backtest, new_rows, spaces_of, to_episode
from presage.backtesting.leak_check import LeakCheck, TamperedLog, moved_rows, tampered_log
from presage.backtesting.over_time import losses_over_time
from presage.backtesting.replay import KeptRows, Said
from presage.backtesting.rival_verdict import RivalScore
from presage.backtesting.scores import percent_of, score_log
from presage.errors import DataError
from presage.logs.rows import LogRows
from presage.metrics.bootstrap import bootstrap_mean
from presage.metrics.losses import log_loss
from presage.progress import Progress, silent
from presage.rivals.rival import Rival, RivalLog, play_rival
from presage.spaces import Array
from presage.task.features import Category
from presage.task.task import Task


class SaidTogether(Mapping[str, Array]):
    """What the forecasters and the rivals said of every row."""

    def __init__(self, forecasters: Said, rivals: Said) -> None:
        self._both = forecasters, rivals

    def __getitem__(self, name: str) -> Array:
        forecasters, rivals = self._both
        return rivals[name] if name in rivals else forecasters[name]

    def __iter__(self) -> Iterator[str]:
        for said in self._both:
            yield from said

    def __len__(self) -> int:
        return sum(map(len, self._both))


def with_rivals(
    found: Backtest,
    task: Task,
    rows: LogRows,
    rivals: tuple[Rival, ...],
    *,
    proxy: str | None,
    seed: int,
    progress: Progress = silent,
) -> Backtest:
    """The backtest with rivals beside its forecasters; each is played on its rows, and for the check of leaks."""
    if not rivals:
        return found
    episode, spaces = to_episode(rows, proxy), spaces_of(task, rows, proxy)
    episode = replace(episode, x=spaces.encode(episode.x))
    log = RivalLog(episode, spaces, rows.shown_at, task.symbols, ordered_columns(task), seed, task.in_rows)
    said = KeptRows([rival.name for rival in rivals], episode.rounds, spaces.outcomes)
    moved: dict[str, int] = {}
    tampered = tampered_log(spaces, episode, seed)
    for rival in rivals:
        begun = time.perf_counter()
        with progress(f"backtest: {rival.name}", log.rows) as step:
            said.add(rival.name, play_rival(rival, log, step))
        said.seconds[rival.name] = time.perf_counter() - begun
        with progress(f"backtest: {rival.name}, order of time", None):
            moved[rival.name] = moved_by(rival, log, tampered)
    first, identity = found.over_time.first, rows.instances.symbols[:, 0]
    new = new_rows(identity, episode.proxy_seen, episode.outcome_seen)
    marginal = log_loss(found.said[MARGINAL], episode.y)
    scores = found.scores | score_log(said, episode.y, new, rows.group, marginal, first=first)
    seconds = {**getattr(found.said, "seconds", {}), **said.seconds}
    over = losses_over_time(said, episode.y, new, found.over_time.blocks, first)
    judged = found.compared.default or found.best
    return replace(
        found,
        scores={name: score._replace(seconds=seconds.get(name)) for name, score in scores.items()},
        over_time=found.over_time._replace(
            losses=found.over_time.losses | over.losses, new=found.over_time.new | over.new
        ),
        leak_check=LeakCheck(found.leak_check.tampered, found.leak_check.moved + sum(moved.values())),
        said=SaidTogether(found.said, said),
        rivals={
            name: _compared(judged, found.said[judged], said[name], episode.y)._replace(
                seconds=seconds[name], moved=moved[name]
            )
            for name in said
        },
    )


def ordered_columns(task: Task) -> tuple[bool, ...]:
    """Which of the symbol columns have an order: all but categories."""
    categories = {feature.name for feature in task.instance if isinstance(feature, Category)}
    return tuple(name not in categories for name in task.symbols)


def _compared(judged: str, ours: Array, theirs: Array, y: Array) -> RivalScore:
    """How much more a forecaster loses than a rival, row by row."""
    loss = log_loss(theirs, y)
    difference = bootstrap_mean(log_loss(ours, y) - loss)
    return RivalScore(judged, difference, percent_of(difference, float(np.nanmean(loss, dtype=np.float64))))


def moved_by(rival: Rival, log: RivalLog, tampered: TamperedLog) -> int:
    """How many rows a rival predicts otherwise once labels that become known later are changed: none, if it is honest.

    A rival that does not repeat itself on one log is refused: nothing could be told of it.
    """
    rows = tampered.honest.rounds
    part = log._replace(episode=tampered.honest, shown_at=log.shown_at[:: tampered.step][:rows])

    def said(log: RivalLog) -> Array:
        return play_rival(rival, log, lambda _: None)

    honest = said(part)
    moved = moved_rows(honest, said(part._replace(episode=tampered.changed)), tampered.until)
    if moved and moved_rows(honest, said(part), rows):
        remedy = "fix what it draws at random, such as random_state=0"
        raise DataError("a rival does not say the same of a log when it is played again", rival.name, remedy)
    return moved
