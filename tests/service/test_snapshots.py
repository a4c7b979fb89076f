"""Snapshots that rot: what is taken up is what was kept, or nothing."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from presage.drivers.core import core_for, digest
from presage.joining.entries import EntryKind
from presage.joining.lessons import Lesson
from presage.service.folders import task_forecaster
from presage.service.learner import snapshots
from presage.service.learner.folding import LogFold
from presage.service.learner.snapshots import MANIFEST, TENSORS, keep_snapshot, restore_snapshot
from presage.task.task import load_task
from tests.faults.counts import COUNTS
from tests.service.shop import write_task

CHAINS = {"20": "ab" * 32}


@pytest.fixture
def taught(tmp_path: Path) -> LogFold:
    """One who has learnt a little, and whose snapshot is kept."""
    pupil = LogFold(core_for(task_forecaster(load_task(write_task(tmp_path, "residual-table-shrunk")))))
    for row in range(9):
        symbols = np.array([row % 5, row % 3], np.int32).tobytes()
        pupil.take([
            Lesson(2 * row, EntryKind.PROXY, symbols, b"", b"", row % 3, 2 * row, -1, 0, row),
            Lesson(2 * row + 1, EntryKind.OUTCOME, symbols, b"", b"", row % 3, 2 * row, row % 2, 2 * row + 1, row),
        ])  # fmt: skip
    pupil.learn(20, 9)
    keep_snapshot(pupil, tmp_path / "kept", CHAINS["20"])
    return pupil


@pytest.mark.parametrize("name", [MANIFEST, TENSORS])
def test_rot_of_a_snapshot_is_noticed_or_without_consequence(
    taught: LogFold, tmp_path: Path, name: str, record_property: Callable[[str, object], None]
) -> None:
    draw, ends = np.random.default_rng(0), Counter[str]()
    whole = (tmp_path / "kept" / f"{20:016d}" / name).read_bytes()
    for turn in range(COUNTS.flips):
        shutil.rmtree(tmp_path / "rotten", ignore_errors=True)
        shutil.copytree(tmp_path / "kept", tmp_path / "rotten")
        data = bytearray(whole)
        if turn % 4:
            data[draw.integers(len(data))] ^= 1 << draw.integers(8)
        else:
            del data[draw.integers(len(data)) :]
        (tmp_path / "rotten" / f"{20:016d}" / name).write_bytes(data)
        found = LogFold(taught.engine)
        restore_snapshot(found, tmp_path / "rotten", CHAINS)
        assert found.learnt == 0 or digest(found.learning) == digest(taught.learning)
        ends["not taken up" if found.learnt == 0 else "without consequence"] += 1
    assert ends["not taken up"] > 0
    record_property(f"rot of a snapshot's {name}", dict(ends))


def test_a_whole_snapshot_is_taken_up(taught: LogFold, tmp_path: Path) -> None:
    found = LogFold(taught.engine)
    restore_snapshot(found, tmp_path / "kept", CHAINS)
    assert (found.learnt, digest(found.learning)) == (20, digest(taught.learning))
    other = LogFold(taught.engine)
    restore_snapshot(other, tmp_path / "kept", {"20": "cd" * 32})
    assert other.learnt == 0, "it is of another log"


@pytest.mark.parametrize("name", snapshots.fingerprint())
def test_a_snapshot_of_another_fingerprint_is_not_taken_up(
    taught: LogFold, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = snapshots.fingerprint()
    monkeypatch.setattr(snapshots, "fingerprint", lambda: ours | {name: "another"})
    found = LogFold(taught.engine)
    restore_snapshot(found, tmp_path / "kept", CHAINS)
    assert found.learnt == 0
