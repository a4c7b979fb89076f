"""Runs in parts: resumed where they stopped, and nothing left behind."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.experiments.github import problem as github
from presage.experiments.github.settings import SMOKE as GITHUB
from presage.experiments.marketplace import problem as marketplace
from presage.experiments.marketplace.settings import SMOKE as MARKETPLACE
from presage.experiments.resumable_parts import PART, Curves, forget_parts, parts_folder, play_parts
from presage.spaces import Array

WHAT = {"experiment": "a test"}
TRIALS = 2 * PART + 3


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def squares(trials: Array) -> Curves:
    return {"square": trials[:, None].astype(np.float32) ** 2}


def silent(steps: int) -> None:
    """Progress that nobody watches."""


def test_all_trials_come_back_in_order() -> None:
    assert play_parts(WHAT, TRIALS, squares, silent)["square"][:, 0].tolist() == [n**2 for n in range(TRIALS)]
    assert parts_folder(WHAT).exists()
    forget_parts(WHAT)
    assert not parts_folder(WHAT).exists()


def test_an_interrupted_run_goes_on_where_it_stopped() -> None:
    played: list[int] = []

    def interrupted(trials: Array) -> Curves:
        if trials[0] >= PART:
            raise KeyboardInterrupt
        return squares(trials)

    def noted(trials: Array) -> Curves:
        played.extend(trials.tolist())
        return squares(trials)

    with pytest.raises(KeyboardInterrupt):
        play_parts(WHAT, TRIALS, interrupted, silent)
    told: list[int] = []
    curves = play_parts(WHAT, TRIALS, noted, told.append)
    assert played == list(range(PART, TRIALS))
    assert told == [PART]
    assert curves["square"][:, 0].tolist() == [n**2 for n in range(TRIALS)]
    assert parts_folder(WHAT) != parts_folder({"experiment": "another"})


def test_a_damaged_part_is_played_again() -> None:
    folder = parts_folder(WHAT)
    folder.mkdir(parents=True)
    (folder / f"0-{PART - 1}.part").write_bytes(b"half a fi")
    assert play_parts(WHAT, TRIALS, squares, silent)["square"][1, 0] == 1


def test_a_cache_that_cannot_be_written_does_not_stop_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(play_parts(WHAT, TRIALS, squares, silent)["square"]) == TRIALS


def test_no_part_is_taken_up_by_a_run_that_would_play_another() -> None:
    """By another seed, another setting, other data, another schedule or another experiment."""
    shared: list[dict[str, Any]] = [{}, {"seed": 1}, {"learning_rate": 0.2}, {"h_l2": 1e-4}, {"trials": 5}]
    sources = ("one world", "another")
    runs = [
        github.parts_of(replace(GITHUB, **change), source)
        for change in [*shared, {"outcome_days": 2}]
        for source in sources
    ]
    runs += [
        marketplace.parts_of(replace(MARKETPLACE, **change), source, schedule)
        for change in [*shared, {"proxy_days": 2}]
        for source in sources
        for schedule in ("staggered", "uniform")
    ]
    assert len({parts_folder(what) for what in runs}) == len(runs) == 12 + 24
