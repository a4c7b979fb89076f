"""What was said is the same in memory and on the disk, and nothing is left there."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from presage.backtesting import replay as kept
from presage.backtesting.replay import KeptRows, replay
from presage.forecasters.catalogue import TaskFacts, chosen_forecasters
from tests.problems import PLAIN, episode


def test_a_replay_kept_on_the_disk_is_the_one_kept_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    forecasters = chosen_forecasters(("marginal", "residual-table", "mixture"), PLAIN, TaskFacts())
    inside = replay(forecasters, episode("varying"), 0, lambda _: None)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(kept, "MEMORY", 0)
    outside = replay(forecasters, episode("varying"), 0, lambda _: None)
    assert len(list(tmp_path.rglob("*-table"))) == 1
    assert list(inside) == list(outside) == list(forecasters)
    assert all(np.array_equal(inside[name], outside[name]) for name in forecasters)
    assert "direct-table" not in outside
    del outside
    assert not list(tmp_path.iterdir())


def test_what_is_not_yet_said_of_every_row_is_not_given_out() -> None:
    said = KeptRows(["marginal"], rows=3, outcomes=2)
    said.add("marginal", np.zeros((2, 2)))
    with pytest.raises(KeyError):
        said["marginal"]
    said.add("marginal", np.zeros((1, 2)))
    assert said["marginal"].shape == (3, 2)
