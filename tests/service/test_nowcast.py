"""The now-cast of a service: it follows what is learnt of an id's proxy, be that its value or its absence."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from presage.drivers.core import ContextCore, Core, NetworkCore
from presage.journal.readers import read_lessons
from presage.journal.sqlite import SqliteLog
from presage.service.features import feature_encoder
from presage.service.folders import horizons_of, open_folder, task_forecaster
from presage.service.http.app import create_app
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.service.learner.folding import LogFold
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from presage.spaces import Array, Instance
from presage.task.task import load_task
from tests.service.asking import Asking
from tests.service.running import until
from tests.service.shop import DAY, START, request, write_task

EVENTS = Limits(clock="events")
HOUR = DAY // 24
BOOK = {"title": "Emma", "genre": "poems"}
ABSENT = 'absent = "closed"\n'
TAUGHT = 30
"""Books closed and left, and as many half read and finished: so g(finished | closed) = 1 / 32, and 31 / 32 of half."""


def learn(service: LiveService) -> None:
    """Teach it what a book closed and a book half read come to."""
    lives = [("closed", "left"), ("half", "finished")] * TAUGHT
    events: list[PredictionRequest | FeedbackRequest] = []
    for number, (proxy, outcome) in enumerate(lives):
        id = f"past-{number}"
        events += [
            request(id, BOOK, START),
            FeedbackRequest(id, "proxy", proxy, START),
            FeedbackRequest(id, "outcome", outcome, START),
        ]
    asyncio.run(service.submit(events))
    until(service.caught_up)


@contextmanager
def asked(folder: Path, kind: str, absent: str = ABSENT) -> Iterator[Asking]:
    """A service over HTTP that was asked about one book four times.

    The first time the proxy came in time, then late, then not at all; for the last time its horizon has not passed yet.
    """
    file = write_task(folder, kind)
    file.write_text(file.read_text().replace(ABSENT, absent))
    service = open_service(file, folder / "data", EVENTS, lambda: START)
    learn(service)
    ask = Asking(create_app(service, load_task(file), EVENTS))

    def send(path: str, at: int, **body: Any) -> None:
        assert ask.post(f"/v1/{path}", body | {"at": at}).status_code == 200
        until(service.caught_up)

    for id in ("in time", "late", "never"):
        send("predictions", START + DAY, id=id, features=BOOK)
    send("proxies", START + DAY + HOUR, id="in time", value="half")
    send("proxies", START + 4 * DAY, id="late", value="half")
    send("predictions", START + 4 * DAY, id="last", features=BOOK)
    try:
        yield ask
    finally:
        service.close()


def known(ask: Asking, id: str) -> dict[str, Any]:
    found: dict[str, Any] = ask.get(f"/v1/predictions/{id}").json()
    return found


def folded(folder: Path) -> tuple[Array, Array]:
    """The probabilities of a new book and the now-casts [Z, Y] of its proxies, by the forecaster's own functions."""
    task, digest = open_folder(folder / "books.toml", folder / "data")
    forecaster = task_forecaster(task)
    # For a table not the road that serves: the functions of the contract, compiled by XLA.
    core: Core = ContextCore(forecaster) if forecaster.family == "mixture" else NetworkCore(forecaster)
    engine, store = core, SqliteLog(folder / "data", digest)
    pupil = LogFold(engine)
    for lessons, boundary in read_lessons(store, horizons_of(task)):
        pupil.take(lessons)
        if boundary:
            pupil.learn(boundary.seq, boundary.predictions)
    store.close()
    x, parameters = feature_encoder(task)(BOOK), pupil.learning.parameters()
    books = Instance(np.array([x.symbols] * 3, np.int32), np.array([x.dense] * 3, np.float32))
    said = engine.predict(parameters, books).log_probabilities[0]
    return np.exp(said), np.exp(engine.nowcast(parameters, books, np.arange(3)))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["factored-table", "mixture"])
def test_a_now_cast_is_that_of_the_forecaster_for_what_is_learnt_of_the_proxy(kind: str, tmp_path: Path) -> None:
    with asked(tmp_path, kind) as ask:
        found = {id: list(known(ask, id)["nowcast"].values()) for id in ("in time", "late", "never", "last")}
    plain, told = folded(tmp_path)
    closed, half = told[0], told[2]
    for id, expected in (("in time", half), ("late", closed), ("never", closed), ("last", plain)):
        assert np.abs(found[id] - expected).max() < 1e-6, id
    assert min(np.abs(a - b).max() for a, b in ((plain, half), (plain, closed), (half, closed))) > 0.2


@pytest.mark.long
def test_an_absence_that_was_decided_is_followed_and_a_proxy_that_came_late_is_not(tmp_path: Path) -> None:
    with asked(tmp_path, "factored-table") as ask:
        finished = {id: known(ask, id)["nowcast"]["finished"] for id in ("in time", "never", "late")}
        signals = {id: known(ask, id)["proxy"] for id in finished}
    assert finished == pytest.approx({"in time": 31 / 32, "never": 1 / 32, "late": 1 / 32})
    assert signals == {
        "in time": {"value": "half", "bin": "trained"},
        "never": {"value": None, "bin": "absent"},
        "late": {"value": "half", "bin": "late"},
    }


@pytest.mark.long
def test_without_a_value_for_absence_a_proxy_that_did_not_come_in_time_leaves_the_plain_prediction(
    tmp_path: Path,
) -> None:
    with asked(tmp_path, "factored-table", absent="") as ask:
        found = {id: known(ask, id) for id in ("in time", "never", "late", "last")}
    assert [found[id]["proxy"]["bin"] for id in found] == ["trained", "absent", "late", "awaited"]
    plain = found["last"]["nowcast"]
    assert found["never"]["nowcast"] == found["late"]["nowcast"] == plain
    assert found["in time"]["nowcast"]["finished"] == pytest.approx(31 / 32)
    assert 0.2 < plain["finished"] < 0.8
