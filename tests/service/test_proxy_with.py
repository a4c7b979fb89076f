"""A service whose proxy has a feature of its own: predictions and now-casts are those of a backtest of its log."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest

from presage.backtesting.backtest import to_episode
from presage.drivers.play import play_trials
from presage.logs.rows import read_log
from presage.service.folders import task_forecaster
from presage.service.http.app import create_app
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.task.exported_log import as_served
from presage.task.task import load_task
from presage.timeline.episode import Episode
from tests.cli.test_log import lived
from tests.cli.typed import Presage
from tests.service.asking import Asking
from tests.service.running import until
from tests.service.shop import DAY, START, happenings, request, write_task

EVENTS = Limits(clock="events")
BEFORE, OWN = "[proxy]\nvalues", '[proxy]\nwith = ["genre"]\nvalues'


def told(folder: Path, kind: str) -> Path:
    file = write_task(folder, kind)
    file.write_text(file.read_text().replace(BEFORE, OWN))
    return file


@pytest.mark.long
def test_a_half_read_poem_is_not_a_half_read_crime(tmp_path: Path) -> None:
    """Sixty poems half read were finished, sixty crimes were not; the titles say nothing."""
    file = told(tmp_path, "factored-table")
    service = open_service(file, tmp_path / "data", EVENTS, lambda: START)
    ask = Asking(create_app(service, load_task(file), EVENTS))
    events: list[PredictionRequest | FeedbackRequest] = []
    for number in range(60):
        for genre, outcome in (("poems", "finished"), ("crime", "left")):
            id = f"{genre}-{number}"
            events += [
                request(id, {"title": "Emma", "genre": genre}, START),
                FeedbackRequest(id, "proxy", "half", START),
                FeedbackRequest(id, "outcome", outcome, START),
            ]
    lived(service, events, 30)
    for genre in ("poems", "crime", "maps"):
        book = {"id": genre, "features": {"title": "Emma", "genre": genre}, "at": START + DAY}
        assert ask.post("/v1/predictions", book).status_code == 200
    for genre in ("poems", "crime", "maps"):
        assert ask.post("/v1/proxies", {"id": genre, "value": "half", "at": START + DAY}).status_code == 200
    until(service.caught_up)
    found = {genre: ask.get(f"/v1/predictions/{genre}").json() for genre in ("poems", "crime", "maps")}
    service.close()
    nowcasts = {genre: one["nowcast"]["finished"] for genre, one in found.items()}
    assert nowcasts == pytest.approx({"poems": 61 / 62, "crime": 1 / 62, "maps": 1 / 2})
    h = 121 / 123  # all 120 proxies of the title were half: Laplace over three values
    said = {genre: one["probabilities"]["finished"] for genre, one in found.items()}
    assert said == pytest.approx({g: h * nowcasts[g] + (1 - h) / 2 for g in said})
    assert all(one["proxy"]["value"] == "half" for one in found.values()), "its symbol is the plain one"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["factored-table-shrunk", "mixture"])
def test_a_backtest_of_the_log_gives_the_losses_that_were_recorded(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task_file, file, presage = told(tmp_path, kind), tmp_path / "log.parquet", Presage(monkeypatch, capsys)
    service = open_service(task_file, tmp_path / "data", EVENTS, lambda: START)
    lived(service, [each.event for each in happenings(400)], 7)
    service.close()
    exported = presage("log", "export", "--data", tmp_path / "data", "--out", file, "--json")
    assert exported.code == 0, exported.err
    task = load_task(task_file)
    rows, _ = read_log(as_served(task), str(file))
    query = f"SELECT coalesce(loss, 'nan') AS loss FROM '{file}' ORDER BY position"
    recorded = duckdb.connect().execute(query).fetchnumpy()["loss"]
    dealt, forecaster = Episode.stack([to_episode(rows)]), task_forecaster(task)
    assert forecaster.spaces.proxy_with == (1,)
    assert np.nanmax(np.abs(play_trials(forecaster, dealt, 0)[0] - recorded)) < 1e-6
    found = presage("backtest", file, "--task", task_file, "--as-served", "--forecasters", kind, "--json")
    assert found.code == 0, found.err
    loss = json.loads(found.out)["forecasters"][kind]["log_loss"]
    assert loss == pytest.approx(json.loads(exported.out)["loss"], abs=1e-6)
    task_file.write_text(task_file.read_text().replace(OWN, BEFORE))
    plain = play_trials(task_forecaster(load_task(task_file)), dealt, 0)[0]
    apart = float(np.nanmax(np.abs(plain - recorded)))
    assert apart < 1e-6 if kind == "mixture" else apart > 1e-3, "the default reads every feature anyway"
