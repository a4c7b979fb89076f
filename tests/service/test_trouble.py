"""The service in trouble: a learner that is behind or gone, a disk that is full or fails while nobody asks anything."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from presage.errors import BusyError, StoreFailedError, StoreFullError
from presage.joining.join import Decision
from presage.journal.appender import Appender, CommitGroup
from presage.journal.interface import Commit, Head
from presage.journal.sqlite import SqliteLog
from presage.service import service as core
from presage.service.http.app import create_app
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.service.learner import heartbeat
from presage.service.learner.snapshots import positions
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from presage.task.task import load_task
from tests.service.asking import Asking
from tests.service.shop import DAY, START, request, write_task

WAIT = 60.0

pytestmark = pytest.mark.long


def asked(id: str, at: int | None = None) -> PredictionRequest:
    return request(id, {"title": "x", "genre": "maps"}, at)


def opened(folder: Path, clock: Callable[[], int] = lambda: START, kind: str = "wall") -> LiveService:
    return open_service(write_task(folder, "residual-table"), folder / "data", Limits(clock=kind), clock)


def learner(service: LiveService) -> int:
    found = service._parts.learner._child
    assert found
    return found.pid


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def feed(service: LiveService, count: int, start: int = 0) -> None:
    asyncio.run(
        service.feed([FeedbackRequest(f"a{number}", "proxy", "half") for number in range(start, start + count)])
    )


def handed_on(service: LiveService) -> None:
    """Wait until the lessons of what was kept are with the learner: they are handed on after the answer is given."""
    asyncio.run(service.look_up("a0"))


def predict(service: LiveService, *ids: str) -> None:
    asyncio.run(service.predict([asked(id) for id in ids]))


def test_lessons_that_wait_for_a_prediction_refuse_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "LAG", 5)
    service = opened(tmp_path)
    predict(service, *(f"a{number}" for number in range(40)))
    feed(service, 1)
    until(service.caught_up)
    feed(service, 39, start=1)  # no prediction was made by what was learnt, so nothing more is learnt yet
    until(lambda: service.numbers().lessons_waiting == 39)
    for number in range(3):
        predict(service, f"b{number}")
        until(service.caught_up)
    until(lambda: service.numbers().lessons_waiting == 0)
    service.close()


def test_a_learner_that_is_behind_refuses_predictions_before_feedback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "LAG", 5)
    monkeypatch.setattr(heartbeat, "SILENT", 10_000)  # or it would be replaced
    service = opened(tmp_path)
    predict(service, *(f"a{number}" for number in range(40)))
    os.kill(learner(service), signal.SIGSTOP)
    feed(service, 6)
    handed_on(service)
    with pytest.raises(BusyError, match="the learner is behind"):
        predict(service, "b")
    feed(service, 6, start=6)
    handed_on(service)
    with pytest.raises(BusyError, match="the learner is behind"):
        feed(service, 1, start=12)
    os.kill(learner(service), signal.SIGCONT)
    until(service.caught_up)
    predict(service, "b")
    feed(service, 1, start=12)
    service.close()


class Disk:
    """A disk that errs as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: Exception | None = None
        self.met = 0
        commit = SqliteLog.commit

        def errs(store: SqliteLog, what: Commit) -> Head:
            if self.error:
                self.met += 1
                raise self.error
            return commit(store, what)

        monkeypatch.setattr(SqliteLog, "commit", errs)


def test_what_is_overdue_is_decided_once_a_full_disk_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "TICK", 0.01)
    now, disk = [START], Disk(monkeypatch)
    service = opened(tmp_path, lambda: now[0])
    predict(service, "a")
    disk.error = StoreFullError("the disk is full", "ENOSPC", "make room")
    now[0] += 3 * DAY
    until(lambda: disk.met > 2)
    disk.error = None
    until(lambda: service.numbers().counters.bins.absent + service.numbers().counters.bins.trained == 1)
    service.close()


def test_a_store_that_fails_while_nobody_asks_is_told_by_its_health(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "TICK", 0.01)
    now, disk = [START], Disk(monkeypatch)
    service = opened(tmp_path, lambda: now[0])
    app = create_app(service, load_task(tmp_path / "books.toml"))
    ask = Asking(app)
    predict(service, "a")
    assert ask.get("/healthz").status_code == 200
    disk.error = StoreFailedError("the disk erred", "EIO", "replace it")
    now[0] += 3 * DAY
    until(lambda: ask.get("/healthz").status_code == 503)
    assert "the disk erred" in ask.get("/readyz").json()["why"]
    assert "the disk erred" in app.state.failed(), "which ends the process"
    service.close()


def test_what_was_kept_is_not_called_refused_when_deciding_finds_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = opened(tmp_path, kind="events")
    settle, full = Appender.settle, [True]

    def errs(appender: Appender, now: int, limit: int) -> CommitGroup:
        if full[0]:
            raise StoreFullError("the disk is full", "ENOSPC", "make room")
        return settle(appender, now, limit)

    monkeypatch.setattr(Appender, "settle", errs)
    (done,) = asyncio.run(service.predict([asked("a", START)]))
    assert done.status == "accepted"
    asyncio.run(service.predict([asked("b", START + 3 * DAY)]))
    assert service.numbers().counters.bins.absent == 0
    full[0] = False
    asyncio.run(service.predict([asked("c", START + 3 * DAY)]))
    assert service.numbers().log_entries > 3, "and what was overdue is decided"
    service.close()


@pytest.mark.parametrize("value", ["half", "begun"])
def test_what_is_not_accepted_does_not_even_change_the_time(value: str, tmp_path: Path) -> None:
    service = opened(tmp_path, kind="events")

    async def talk() -> None:
        await service.predict([asked("a", START), asked("b", START)])
        await service.feed([FeedbackRequest("a", "proxy", "half", START + 1)])
        before = service.describe()["log"]
        (done,) = await service.feed([FeedbackRequest("a", "proxy", value, START + 400 * DAY)])
        assert done.decision is (Decision.REPEATED if value == "half" else Decision.CONFLICT)
        assert service.describe()["log"] == before

    asyncio.run(talk())
    service.close()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_lets_the_learner_keep_what_it_learnt(sent: signal.Signals, tmp_path: Path) -> None:
    service = opened(tmp_path)
    predict(service, "a0")
    feed(service, 1)
    until(service.caught_up)
    os.kill(learner(service), sent)
    service.close()
    assert positions(tmp_path / "data" / "snapshots")
