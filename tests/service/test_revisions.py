"""Revisions of forecasters: a folder that an older version wrote is served as it was made, refused, or rebuilt."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
import pytest

from presage.drivers.core import core_for
from presage.errors import DataError, OtherRevisionError
from presage.forecasters import catalogue as named
from presage.forecasters.mixture import mixture, revisions_of
from presage.joining.entries import EntryKind, Predicted, predicted_in
from presage.journal.readers import read_lessons
from presage.journal.sqlite import SqliteLog
from presage.service.folders import (
    FORECASTER,
    TASK,
    folder_forecaster,
    horizons_of,
    open_folder,
    task_digest,
    up_to_date,
)
from presage.service.learner import snapshots
from presage.service.learner.folding import LogFold
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.spaces import Instance, Spaces
from presage.task.task import load_task
from tests.cli.typed import Done, Presage
from tests.service.shop import write_task

WRITTEN = Path(__file__).parent.parent / "fixtures" / "0.1.0"
PARTS = {"open": 3, "parked": 0, "trained": 382, "absent": 392, "late": 0, "quarantined": 0}


class Said(NamedTuple):
    """What version 0.1.0 said of a folder."""

    state: str
    chain: str
    loss: float


SAID = {kind: Said(**said) for kind, said in json.loads((WRITTEN / "said.json").read_text()).items()}
each_kind = pytest.mark.parametrize("kind", SAID)


@pytest.fixture
def old(tmp_path: Path) -> Callable[[str], Path]:
    """Gives a copy of a folder that version 0.1.0 wrote."""
    return lambda kind: Path(shutil.copytree(WRITTEN / kind, tmp_path / kind))


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    monkeypatch.setattr("presage.service.http.server.serve", lambda *_: 0)  # whatever is not refused ends at once
    return Presage(monkeypatch, capsys)


def told(done: Done) -> Any:
    """The JSON that a command printed."""
    assert done.code == 0, done.err
    return json.loads(done.out)


def refused(done: Done) -> str:
    """The one line that a command ended in."""
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.strip().splitlines()
    return line


def recorded_fingerprint() -> Any:
    """What the states of the folders were computed on."""
    (manifest,) = (WRITTEN / "mixture" / "snapshots").glob("*/manifest.json")
    return json.loads(manifest.read_text())["fingerprint"]


@each_kind
def test_a_folder_of_an_old_version_verifies_and_exports_as_it_did_then(
    kind: str, old: Callable[[str], Path], tmp_path: Path, presage: Presage
) -> None:
    folder, out = old(kind), tmp_path / "log.parquet"
    found = told(presage("log", "verify", "--data", folder, "--json"))
    assert found == {"entries": 789, "ids": 260, "chain": SAID[kind].chain, "bins": PARTS}
    exported = told(presage("log", "export", "--data", folder, "--out", out, "--json"))
    assert exported == {"rows": 260, "scored": 257, "loss": pytest.approx(SAID[kind].loss, abs=1e-12)}


@pytest.mark.long
@each_kind
def test_a_folder_of_an_old_version_folds_to_the_state_it_had_then(
    kind: str, old: Callable[[str], Path], presage: Presage
) -> None:
    found = told(presage("log", "replay", "--data", old(kind), "--json"))
    assert (found["position"], found["predictions"]) == (693, 260)
    if kind == "residual-table" or recorded_fingerprint() == snapshots.fingerprint():
        assert found["state"] == SAID[kind].state


def by_model(store: SqliteLog) -> dict[int, list[Predicted]]:
    """The predictions of a log by the position of the model that made them."""
    found = defaultdict(list)
    for entry in store.read(0, 10_000):
        if entry.kind == EntryKind.PREDICTED:
            body = predicted_in(entry)
            found[body.model].append(body)
    return found


@pytest.mark.long
@each_kind
def test_every_answer_that_an_old_version_recorded_can_be_recomputed(kind: str, old: Callable[[str], Path]) -> None:
    folder = old(kind)
    store, engine = SqliteLog(folder, task_digest(folder)), core_for(folder_forecaster(folder))
    pupil, made, differences = LogFold(engine), by_model(store), []
    for lessons, boundary in [([], None), *read_lessons(store, horizons_of(load_task(folder / TASK)))]:
        pupil.take(lessons)
        if boundary:
            pupil.learn(boundary.seq, boundary.predictions)
        for body in made.pop(pupil.learnt, []):
            x = Instance(np.frombuffer(body.symbols, "<i4")[None], np.frombuffer(body.dense, "<f4")[None])
            said = engine.predict(pupil.learning.parameters(), x).log_probabilities[0]
            differences.append(np.abs(said - np.frombuffer(body.log_probabilities, "<f4")).max())
    store.close()
    assert not made, "every model that answered has been there"
    assert len(differences) == 260
    assert max(differences) < 1e-5


def test_a_snapshot_of_an_old_version_counts_as_the_first_revision_on_its_own_fingerprint_only(
    old: Callable[[str], Path], presage: Presage, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = old("residual-table")
    for fingerprint, compared in ((recorded_fingerprint(), {"693": True}), ({"numpy": "0.0"}, {})):
        monkeypatch.setattr(snapshots, "fingerprint", lambda found=fingerprint: found)
        found = told(presage("log", "replay", "--data", folder, "--json"))
        assert (found["snapshots"], found["state"]) == (compared, SAID["residual-table"].state)


@pytest.mark.long
@each_kind
def test_the_learner_of_a_service_on_an_old_folder_has_its_revision(
    kind: str, old: Callable[[str], Path], presage: Presage
) -> None:
    folder = old(kind)
    folded = told(presage("log", "replay", "--data", folder, "--json"))
    for _ in range(2):  # from the log, and from the snapshot that was kept at the end
        service = open_service(WRITTEN / kind / TASK, folder, Limits(clock="events"), lambda: 0)
        state, described = service.digest(), service.describe()
        service.close()
        assert state == (folded["state"], folded["position"])
        assert set(described["revisions"].values()) == {1}
    assert not (folder / FORECASTER).exists()


@pytest.mark.parametrize(
    ("kind", "revisions"),
    [
        ("direct-table", {"direct-table": 1}),
        ("mixture", {"mixture": 3}),
        ("factored-network", {"factored-network": 2}),
    ],
)
def test_a_new_folder_records_the_current_revisions(kind: str, revisions: dict[str, int], tmp_path: Path) -> None:
    task_file = write_task(tmp_path, kind)
    assert up_to_date(task_file, tmp_path / "data"), "there is none yet"
    open_folder(task_file, tmp_path / "data")
    assert json.loads((tmp_path / "data" / FORECASTER).read_text()) == {"name": kind, "revisions": revisions}
    assert up_to_date(task_file, tmp_path / "data")
    assert revisions_of(folder_forecaster(tmp_path / "data")) == revisions


@pytest.mark.parametrize("name", ["direct", "factored", "residual"])
def test_networks_that_start_at_random_are_the_first_revision_and_kept(name: str) -> None:
    spaces = Spaces(4, 3, 2)
    current, first = named.all_revisions(f"{name}-network", spaces, named.TaskFacts())
    assert (current.revision, first.revision) == (2, 1)
    assert current != first
    assert current != dataclasses.replace(current, revision=3), "equal settings do not make them equal"
    mixed = mixture(spaces, [first], weighting="outcomes")
    assert revisions_of(mixed) == {f"{name}-network": 1, "mixture": 1}


class Started(NamedTuple):
    """What `presage serve` said on stderr until it listened, and the model it served."""

    lines: list[str]
    model: dict[str, Any]


def serve(folder: Path, *options: str) -> Started:
    """`presage serve` in a process of its own, started and stopped."""
    command = [sys.executable, "-c", "from presage.cli import main; main()", "serve", "--port", "0", *options]
    command += ["--task", str(WRITTEN / folder.name / TASK), "--data", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    lines = []
    try:
        for line in process.stderr:
            lines += [line.strip()] if line.strip() else []
            if line.startswith("Listening"):
                break
        model = httpx.get(f"{lines[-1].split()[-1]}/v1/model", trust_env=False, timeout=60).json()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0
    return Started(lines[:-1], model)


@pytest.mark.long
def test_an_old_folder_is_served_by_its_revision_and_a_line_says_how_to_move_on(old: Callable[[str], Path]) -> None:
    started = serve(old("residual-network"))
    assert started.lines == [
        "Served by an older revision of the forecaster: residual-network revision 1 (now 2). "
        "Move to the current one with --refold."
    ]
    assert started.model["revisions"] == {"residual-network": 1}
    assert serve(old("residual-table")).lines == [], "it is the current one"


def answers(folder: Path) -> Iterator[bytes]:
    """What the log of a folder says was answered, in order."""
    store = SqliteLog(folder, task_digest(folder))
    yield from (
        predicted_in(each).log_probabilities for each in store.read(0, 10_000) if each.kind == EntryKind.PREDICTED
    )
    store.close()


@pytest.mark.long
def test_a_refold_moves_to_the_current_revision_and_keeps_what_was_answered(
    old: Callable[[str], Path], presage: Presage
) -> None:
    folder = old("residual-network")
    before = list(answers(folder))
    aside = folder.with_name("residual-network.before-1")
    started = serve(folder, "--refold")
    assert started.lines == [f"The log was rebuilt; the old one is in {aside}"]
    assert started.model["revisions"] == {"residual-network": 2}
    assert json.loads((folder / FORECASTER).read_text())["revisions"] == {"residual-network": 2}
    assert list(answers(aside)) == before
    assert told(presage("log", "verify", "--data", aside, "--json"))["chain"] == SAID["residual-network"].chain
    assert len(list(answers(folder))) == len(before)
    folded = told(presage("log", "replay", "--data", folder, "--json"))
    assert folded["snapshots"] == {str(folded["position"]): True}, "what the service learnt"
    (folder / FORECASTER).rename(folder / "hidden")
    assert told(presage("log", "replay", "--data", folder, "--json"))["state"] != folded["state"], "by the old revision"
    (folder / "hidden").rename(folder / FORECASTER)
    assert serve(folder, "--refold").lines == [], "there is nothing left to do"


def test_an_old_revision_that_is_not_kept_is_refused_and_what_to_do_is_said(
    old: Callable[[str], Path], tmp_path: Path, presage: Presage, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = old("residual-network")
    there = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(named, "KEPT", {})
    for command in (("serve", "--port", 0, "--task", WRITTEN / folder.name / TASK), ("log", "replay")):
        assert refused(presage(*command, "--data", folder)) == (
            "presage: the data folder was made with an old revision of the forecaster that this version no longer "
            "has: found 'residual-network revision 1 (now 2)'; rebuild the folder with `presage serve --refold`, "
            "or use the version of presage that made it"
        )
    left = {path: path.read_bytes() for path in folder.iterdir() if path.name not in ("log.sqlite-wal", "epoch")}
    assert left == there
    assert presage("log", "verify", "--data", folder).code == 0
    assert presage("log", "export", "--data", folder, "--out", tmp_path / "log.parquet").code == 0


def test_a_folder_of_a_newer_revision_is_refused(old: Callable[[str], Path], presage: Presage) -> None:
    folder = old("residual-table")
    (folder / FORECASTER).write_text('{"name": "residual-table", "revisions": {"residual-table": 2}}')
    line = refused(presage("serve", "--port", 0, "--task", WRITTEN / folder.name / TASK, "--data", folder))
    assert line == (
        "presage: the data folder was made with a newer revision of the forecaster: found "
        "'residual-table revision 2 (now 1)'; use a newer version of presage, or rebuild the folder with "
        "`presage serve --refold`"
    )
    assert not up_to_date(WRITTEN / folder.name / TASK, folder)


@pytest.mark.parametrize("record", [b"", b"[]", b"\xff", b'{"name": "x"}', b'{"name": "x", "revisions": {"x": "1"}}'])
def test_a_record_that_cannot_be_read_is_refused(record: bytes, old: Callable[[str], Path]) -> None:
    folder = old("residual-table")
    (folder / FORECASTER).write_bytes(record)
    with pytest.raises(DataError, match=r"forecaster\.json"):
        folder_forecaster(folder)


def test_when_the_mixture_changes_its_old_folders_are_refused_or_served_by_a_kept_one(
    old: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,), folders = named.KEPT["mixture"], [old("mixture"), tmp_path / "data"]
    with monkeypatch.context() as earlier:
        earlier.setitem(named.CATALOGUE, "mixture", named.CATALOGUE["mixture"]._replace(make=first))
        open_folder(folders[0] / TASK, folders[1])  # which records its revisions
    with monkeypatch.context() as dropped:
        dropped.setitem(named.KEPT, "mixture", ())
        for folder in folders:
            with pytest.raises(OtherRevisionError, match=r"mixture revision 1 \(now 3\).*; rebuild .* --refold"):
                folder_forecaster(folder)
    for folder in folders:
        assert folder_forecaster(folder).revision == 1
        assert not up_to_date(folders[0] / TASK, folder)


def test_a_folder_with_the_longer_memos_of_the_second_mixture_is_refused(tmp_path: Path, presage: Presage) -> None:
    task_file = write_task(tmp_path, "mixture")
    open_folder(task_file, tmp_path / "data")
    (tmp_path / "data" / FORECASTER).write_text('{"name": "mixture", "revisions": {"mixture": 2}}')
    assert refused(presage("serve", "--port", 0, "--task", task_file, "--data", tmp_path / "data")) == (
        "presage: the data folder was made with an old revision of the forecaster that this version no longer has: "
        "found 'mixture revision 2 (now 3)'; rebuild the folder with `presage serve --refold`, or use the version of "
        "presage that made it"
    )
