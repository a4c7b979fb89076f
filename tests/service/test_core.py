"""The service on a real log with a real learner: what it learnt is a fold over the log, however often it stopped."""

import asyncio
import hashlib
import json
import shutil
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from presage.drivers.core import core_for
from presage.errors import OtherTaskError
from presage.joining.entries import EntryKind, predicted_in
from presage.joining.join import Decision
from presage.joining.lessons import Lesson
from presage.journal.readers import read_lessons
from presage.journal.sqlite import SqliteLog
from presage.service.folders import horizons_of, open_folder, task_forecaster
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.service.learner import child, messages
from presage.service.learner.folding import LogFold
from presage.service.learner.heartbeat import Heart
from presage.service.learner.process import run_learner
from presage.service.learner.shared_parameters import SharedParameters
from presage.service.learner.snapshots import KEPT
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.replies import SignalReply
from presage.service.service import LiveService
from presage.spaces import Instance
from presage.task.task import load_task
from tests.service.shop import START, Happening, happenings, request, write_task

EVENTS = Limits(clock="events")
ACCEPTED, REPEATED, CONFLICT = Decision


def opened(folder: Path, kind: str = "mixture") -> LiveService:
    return open_service(write_task(folder, kind), folder / "data", EVENTS, lambda: START)


def in_step(service: LiveService, happened: Sequence[Happening], batch: int = 7) -> list[int]:
    """The model's position after each bulk; they are sent in step, so that the log does not depend on speed."""

    async def send() -> list[int]:
        found = []
        for first in range(0, len(happened), batch):
            await service.submit([each.event for each in happened[first : first + batch]])
            while not service.caught_up():
                await asyncio.sleep(0.001)
            found.append(service.describe()["model"])
        return found

    return asyncio.run(send())


@pytest.mark.long
@pytest.mark.parametrize(("kind", "bulks"), [("residual-table-shrunk", 40), ("mixture", 40), ("residual-network", 12)])
def test_stopped_and_resumed_is_never_stopped_is_the_fold_of_the_log(kind: str, bulks: int, tmp_path: Path) -> None:
    happened = happenings(7 * bulks)
    for name in ("steady", "stopped"):
        (tmp_path / name).mkdir()
    steady = opened(tmp_path / "steady", kind)
    models = in_step(steady, happened)
    never_stopped = steady.digest()
    steady.close()
    assert len(set(models)) > 10, "it learns as it goes"
    for part in (happened[: 7 * bulks], happened[7 * bulks :]):
        service = opened(tmp_path / "stopped", kind)
        in_step(service, part)
        resumed = service.digest()
        service.close()
    assert resumed == (never_stopped[0], never_stopped[1] + 1), "an entry names the snapshot of the first stop"
    shutil.rmtree(tmp_path / "stopped" / "data" / "snapshots")
    folded = opened(tmp_path / "stopped", kind)
    assert folded.digest() == resumed
    folded.close()


@pytest.mark.long
def test_a_resend_is_answered_as_before_and_another_value_is_a_conflict(tmp_path: Path) -> None:
    service = opened(tmp_path)
    first = request("a", {"title": "x", "genre": "maps"}, START)
    other = request("a", {"title": "y", "genre": "maps"}, START)

    async def talk() -> None:
        one, again, conflict = [(await service.predict([each]))[0] for each in (first, first, other)]
        assert (one.status, again.status, conflict.status) == ("accepted", "repeated", "conflict")
        assert one.probabilities == again.probabilities
        assert again.seq == one.seq
        feedback = [FeedbackRequest("a", "proxy", value, START) for value in ("half", "half", "begun")]
        assert [(await service.feed([each]))[0].decision for each in feedback] == [ACCEPTED, REPEATED, CONFLICT]
        looked = await service.look_up("a")
        assert looked is not None
        assert (looked.proxy, looked.outcome) == (SignalReply("half", "trained"), SignalReply(None, "awaited"))
        assert await service.look_up("b") is None

    asyncio.run(talk())
    service.close()


@pytest.mark.long
def test_a_folder_of_another_task_is_refused_with_the_difference(tmp_path: Path) -> None:
    opened(tmp_path).close()
    file = write_task(tmp_path)
    file.write_text(file.read_text().replace("30 days", "40 days"))
    with pytest.raises(OtherTaskError, match="40 days"):
        open_service(file, tmp_path / "data", EVENTS, lambda: START)


@pytest.mark.long
def test_snapshots_are_kept_as_it_goes_and_the_last_one_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "SNAPSHOT", 50)
    service = opened(tmp_path, "residual-table-shrunk")
    in_step(service, happenings(200))
    lived = service.digest()
    kept = sorted(path.name for path in (tmp_path / "data" / "snapshots").iterdir())
    assert len(kept) == KEPT
    assert 0 < int(kept[0]) < int(kept[1]) <= lived[1], "before it was stopped"
    service.close()
    service = opened(tmp_path, "residual-table-shrunk")
    assert service.digest() == lived
    service.close()


@pytest.mark.long
def test_lessons_are_the_very_bytes_that_were_sent_and_predictions_can_be_recomputed(tmp_path: Path) -> None:
    service = opened(tmp_path, "mixture")
    happened = happenings(120)
    in_step(service, happened)
    service.close()
    task, digest = open_folder(tmp_path / "books.toml", tmp_path / "data")
    store, engine = SqliteLog(tmp_path / "data", digest), core_for(task_forecaster(task))
    sent = {e.event.id: e.event for e in happened if isinstance(e.event, PredictionRequest)}
    entries = {entry.seq: entry for entry in store.read(0, 10_000)}
    pupil, recomputed = LogFold(engine), 0
    for lessons, boundary in [([], None), *read_lessons(store, horizons_of(task))]:
        for lesson in lessons:
            asked = sent[entries[lesson.predicted].id]
            assert predicted_in(entries[lesson.predicted]).features == asked.features
            assert lesson.symbols == np.array(asked.encoded.symbols, np.int32).tobytes()
        pupil.take(lessons)
        if boundary:
            pupil.learn(boundary.seq, boundary.predictions)
        for entry in entries.values():
            if entry.kind == EntryKind.PREDICTED and (body := predicted_in(entry)).model == pupil.learnt:
                x = sent[entry.id].encoded
                one = Instance(np.array([x.symbols], np.int32), np.array([x.dense], np.float32))
                said = engine.predict(pupil.learning.parameters(), one)
                assert said.log_probabilities[0].tobytes() == body.log_probabilities
                recomputed += 1
    store.close()
    assert recomputed >= 120


@pytest.mark.long
@pytest.mark.parametrize("fingerprint", [{}, {"numpy": "0.0"}])
def test_a_wrong_snapshot_of_the_right_shape_is_not_taken_up_and_nothing_but_time_is_lost(
    fingerprint: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    service = opened(tmp_path, "residual-table-shrunk")
    in_step(service, happenings(60))
    lived = service.digest()
    service.close()
    (kept,) = (tmp_path / "data" / "snapshots").glob("*/manifest.json")
    tensors, manifest = kept.with_name("learnt.safetensors"), json.loads(kept.read_text())
    del manifest["sha256"]
    manifest["fingerprint"] |= fingerprint
    other = tensors.read_bytes()[:-8] + np.float64(7).tobytes()  # which would be learnt from if it were taken up
    sha256 = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode() + other).hexdigest()
    kept.write_text(json.dumps(manifest | {"sha256": sha256}))
    tensors.write_bytes(other)
    folded = opened(tmp_path, "residual-table-shrunk")
    assert folded.digest() == lived
    folded.close()
    assert "is not the one that the log names; it is ignored." in capfd.readouterr().err


def test_parameters_are_never_written_over_while_they_are_in_use(tmp_path: Path) -> None:
    """Each are published in the copy that is not in use; the ones before stay as they were until the next."""
    engine = core_for(task_forecaster(load_task(write_task(tmp_path, "residual-table-shrunk"))))
    shared = SharedParameters(engine.layouts)
    symbols = np.array([1, 2], np.int32).tobytes()
    inbox, outbox, learner = BytesIO(), BytesIO(), LogFold(engine)
    messages.send(inbox, ["begin", {}])
    messages.send(inbox, ["publish"])
    published = [[part.copy() for part in learner.learning.parameters()]]
    for seq in (2, 4, 6):
        lesson = Lesson(seq - 1, EntryKind.PROXY, symbols, b"", b"", 1, seq - 1, -1, 0, seq - 1)
        for message in (["lessons", [lesson]], ["fold", seq, seq], ["publish"]):
            messages.send(inbox, message)
        learner.take([lesson])
        learner.learn(seq, seq)
        published.append([part.copy() for part in learner.learning.parameters()])
    inbox.seek(0)
    run_learner(engine, shared.descriptor, tmp_path / "snapshots", inbox, Heart(outbox))
    outbox.seek(0)
    told = [message for message in iter(lambda: messages.receive(outbox), None) if message[0] == "published"]
    copies = [copy for _, _, copy in told]
    assert len(copies) == len(published) == 4
    assert all(one != other for one, other in pairwise(copies))
    for copy, expected in zip(copies[-2:], published[-2:], strict=True):
        for part, own in zip(shared.copy(copy), expected, strict=True):
            assert np.array_equal(part, own)
    shared.close_descriptor()
