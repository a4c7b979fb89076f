"""A log as an episode: who sees what is decided by moments alone, against the plain definition."""

import numpy as np
import pytest

from presage.backtesting.backtest import seen, to_episode
from presage.logs.rows import LogRows, SignalRows
from presage.logs.signals import NEVER_AT
from presage.spaces import Features, Instance
from presage.timeline.arrivals import arrivals
from presage.timeline.episode import NEVER


@pytest.mark.parametrize("trial", range(20))
def test_a_prediction_sees_exactly_what_was_known_before_its_moment(trial: int) -> None:
    draw = np.random.default_rng(trial)
    shown_at = np.sort(draw.integers(0, 12, 30))  # many rows share an instant
    known_at = np.where(draw.random(30) < 0.2, NEVER_AT, shown_at + draw.integers(0, 6, 30))
    order = arrivals(seen(shown_at, known_at))
    for row in range(30):
        visible = set(order.rows[: order.known[row]].tolist())
        assert visible == {other for other in range(30) if known_at[other] < shown_at[row]}


def rows() -> LogRows:
    shown_at = np.array([10, 10, 20, 30])
    proxy = SignalRows("proxy", np.array([0, 1, -1, 1], np.int32), np.array([10, 20, NEVER_AT, 31]))
    late = SignalRows("late", np.array([1, 1, 1, 1], np.int32), np.array([30, 30, 30, 30]))
    outcome = SignalRows("outcome", np.array([0, 1, 1, 0], np.int32), np.array([20, 29, 30, 99]))
    instances = Instance(np.zeros((4, 1), np.int32), np.zeros((4, 0), np.float32))
    return LogRows(np.arange(4), shown_at, instances, (proxy, late), outcome, None, Features(symbols=(1,)), {})


def test_feedback_after_the_last_row_is_seen_by_none_but_still_scores() -> None:
    episode = to_episode(rows())
    assert episode.proxy_seen.tolist() == [1, 2, NEVER, 4]
    assert episode.outcome_seen.tolist() == [2, 2, 3, 4]
    assert episode.y.tolist() == [0, 1, 1, 0]
    assert arrivals(episode.outcome_seen).known[-1] == 3
    assert episode.without_delay().outcome_seen.tolist() == [0, 1, 2, 3]


def test_an_episode_takes_the_proxy_that_is_named() -> None:
    assert to_episode(rows(), "late").proxy_seen.tolist() == [3, 3, 3, 3]
    with pytest.raises(ValueError, match="without this proxy: found 'none'; choose one of proxy, late"):
        to_episode(rows(), "none")
