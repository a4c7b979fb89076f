"""The disk under a service: who may read what it keeps, and what it answers when there is no space."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from presage.errors import StoreFullError
from presage.files import has_space
from presage.journal.interface import Commit, Head
from presage.journal.sqlite import SqliteLog
from presage.progress import silent
from presage.service import service as live
from presage.service.copies import backup_folder
from presage.service.http.app import create_app
from presage.service.interface import FeedbackRequest
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from presage.task.task import load_task
from tests.service.asking import Asking
from tests.service.running import until
from tests.service.shop import START, request, write_task

pytestmark = pytest.mark.long


def opened(folder: Path) -> LiveService:
    return open_service(write_task(folder, "residual-table"), folder / "data", Limits(), lambda: START)


def learn(service: LiveService) -> None:
    asyncio.run(service.predict([request("a", {"title": "x", "genre": "maps"}, None)]))
    asyncio.run(service.feed([FeedbackRequest("a", "proxy", "half")]))
    until(service.caught_up)


def test_what_the_service_keeps_is_for_its_own_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        service = opened(tmp_path)
        learn(service)
        running = sorted((tmp_path / "data").rglob("*"))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in running}
        service.close()
    finally:
        os.umask(before)
    kept = sorted((tmp_path / "data").rglob("*"))
    modes |= {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data", *kept)}
    folders = {"data", "snapshots", *(path.name for path in kept if path.is_dir())}
    made = {"log.sqlite", "log.sqlite-wal", "head", "epoch", "task.toml", "forecaster.json", "manifest.json"}
    assert made < modes.keys()
    assert modes == {name: 0o700 if name in folders else 0o600 for name in modes}


def test_copies_of_what_the_service_keeps_are_for_its_own_user_alone(tmp_path: Path) -> None:
    opened(tmp_path).close()
    before = os.umask(0)
    try:
        backup_folder(tmp_path / "data", tmp_path / "backup", silent)
    finally:
        os.umask(before)
    kept = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "backup").iterdir()}
    assert kept == dict.fromkeys(["log.sqlite", "head", "task.toml", "forecaster.json"], 0o600)
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o700


def test_a_folder_that_was_there_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(0o750)
    opened(tmp_path).close()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o750


def test_a_full_disk_is_told_by_readiness_until_there_is_space_and_no_answer_names_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = opened(tmp_path)
    learn(service)
    ask = Asking(create_app(service, load_task(tmp_path / "data" / "task.toml")))
    commit, full = SqliteLog.commit, True

    def commit_if_space(store: SqliteLog, what: Commit) -> Head:
        if full:
            raise StoreFullError("the disk is full", str(store.path), "free some space")
        return commit(store, what)

    monkeypatch.setattr(SqliteLog, "commit", commit_if_space)
    monkeypatch.setattr(live, "has_space", lambda folder, size: folder == tmp_path / "data" and not full)
    assert ask.get("/readyz").status_code == 200
    refused = ask.post("/v1/outcomes", {"id": "b", "value": "left"})
    assert (refused.status_code, refused.json()["value"]) == (507, None)
    for _ in range(3):
        ready = ask.get("/readyz")
        assert (ready.status_code, ready.json()["why"][:16]) == (503, "the disk is full")
        assert str(tmp_path) not in refused.text + ready.text
    assert ask.get("/healthz").status_code == 200
    full = False
    until(lambda: ask.get("/readyz").status_code == 200)
    full = True
    assert ask.post("/v1/outcomes", {"id": "b", "value": "left"}).status_code == 507
    full = False
    assert ask.post("/v1/outcomes", {"id": "b", "value": "left"}).status_code == 200
    assert ask.get("/readyz").status_code == 200
    service.close()


def test_there_is_no_space_for_a_file_larger_than_the_disk(tmp_path: Path) -> None:
    assert has_space(tmp_path, 4096)
    assert not has_space(tmp_path, 1 << 60)
    assert not has_space(tmp_path / "nowhere", 1)
    assert list(tmp_path.iterdir()) == []
