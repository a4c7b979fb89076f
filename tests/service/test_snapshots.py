"""Snapshots that rot: what is taken up is what was kept, or nothing."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from presage.drivers.core import Core, core_for, digest
from presage.joining.entries import EntryKind, SnapshotNote, snapshot_in
from presage.joining.join import Horizons
from presage.joining.lessons import Lesson
from presage.journal.appender import Appender
from presage.service.folders import task_forecaster
from presage.service.learner import snapshots
from presage.service.learner.folding import LogFold
from presage.service.learner.snapshots import MANIFEST, TENSORS, keep_snapshot, restore_snapshot
from presage.task.task import load_task
from tests.faults.counts import COUNTS
from tests.journal.memory import MemoryLog
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
def test_a_snapshot_of_another_fingerprint_is_taken_up_if_its_vector_comes_out_the_same(
    taught: LogFold, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, vector = snapshots.fingerprint(), snapshots.vector_of(taught)
    monkeypatch.setattr(snapshots, "fingerprint", lambda: ours | {name: "another"})
    found = LogFold(taught.engine)
    restore_snapshot(found, tmp_path / "kept", CHAINS)
    assert (found.learnt, digest(found.learning)) == (20, digest(taught.learning))
    other = LogFold(taught.engine)
    restore_snapshot(other, tmp_path / "kept", CHAINS, ours_only=True)
    assert other.learnt == 0
    monkeypatch.setattr(snapshots, "vector_of", lambda _: f"not {vector}")
    restore_snapshot(other, tmp_path / "kept", CHAINS)
    assert other.learnt == 0, "this machine computes something else"


class OffByOneBit:
    """A core of which one function is off by a bit for one row in a hundred numbers."""

    def __init__(self, engine: Any, wrong: str) -> None:
        self._engine, self._wrong = engine, wrong

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        return self._off if name == self._wrong else found

    def _off(self, *arguments: Any) -> Any:
        made = getattr(self._engine, self._wrong)(*arguments)
        part = made if self._wrong == "nowcast" else made.log_probabilities
        part[7, 0] = np.nextafter(part[7, 0], np.float32(1))
        return made


@pytest.mark.parametrize("wrong", ["predict", "nowcast"])
def test_a_vector_shows_a_single_bit(taught: LogFold, wrong: str) -> None:
    assert snapshots.vector_of(taught) == snapshots.vector_of(taught)
    other = LogFold(taught.engine)
    assert snapshots.vector_of(other) != snapshots.vector_of(taught), "it depends on what was learnt"
    other.learning.restore({n: np.array(p) for n, p in taught.learning.tensors().items()}, 9)
    assert snapshots.vector_of(other) == snapshots.vector_of(taught)
    other.engine = cast(Core, OffByOneBit(taught.engine, wrong))
    assert snapshots.vector_of(other) != snapshots.vector_of(taught)


def test_a_snapshot_that_the_log_does_not_name_is_ignored_and_said(taught: LogFold, tmp_path: Path) -> None:
    """One of the right shape, whole, of this forecaster and this position, that another service might have learnt."""
    manifest = json.loads((tmp_path / "kept" / f"{20:016d}" / MANIFEST).read_text())
    for named, taken in ((manifest["sha256"], 20), ("ab" * 32, 0), ("?", 0)):
        found, said = LogFold(taught.engine), list[str]()
        restore_snapshot(found, tmp_path / "kept", {"20": f"{CHAINS['20']} {named}"}, said.append)
        assert found.learnt == taken
        assert said == ([] if taken else ["The snapshot at 20 is not the one that the log names; it is ignored."])


def test_only_snapshots_that_are_new_are_named_in_the_log(taught: LogFold, tmp_path: Path) -> None:
    log = MemoryLog(b"a task")
    appender, notes = (
        Appender(log, Horizons(1, 1), lambda: 5, lambda *_: None),
        snapshots.SnapshotNotes(tmp_path / "kept"),
    )
    notes.take(appender)
    assert not notes.any()
    assert log.log == [], "it was there before"
    taught.learnt = 30
    (tmp_path / "kept" / f"{29:016d}").mkdir()  # one that is not finished
    keep_snapshot(taught, tmp_path / "kept", CHAINS["20"])
    assert notes.any()
    notes.take(appender)
    notes.take(appender)
    assert not notes.any()
    (note,) = map(snapshot_in, log.notes(EntryKind.SNAPSHOT))
    manifest = json.loads((tmp_path / "kept" / f"{30:016d}" / MANIFEST).read_text())
    assert note == SnapshotNote(30, bytes.fromhex(manifest["sha256"]))
    assert log.counters.notes == log.head.seq == 1
