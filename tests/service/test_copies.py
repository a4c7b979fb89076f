"""Backups and reports of a running service, and folders that are rewritten, at the command line."""

import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pytest

from presage import Client
from presage.drivers.core import core_for, digest
from presage.errors import StoreInUseError
from presage.joining.entries import predicted_in
from presage.journal.readers import read_lessons
from presage.journal.sqlite import FILE, SqliteLog
from presage.service.folders import TASK as TASK_FILE
from presage.service.folders import folder_forecaster, horizons_of, task_digest
from presage.service.learner.folding import LogFold
from presage.service.learner.snapshots import fold_log
from presage.task.task import load_task
from tests.cli.typed import Presage
from tests.service.fake import FEATURES, TASK
from tests.service.test_revisions import WRITTEN, presage, refused, told
from tests.service.test_serve import Process

pytestmark = pytest.mark.long
__all__ = ["presage"]  # the fixture

ENOUGH = 60


@contextmanager
def loaded(folder: Path, acknowledged: list[str]) -> Iterator[None]:
    """A service that two clients load until the end of the block; the ids that it answered for are collected."""
    (folder / "books.toml").write_text(TASK)
    process, stopping = Process(folder), threading.Event()

    def send(name: str) -> None:
        with Client(process.url, timeout=60) as client:
            number = 0
            while not stopping.is_set():
                id, number = f"{name}-{number}", number + 1
                client.predict(id, FEATURES)
                client.outcome(id, "left")
                acknowledged.append(id)

    threads = [threading.Thread(target=send, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    try:
        while len(acknowledged) < ENOUGH:
            assert any(thread.is_alive() for thread in threads)
        yield
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
        assert process.end(signal.SIGTERM) == 0


def state_at(folder: Path, position: int) -> str:
    """The hash of what the log of a folder gives up to a position."""
    store, fold = SqliteLog(folder, task_digest(folder)), LogFold(core_for(folder_forecaster(folder)))
    for lessons, boundary in read_lessons(store, horizons_of(load_task(folder / TASK_FILE))):
        if boundary and boundary.seq > position:
            break
        fold.take(lessons)
        if boundary:
            fold.learn(boundary.seq, boundary.predictions)
    store.close()
    return digest(fold.learning)


def test_a_backup_taken_under_load_verifies_holds_what_was_acknowledged_and_folds_to_the_same(
    tmp_path: Path, presage: Presage
) -> None:
    acknowledged: list[str] = []
    data, copy = tmp_path / "data", tmp_path / "copies" / "copy"
    with loaded(tmp_path, acknowledged):
        before = list(acknowledged)
        made = told(presage("log", "backup", "--data", data, "--out", copy, "--json"))
        whole = told(presage("log", "verify", "--data", data, "--json"))
        chain = told(presage("log", "verify", "--data", data, "--chain-only", "--json"))
        exported = told(presage("log", "export", "--data", data, "--out", tmp_path / "log.parquet", "--json"))
        told(presage("log", "replay", "--data", data, "--json"))
        line = refused(presage("log", "rewrite", "--data", data, "--out", tmp_path / "other"))
        assert "another process is using the folder" in line
        with pytest.raises(StoreInUseError):
            SqliteLog(data, task_digest(data))
        assert len(acknowledged) > len(before), "it served on"
    assert not (tmp_path / "other").exists()
    assert made["entries"] <= whole["entries"] <= chain["entries"]
    assert exported["rows"] >= len(before)
    assert sorted(path.name for path in copy.iterdir()) == sorted([FILE, "head", "forecaster.json", "task.toml"])
    assert [path.name for path in copy.parent.iterdir()] == ["copy"]
    assert told(presage("log", "verify", "--data", copy, "--json"))["chain"] == made["chain"]
    kept = SqliteLog(copy, task_digest(copy))
    found = kept.find(before)
    assert all(found[id].predicted and found[id].outcome_entry for id in before)
    folded = fold_log(
        folder_forecaster(copy), kept, horizons_of(load_task(copy / TASK_FILE)), copy / "none", lambda _: None
    )
    kept.close()
    source = SqliteLog(data, task_digest(data))
    for found in (made, whole, chain):
        assert source.chain_at(found["entries"]).hex() == found["chain"]  # type: ignore[union-attr]
    assert source.head.seq > made["entries"]
    source.close()
    assert folded.position > 0
    assert folded.state == state_at(data, made["entries"])
    assert "is not empty" in refused(presage("log", "backup", "--data", data, "--out", copy))


def test_a_restored_backup_is_served_and_goes_on(tmp_path: Path, presage: Presage) -> None:
    acknowledged: list[str] = []
    with loaded(tmp_path, acknowledged):
        told(presage("log", "backup", "--data", tmp_path / "data", "--out", tmp_path / "copy", "--json"))
    shutil.rmtree(tmp_path / "data")
    (tmp_path / "copy").rename(tmp_path / "data")
    process = Process(tmp_path)
    with Client(process.url, timeout=60) as client:
        assert client.predict(acknowledged[0], FEATURES).status == "repeated"
        assert client.outcome(acknowledged[0], "left").status == "repeated"
        assert client.predict("new", FEATURES).status == "accepted"
    assert process.end(signal.SIGTERM) == 0
    assert told(presage("log", "verify", "--data", tmp_path / "data", "--json"))["entries"] > 0


@pytest.mark.parametrize("deed", ["deleted", "replaced"])
def test_a_service_whose_log_is_taken_away_stops_though_nothing_is_asked(deed: str, tmp_path: Path) -> None:
    (tmp_path / "books.toml").write_text(TASK)
    process = Process(tmp_path)
    with Client(process.url, timeout=60) as client:
        client.predict("emma", FEATURES)
    if deed == "deleted":
        shutil.rmtree(tmp_path / "data")
    else:
        shutil.copytree(tmp_path / "data", tmp_path / "copy")
        (tmp_path / "data").rename(tmp_path / "away")
        (tmp_path / "copy").rename(tmp_path / "data")
    assert process.process.wait(60) == 3
    assert process.process.stderr
    assert "the log was deleted or replaced while it was in use" in process.process.stderr.read()
    process.process.stderr.close()


def test_an_old_backup_in_the_place_of_a_newer_history_is_refused_in_one_line(tmp_path: Path, presage: Presage) -> None:
    acknowledged: list[str] = []
    with loaded(tmp_path, acknowledged):
        told(presage("log", "backup", "--data", tmp_path / "data", "--out", tmp_path / "copy", "--json"))
    for name in (FILE, "head"):
        shutil.copy(tmp_path / "copy" / name, tmp_path / "data" / name)
    words = ("serve", "--port", 0, "--task", tmp_path / "books.toml", "--data", tmp_path / "data")
    assert "is not the one that this folder had when it ended at entry" in refused(presage(*words))
    (tmp_path / "data" / "epoch").unlink()
    assert presage(*words).code == 0


def losses(file: Path) -> list[tuple[object, ...]]:
    times = ", ".join(f"epoch_us({name}_at)" for name in ("shown", "proxy", "outcome"))
    query = f"SELECT id, {times}, proxy, outcome, loss, probabilities FROM '{file}' ORDER BY position"
    return duckdb.connect().execute(query).fetchall()


def test_an_export_carries_the_probabilities_that_were_served(tmp_path: Path, presage: Presage) -> None:
    out, folder = tmp_path / "log.parquet", shutil.copytree(WRITTEN / "mixture", tmp_path / "old")
    told(presage("log", "export", "--data", folder, "--out", out, "--json"))
    values = load_task(folder / TASK_FILE).outcome.values
    query = f"SELECT id, outcome, loss, probabilities FROM '{out}'"
    rows, compared = duckdb.connect().execute(query).fetchall(), 0
    store = SqliteLog(folder, task_digest(folder))
    for id, outcome, loss, probabilities in rows:
        said = predicted_in(store.entries([store.find([id])[id].predicted])[0])
        assert np.allclose(np.log(probabilities), np.frombuffer(said.log_probabilities, "<f4"), rtol=0, atol=1e-6)
        assert sum(probabilities) == pytest.approx(1, abs=1e-5)
        if outcome is not None:
            compared += 1
            assert -np.log(probabilities[values.index(outcome)]) == pytest.approx(loss, abs=1e-6)
    store.close()
    assert (len(rows), compared > 50) == (260, True)


@pytest.mark.parametrize("kind", ["residual-table", "mixture"])
def test_a_folder_of_format_1_is_rewritten_with_the_same_answers_and_the_same_state(
    kind: str, tmp_path: Path, presage: Presage
) -> None:
    old, new = shutil.copytree(WRITTEN / kind, tmp_path / "old"), tmp_path / "new"
    found = told(presage("log", "rewrite", "--data", old, "--out", new, "--json"))
    assert (found["entries"], found["left_out"]) == (790, 0)
    for folder in (old, new):
        told(presage("log", "export", "--data", folder, "--out", tmp_path / f"{folder.name}.parquet", "--json"))
    assert losses(tmp_path / "new.parquet") == losses(tmp_path / "old.parquet")
    states = [told(presage("log", "replay", "--data", folder, "--json")) for folder in (old, new)]
    assert states[0]["state"] == states[1]["state"]
    assert states[1]["position"] == states[0]["position"] + 1
    store = SqliteLog(new, task_digest(new))
    assert store.format == 2
    store.close()
    line = refused(presage("log", "rewrite", "--data", old, "--out", new))
    assert "is not empty" in line


def test_a_poisoned_id_and_a_poisoned_end_are_left_out(tmp_path: Path, presage: Presage) -> None:
    old = shutil.copytree(WRITTEN / "residual-table", tmp_path / "old")
    store = SqliteLog(old, task_digest(old))
    poison = next(entry.id for entry in store.read(0, 20))
    store.close()
    command = ("log", "rewrite", "--data", old, "--out")
    found = told(presage(*command, tmp_path / "a", "--until", 500, "--exclude", poison, "--json"))
    assert found["entries"] + found["left_out"] <= 790
    assert found["entries"] < 500
    plainly = presage(*command, tmp_path / "b", "--exclude", poison)
    assert plainly.code == 0
    assert plainly.out.startswith(f"Wrote {tmp_path / 'b'}: ")
    told(presage("log", "verify", "--data", tmp_path / "a", "--json"))
    assert "no such id" in refused(presage(*command, tmp_path / "c", "--exclude", "no such"))
    assert "no such position" in refused(presage(*command, tmp_path / "c", "--until", 10**6))
    assert not (tmp_path / "c").exists()
