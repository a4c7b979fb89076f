"""Nothing is known before it was known: tampering with the future moves no score of the past."""

import numpy as np
import pytest

from presage import Delays, Episode, play
from tests.problems import FORECASTERS, PLAIN, episode


@pytest.mark.long
@pytest.mark.parametrize("kind", ["fixed", "varying", "bursts"])
@pytest.mark.parametrize("name", FORECASTERS)
def test_no_score_depends_on_feedback_before_its_reveal(name: str, kind: str) -> None:
    forecaster, dealt = FORECASTERS[name](PLAIN), episode(kind)
    honest = play(forecaster, dealt, 3)
    for row in (5, 60):
        for part, symbols, seen in (("z", 3, dealt.proxy_seen), ("y", 2, dealt.outcome_seen)):
            tampered = {"z": dealt.z.copy(), "y": dealt.y.copy()}
            tampered[part][row] = (tampered[part][row] + 1) % symbols
            other = Episode.varying(dealt.x, tampered["z"], tampered["y"], dealt.proxy_seen, dealt.outcome_seen)
            moved = np.flatnonzero(play(forecaster, other, 3) != honest)
            first_visible = seen[row] + 1 if seen[row] >= 0 else dealt.rounds
            # The loss of the row itself is scored with the tampered outcome; its prediction is not touched.
            assert all(t >= first_visible or (part == "y" and t == row) for t in moved)


@pytest.mark.parametrize("name", ["direct-table", "factored-table", "residual-table", "mixture"])
def test_feedback_is_seen_by_the_very_next_round(name: str) -> None:
    forecaster, dealt = FORECASTERS[name](PLAIN), episode("at once")
    dealt = Episode.fixed(np.zeros_like(dealt.x), dealt.z, dealt.y, Delays(proxy=0, outcome=0))
    tampered = dealt.y.copy()
    tampered[10] = 1 - tampered[10]
    other = Episode.fixed(dealt.x, dealt.z, tampered, Delays(proxy=0, outcome=0))
    moved = play(forecaster, other, 3) != play(forecaster, dealt, 3)
    assert moved[11]
