"""Ebooks whose length decides what the proxy means: the truth is the truth, and the page has what is printed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from examples import proxy_with
from presage import Delays, factored_table
from presage.drivers.counting.episodes import count_experts
from presage.errors import SettingError
from presage.worlds import LengthWorld

PAGE = (Path(__file__).parents[2] / "docs" / "forecasters.md").read_text()


def test_the_truth_is_how_often_titles_are_finished() -> None:
    """The mean loss of the truth is its entropy; no forecaster has less by more than chance."""
    dealt = LengthWorld(titles=4).deal(30, 3000, Delays(0, 10), mix=1.0, seed=1)
    said = np.exp(-dealt.true_loss)
    p = np.where(dealt.episode.y == 1, said, 1 - said)  # p(y = 1|x)
    gap = (dealt.episode.y - p).mean()
    assert abs(gap) < 4 * np.sqrt((p * (1 - p)).mean() / p.size)
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    excess = dealt.true_loss - entropy
    assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(excess.size)


def test_a_length_that_says_nothing_leaves_one_meaning_to_each_proxy() -> None:
    for told, differ in ((0.0, False), (2.0, True)):
        episode = LengthWorld(told=told).deal(1, 60_000, Delays(0, 0), mix=1.0, seed=3).episode
        length, z, y = episode.x.symbols[0, :, 1], episode.z[0], episode.y[0]
        rates = np.array([[y[(z == proxy) & (length == each)].mean() for each in range(3)] for proxy in range(3)])
        assert (np.ptp(rates, axis=1).max() > 0.1) == differ


def test_with_the_length_regret_stops_growing() -> None:
    world = LengthWorld(lengths=2)
    dealt = world.deal(10, 4000, Delays(0, 100), mix=1.0, seed=0)
    late = []
    for spaces in (world.spaces, replace(world.spaces, proxy_with=(1,))):
        regret = count_experts(factored_table(spaces), dealt.episode).own - dealt.true_loss
        late.append(regret[:, 3000:].mean())
    assert late[0] > 0.01
    assert late[1] < 0.003


def test_a_wrong_setting_is_refused() -> None:
    with pytest.raises(SettingError, match="lengths must be a whole number"):
        LengthWorld(lengths=0)
    with pytest.raises(SettingError, match="told must lie in"):
        LengthWorld(told=-1.0)


def test_the_page_has_the_figures_that_are_printed() -> None:
    assert proxy_with.HEAD in PAGE
    assert [line for line in proxy_with.lines() if line not in PAGE] == []
