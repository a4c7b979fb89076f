"""`presage log`: what a service did can be checked, folded, exported and backtested; a past can be lived through."""

import asyncio
import csv
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from presage.backtesting.backtest import to_episode
from presage.backtesting.replay import replay
from presage.errors import SettingError
from presage.logs.rows import LogRows, read_log
from presage.metrics.losses import log_loss
from presage.service.folders import open_folder, task_forecaster
from presage.service.history import refold_folder, sent
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.service.learner.snapshots import Folded
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from presage.spaces import Array
from presage.task.exported_log import as_served
from presage.task.task import Task, load_task
from tests.cli.typed import Done, Presage
from tests.service.shop import DAY, START, Happening, happenings, write_task

EVENTS = Limits(clock="events")
BULK = 40


def lived(service: LiveService, events: list[PredictionRequest | FeedbackRequest], bulk: int) -> tuple[str, int]:
    """The state of a service that was sent bulks of events, each once the one before was learnt."""

    async def send() -> None:
        for first in range(0, len(events), bulk):
            await service.submit(events[first : first + bulk])
            while not service.caught_up():
                await asyncio.sleep(0.001)

    asyncio.run(send())
    return service.digest()


@pytest.fixture
def presage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Presage:
    return Presage(monkeypatch, capsys, "log")


def said(done: Done) -> Any:
    """The JSON that a command printed."""
    assert done.code == 0, done.err
    return json.loads(done.out)


def refused(done: Done) -> bool:
    """Whether a command ended in one line."""
    return done.code == 2 and done.out == "" and len(done.err.strip().splitlines()) == 1


@pytest.fixture(scope="module", params=["residual-table-shrunk", "mixture"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a service that has ended, and the state it had."""
    folder = tmp_path_factory.mktemp("served")
    service = open_service(write_task(folder, request.param), folder / "data", EVENTS, lambda: START)
    state, _ = lived(service, [each.event for each in happenings(500)], 7)
    service.close()
    return folder, state


@pytest.mark.long
def test_a_backtest_of_the_exported_log_gives_the_losses_that_were_recorded(
    served: tuple[Path, str], tmp_path: Path, presage: Presage
) -> None:
    folder, _ = served
    file, task_file = tmp_path / "log.parquet", folder / "books.toml"
    exported = said(presage("export", "--data", folder / "data", "--out", file, "--json"))
    task = load_task(task_file)
    rows, _ = read_log(as_served(task), str(file))
    query = f"SELECT coalesce(loss, 'nan') AS loss FROM '{file}' ORDER BY position"
    recorded = duckdb.connect().execute(query).fetchnumpy()["loss"]
    assert rows.models is not None
    assert len(np.unique(rows.models)) > 20, "it learnt as it went"
    losses = losses_of(task, rows)
    assert np.array_equal(np.isnan(losses), np.isnan(recorded))
    assert np.nanmax(np.abs(losses - recorded)) < 1e-6
    kind = task.forecaster.kind
    presage.words = ()
    found = said(presage("backtest", file, "--task", task_file, "--as-served", "--forecasters", kind, "--json"))
    assert found["forecasters"][kind]["log_loss"] == pytest.approx(exported["loss"], abs=1e-6)
    plainly = losses_of(task, rows._replace(models=None))
    assert np.nanmax(np.abs(plainly - recorded)) > 1e-3, "by the times alone more is seen than the service had learnt"


def losses_of(task: Task, rows: LogRows) -> Array:
    episode = to_episode(rows)
    return log_loss(replay({"served": task_forecaster(task)}, episode, 0, lambda _: None)["served"], episode.y)


@pytest.mark.long
def test_the_whole_log_is_verified_and_folded(served: tuple[Path, str], tmp_path: Path, presage: Presage) -> None:
    folder, state = served
    data = tmp_path / "data"
    shutil.copytree(folder / "data", data)
    whole = said(presage("verify", "--data", data, "--json"))
    assert sum(whole["bins"].values()) < whole["entries"]
    plainly = presage("verify", "--data", data)
    assert plainly.out.startswith(f"The log is intact: {whole['entries']:,} entries, ")
    assert "Bins: " in plainly.out
    assert plainly.err.strip() == ""
    folded = said(presage("replay", "--data", data, "--json"))
    assert folded["state"] == state
    assert folded["snapshots"] == {str(folded["position"]): True}
    shutil.rmtree(data / "snapshots")
    assert said(presage("replay", "--data", data, "--json"))["state"] == state
    body = bytearray((data / "log.sqlite").read_bytes())
    body[len(body) // 2] ^= 1
    (data / "log.sqlite").write_bytes(body)
    assert refused(presage("verify", "--data", data))


@pytest.mark.parametrize(("snapshots", "code"), [((), 0), ((True, True), 0), ((True, False), 1), ((False, True), 1)])
def test_replay_fails_if_any_snapshot_holds_something_else(
    snapshots: tuple[bool, ...], code: int, tmp_path: Path, presage: Presage, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_service(write_task(tmp_path), tmp_path / "data", EVENTS, lambda: START).close()
    found = Folded("state", 9, 5, {str(4 + place): same for place, same in enumerate(snapshots)})
    monkeypatch.setattr("presage.service.learner.snapshots.fold_log", lambda *_: found)
    done = presage("replay", "--data", tmp_path / "data")
    assert done.code == code
    assert (done.out + done.err).count("DIFFERENT") == snapshots.count(False)


def write_log(path: Path, happened: list[Happening]) -> None:
    """The same events as a log with a row for each prediction."""
    rows = {
        each.event.id: {"id": each.event.id, **json.loads(each.event.features), "shown_at": moment(each.at)}
        for each in happened
        if isinstance(each.event, PredictionRequest)
    }
    for each in happened:
        if isinstance(each.event, FeedbackRequest):
            rows[each.event.id] |= {each.event.kind: each.event.value, f"{each.event.kind}_at": moment(each.at)}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(
            file, ["id", "title", "genre", "shown_at", "proxy", "proxy_at", "outcome", "outcome_at"]
        )
        writer.writeheader()
        writer.writerows(rows.values())


def moment(at: int) -> str:
    return datetime.fromtimestamp(at / 1e6, UTC).isoformat(timespec="microseconds")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["residual-table-shrunk", "mixture"])
def test_a_service_that_imported_a_log_is_one_that_lived_through_it(
    kind: str, tmp_path: Path, presage: Presage
) -> None:
    asked = {each.event.id: each.at for each in happenings(400) if isinstance(each.event, PredictionRequest)}
    horizons = {"proxy": 2 * DAY, "outcome": 30 * DAY}
    in_time = [
        each
        for each in happenings(400)
        if isinstance(each.event, PredictionRequest) or each.at <= asked[each.event.id] + horizons[each.event.kind]
    ]
    task_file = write_task(tmp_path, kind)
    task_file.write_text(task_file.read_text() + '[log]\nid = "id"\n')
    write_log(tmp_path / "log.csv", in_time)
    service = open_service(task_file, tmp_path / "lived", EVENTS, lambda: START)
    state, position = lived(service, [each.event for each in in_time], BULK)
    service.close()
    command = ("import", tmp_path / "log.csv", "--task", task_file, "--data", tmp_path / "data")
    imported = said(presage(*command, "--bulk", BULK, "--json"))
    assert (imported["state"], imported["position"]) == (state, position)
    assert said(presage("replay", "--data", tmp_path / "data", "--json"))["state"] == state
    assert presage("verify", "--data", tmp_path / "data").code == 0
    again = presage(*command)
    assert refused(again)
    assert "is not empty" in again.err


def test_a_task_that_cannot_be_served_is_refused_before_anything_is_made(tmp_path: Path, presage: Presage) -> None:
    task_file = write_task(tmp_path)
    task_file.write_text(task_file.read_text().replace(", hashed = 64", ""))
    done = presage("import", tmp_path / "log.csv", "--task", task_file, "--data", tmp_path / "data")
    assert refused(done)
    assert "a service needs to know how many values a feature has" in done.err
    with pytest.raises(SettingError):
        open_service(task_file, tmp_path / "data", EVENTS, lambda: START)
    assert list(tmp_path.iterdir()) == [task_file]


def test_a_folder_without_a_log_is_told(tmp_path: Path, presage: Presage) -> None:
    for command in (("verify",), ("replay",), ("export", "--out", tmp_path / "log.parquet")):
        done = presage(*command, "--data", tmp_path)
        assert refused(done)
        assert "there is no log in the data folder" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_changed_task_is_folded_anew_and_the_old_log_is_kept(tmp_path: Path, presage: Presage) -> None:
    task_file = write_task(tmp_path, "residual-table-shrunk")
    service = open_service(task_file, tmp_path / "data", EVENTS, lambda: START)
    events = [each.event for each in happenings(200)]
    before, _ = lived(service, events, BULK)
    service.close()
    old = (tmp_path / "data" / "log.sqlite").read_bytes()
    text = task_file.read_text().replace("2 days", "1 days").replace('"closed", "begun", "half"', '"closed", "half"')
    task_file.write_text(text)
    told: list[int] = []
    aside = refold_folder(task_file, tmp_path / "data", told.append)
    assert sum(told) == sent(tmp_path / "data") == len(events)
    assert (aside / "log.sqlite").read_bytes() == old
    bins = said(presage("verify", "--data", tmp_path / "data", "--json"))["bins"]
    begun = sum(isinstance(event, FeedbackRequest) and event.value == "begun" for event in events)
    assert 0 < bins["quarantined"] <= begun
    assert said(presage("replay", "--data", tmp_path / "data", "--json"))["state"] != before
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["books.toml", "data", "data.before-1"]
    kept = (tmp_path / "data" / "log.sqlite").read_bytes()
    (tmp_path / "data").rename(tmp_path / ".data.refolded-1")  # as if it had been killed before the last step
    open_folder(task_file, tmp_path / "data")
    assert (tmp_path / "data" / "log.sqlite").read_bytes() == kept, "no empty log takes its place"
    (tmp_path / "data").rename(tmp_path / ".data.refolded-2")  # as if it had been killed before the last but one
    open_folder(task_file, tmp_path / "data")
    assert not (tmp_path / "data" / "log.sqlite").exists(), "what was not put in place is not taken up"
