"""The example task on the real log of learning resources."""

from pathlib import Path

import numpy as np
import pytest

from presage.backtesting.backtest import to_episode
from presage.logs.rows import read_log
from presage.task.task import load_task
from presage.timeline.arrivals import arrivals
from tests.logs.places import real_data

TASK = Path(__file__).parents[2] / "examples" / "oulad.toml"


@pytest.mark.long
def test_the_running_marginal_scores_what_it_is_known_to_score() -> None:
    rows, excluded = read_log(load_task(TASK), real_data("oulad") / "resources_21d.parquet")
    assert excluded.counts == {}
    assert len(rows.id) == 1_922_525
    assert rows.features.symbols == (4904, 19, 7)
    episode = to_episode(rows)
    order = arrivals(episode.outcome_seen)
    so_far = np.vstack([np.zeros(4), np.eye(4)[episode.y[order.rows]].cumsum(axis=0)])[order.known[:-1]] + 1
    chances = so_far[np.arange(len(so_far)), episode.y] / so_far.sum(axis=1)
    assert -np.log(chances).mean() == pytest.approx(1.0412, abs=5e-5)
