"""Episodes refuse feedback from the past, and lay out what arrives when."""

import numpy as np
import pytest

from presage import Delays, Episode, Features, Instance, Spaces, direct_table, play, play_trials
from presage.errors import DelayError, ShapeError, SymbolError
from presage.timeline.arrivals import arrivals
from tests.problems import PLAIN, episode


@pytest.mark.parametrize("delays", [(-1, 2), (0, -1), (3, 2), (0.5, 2), (True, 2)])
def test_delays_that_cannot_be_are_refused(delays: tuple[int, int]) -> None:
    with pytest.raises(DelayError):
        Delays(*delays)


def test_feedback_before_its_round_is_refused() -> None:
    with pytest.raises(DelayError, match=r"proxy of round 2 would be seen before that round: found 1"):
        Episode.varying([0] * 3, [0] * 3, [0] * 3, [0, 1, 1], [-1, -1, -1])
    with pytest.raises(DelayError, match="outcome of round 0"):
        Episode.varying([0] * 3, [0] * 3, [0] * 3, [0, 1, 2], [-2, 1, 2])


def test_feedback_that_is_seen_must_be_known() -> None:
    with pytest.raises(DelayError, match="seen but unknown"):
        Episode.varying([0, 0], [0, -1], [0, 0], [0, 1], [0, 1])
    Episode.varying([0, 0], [0, -1], [0, 0], [0, -1], [0, 1])


def test_parts_of_different_length_are_refused() -> None:
    for parts in (([0, 0], [0], [0]), ([0], [0, 0], [0]), ([], [], [])):
        with pytest.raises((ShapeError, SymbolError)):
            Episode.fixed(*parts, Delays(0, 0))
    with pytest.raises(ShapeError):
        Episode.fixed(0, 0, 0, Delays(0, 0))
    with pytest.raises(ShapeError):
        Episode.varying([0, 0], [0, 0], [0, 0], [0], [0, 1])
    with pytest.raises(ShapeError, match="equally long"):
        Episode.stack([episode("fixed", rounds=5), episode("fixed", rounds=6)])


def test_wrong_symbols_are_refused_before_anything_is_computed() -> None:
    for x, z, y in (([7], [0], [0]), ([0], [3], [0]), ([0], [0], [2])):
        with pytest.raises(SymbolError):
            play(direct_table(PLAIN), Episode.fixed(x, z, y, Delays(0, 0)), 0)


def test_single_episodes_and_trials_are_told_apart() -> None:
    single, trials = episode("fixed", rounds=9), Episode.stack([episode("fixed", rounds=9)] * 2)
    with pytest.raises(ShapeError, match="play_trials"):
        play(direct_table(PLAIN), trials, 0)
    with pytest.raises(ShapeError, match="stack"):
        play_trials(direct_table(PLAIN), single, 0)
    assert trials.proxy_seen.ndim == 1  # what all trials share is kept once


def test_episodes_of_mixed_features_stack_and_split() -> None:
    spaces = Spaces(Features(symbols=(4,), dense=2), 2, 2)
    x = Instance(np.ones((5, 1), np.int32), np.ones((5, 2), np.float32))
    one = Episode.fixed(x, [0] * 5, [1] * 5, Delays(1, 2))
    both = Episode.stack([one, one])
    assert both.x.dense.shape == (2, 5, 2)
    assert both.trial(1).x.dense.shape == (5, 2)
    assert play_trials(direct_table(spaces), both, 0).shape == (2, 5)


def test_arrivals_count_what_is_known_before_each_prediction() -> None:
    seen = np.array([1, 1, -1, 9, 4])
    order = arrivals(seen)
    assert order.rows[:3].tolist() == [0, 1, 4]
    assert order.known.tolist() == [0, 0, 2, 2, 2, 3]  # row 3 is seen after the last round
    for t in range(6):
        assert order.known[t] == sum(0 <= at < t for at in seen)
