"""A log replayed by the compiled drivers against a learner that is fed its events one by one."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest

from presage import Episode, Forecaster, Spaces
from presage.backtesting.backtest import groups_of, to_episode
from presage.backtesting.replay import replay
from presage.drivers.counting import episodes as stretches
from presage.drivers.counting.episodes import lay_out_log
from presage.forecasters.catalogue import TaskFacts, chosen_forecasters, named_forecasters
from presage.logs.rows import LogRows, SignalRows, read_log
from presage.metrics.losses import log_loss
from presage.simulation.simulate import simulate
from presage.spaces import Array, Instance
from presage.task.task import Task, load_task
from presage.worlds.shop import ShopSettings
from tests.logs.places import real_data
from tests.problems import play_live

ROWS = 2000
OULAD = Path(__file__).parents[2] / "examples" / "oulad.toml"


class Problem(NamedTuple):
    """The rows of a log, and the forecasters that a backtest plays on it."""

    episode: Episode
    forecasters: dict[str, Forecaster]


def problem_of(task: Task, rows: LogRows) -> Problem:
    spaces = Spaces(rows.features, len(task.proxy(None).values), len(task.outcome.values))
    groups = groups_of(task)
    return Problem(to_episode(rows), chosen_forecasters(tuple(named_forecasters(groups)), spaces, TaskFacts(groups)))


def some_rows(rows: LogRows, chosen: Array) -> LogRows:
    """The log as if only these rows had been written: those at the beginning hear nothing back for weeks."""

    def some(signal: SignalRows) -> SignalRows:
        return signal._replace(symbols=signal.symbols[chosen], known_at=signal.known_at[chosen])

    return rows._replace(
        id=rows.id[chosen],
        shown_at=rows.shown_at[chosen],
        instances=Instance(*(part[chosen] for part in rows.instances)),
        proxies=tuple(some(proxy) for proxy in rows.proxies),
        outcome=some(rows.outcome),
    )


@pytest.fixture(scope="module", params=["resources", "shop"])
def problem(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Problem:
    if request.param == "shop":
        log = tmp_path_factory.mktemp("shop") / "shop.parquet"
        written = simulate(ShopSettings(days=200, outcome_days=30), log, rows=ROWS, missing=0.2)
        task = load_task(written.task)
        return problem_of(task, read_log(task, log)[0])
    task = load_task(OULAD)
    rows, _ = read_log(task, real_data("oulad") / "resources_21d.parquet")
    every = len(rows.id) // ROWS
    return problem_of(task, some_rows(rows, np.arange(ROWS) * every))


def counted(forecaster: Forecaster, episode: Episode) -> Iterator[Array]:
    """Each table of a forecaster, as the backtest has counted it after the last row."""
    log = lay_out_log([forecaster], None, episode)
    for start, stop in log.bounds():
        log.count(start, stop)
    ends = np.append(log.laid.sizes.first, log.laid.sizes.cells)
    for table, (first, last) in enumerate(pairwise(ends)):
        yield log.counts[first:last].reshape(-1, log.laid.sizes.widths[table])


@pytest.mark.long
def test_a_backtest_says_what_a_learner_says_that_is_fed_event_by_event(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "EVENTS", 700)  # so that there are several stretches
    episode, forecasters = problem
    late = episode.outcome_seen - np.arange(episode.rounds)
    assert len(np.unique(late[episode.outcome_seen < episode.rounds])) > 10  # delays vary
    said = replay(forecasters, episode, 7, lambda _: None)
    for name, forecaster in forecasters.items():
        live, state = play_live(forecaster, episode, 7)
        gap = np.nanmax(np.abs(log_loss(said[name], episode.y) - log_loss(live, episode.y)))
        assert gap < (1e-5 if "network" in name else 1e-6), (name, gap)
        if forecaster.replay is None and forecaster.family != "mixture":
            compare_counts(forecaster, episode, state)
    moved = {name: float(np.ptp(said[name][:, 0])) for name in forecasters}
    assert min(moved.values()) > 0.05, moved  # all of them learn something on the way


def compare_counts(forecaster: Forecaster, episode: Episode, state: object) -> None:
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
    tables = list(counted(forecaster, episode))
    assert len(leaves) == len(tables)
    for live, ours in zip(leaves, tables, strict=True):
        cells = ours.reshape(*live.shape[:-1], live.shape[-1] + 1)  # the first of each context counts the others
        assert np.array_equal(cells[..., 1:], live)
        assert np.array_equal(cells[..., 0], live.sum(axis=-1))
    assert sum(int(live.sum()) for live in leaves) > episode.rounds / 2
