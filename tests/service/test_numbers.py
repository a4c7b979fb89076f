"""Numbers that a service accepts, however large, leave its parameters and its answers finite."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from presage.drivers.core import ArrayLayout, Parameters, core_for
from presage.errors import FeatureError, NotFiniteError
from presage.journal.readers import read_lessons
from presage.journal.sqlite import SqliteLog
from presage.service.features import feature_encoder
from presage.service.folders import TASK, folder_forecaster, horizons_of, task_digest
from presage.service.history import refold_folder
from presage.service.http.app import create_app
from presage.service.learner.client import ServedModel
from presage.service.learner.folding import LogFold
from presage.service.learner.shared_parameters import SharedParameters
from presage.service.learner.snapshots import fold_log, keep_snapshot, restore_snapshot
from presage.service.limits import Limits
from presage.service.opening import open_service
from presage.service.service import LiveService
from presage.task.task import load_task, read_task
from tests.service.asking import NDJSON, Asking
from tests.service.running import until

POISONED = Path(__file__).parent.parent / "fixtures" / "poisoned-1"
EVENTS = Limits(clock="events")
START = 1_790_000_000_000_000
HOUR = 3_600_000_000

TASK_TEXT = """version = 1
name = "books finished"
[instance]
title = { kind = "category", hashed = 64 }
price = { kind = "number" }
tiny = { kind = "number", scale = 1e-30, missing = 0 }
[proxy]
values = ["closed", "begun"]
horizon = "2 days"
[outcome]
values = ["left", "finished"]
horizon = "30 days"
[forecaster]
kind = "KIND"
"""
WILD = (9007199254740990, -9007199254740990, 1e15, 1e-310, 5e-324, 0, -0.0, 1e5)
"""Prices that are accepted; one scale of `tiny` is 1e-30, so that it leaves the range of float32 at 3e8."""


def write_task(folder: Path, kind: str, bounds: str = "") -> Path:
    path = folder / "books.toml"
    path.write_text(TASK_TEXT.replace("KIND", kind).replace('"number" }', f'"number"{bounds} }}'))
    return path


def happened(rows: int, first: int = 0) -> bytes:
    """Lines of a bulk: ordinary prices and wild ones, each with a proxy and an outcome within the hour."""
    draw, lines = np.random.default_rng(first), []
    for row in range(first, first + rows):
        at, id = START + row * HOUR, f"order-{row}"
        price = WILD[row // 4 % len(WILD)] if row % 4 == 3 else float(np.round(draw.normal(), 3))
        features = {"title": f"title {draw.integers(0, 9)}", "price": price, "tiny": price}
        z, y = int(draw.integers(0, 2)), int(draw.integers(0, 2))
        lines += [
            {"kind": "prediction", "id": id, "features": features, "at": at},
            {"kind": "proxy", "id": id, "value": ("closed", "begun")[z], "at": at + 1},
            {"kind": "outcome", "id": id, "value": ("left", "finished")[y], "at": at + 2},
        ]
    return b"\n".join(json.dumps(line).encode() for line in lines)


def is_finite(parameters: Parameters) -> bool:
    return all(np.isfinite(part).all() for part in parameters)


def opened(task_file: Path, folder: Path) -> tuple[LiveService, Asking]:
    service = open_service(task_file, folder, EVENTS, lambda: 0)
    return service, Asking(create_app(service, load_task(task_file), EVENTS))


def answered(ask: Asking, id: str, price: float, row: int) -> dict[str, float]:
    """The probabilities that a service gives for a price."""
    features = {"title": "title 3", "price": price, "tiny": price}
    found = ask.post("/v1/predictions", {"id": id, "features": features, "at": START + row * HOUR})
    assert found.status_code == 200, found.text
    probabilities: dict[str, float] = found.json()["probabilities"]
    assert all(isinstance(value, float) and 0 <= value <= 1 for value in probabilities.values()), probabilities
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-4)
    return probabilities


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    [
        "mixture",
        "residual-table",
        "residual-network",
        pytest.param("direct-network", marks=pytest.mark.slow),
        pytest.param("factored-network", marks=pytest.mark.slow),
    ],
)
def test_no_number_that_is_accepted_makes_a_parameter_or_an_answer_non_finite(kind: str, tmp_path: Path) -> None:
    task_file, data, rows = write_task(tmp_path, kind), tmp_path / "data", 0
    for bulks in (5, 1):  # new, and started again
        service, ask = opened(task_file, data)
        for _ in range(bulks):
            sent = ask.post("/v1/events", content=happened(40, rows), headers=NDJSON)
            assert (sent.status_code, sent.json()["accepted"]) == (200, 120)
            rows += 40
            until(service.caught_up)
            assert not service.ready()
        for place, price in enumerate(WILD):
            answered(ask, f"wild-{rows}-{place}", price, rows)
        for price in (1e38, -1e38, 3.4e38, 9007199254740992):
            refused = ask.post("/v1/predictions", {"id": "x", "features": {"title": "t", "price": price}, "at": START})
            assert (refused.status_code, refused.json()["type"]) == (422, "urn:presage:invalid")
        until(service.caught_up)
        live = service.digest()
        assert is_finite(service._parts.learner.model.parameters)
        service.close()
    store = SqliteLog(data, task_digest(data))
    task = load_task(task_file)
    folded = fold_log(folder_forecaster(data), store, horizons_of(task), data / "snapshots", lambda _: None)
    store.close()
    assert (folded.state, folded.position) == live
    assert str(folded.position) in folded.snapshots
    refold_folder(write_task(tmp_path, kind, ", min = -5, max = 5"), data, lambda _: None)
    service, ask = opened(task_file, data)
    assert is_finite(service._parts.learner.model.parameters)
    answered(ask, "after the refold", 3.0, rows + 1)
    service.close()


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """A copy of a folder whose log holds numbers that turned networks into NaN, and what they answered then."""
    return Path(shutil.copytree(POISONED, tmp_path / "poisoned-1"))


def folded(folder: Path) -> LogFold:
    """All that the log of a folder teaches."""
    store = SqliteLog(folder, task_digest(folder))
    pupil = LogFold(core_for(folder_forecaster(folder)))
    for lessons, boundary in read_lessons(store, horizons_of(load_task(folder / TASK))):
        pupil.take(lessons)
        if boundary:
            pupil.learn(boundary.seq, boundary.predictions)
    store.close()
    return pupil


@pytest.mark.long
def test_a_log_that_holds_such_numbers_folds_to_finite_parameters(poisoned: Path) -> None:
    parameters = folded(poisoned).learning.parameters()
    assert is_finite(parameters)
    assert max(float(np.abs(part).max()) for part in parameters if part.size) < 10, "and to ordinary ones"


@pytest.mark.long
def test_a_poisoned_folder_is_served_again_and_what_it_answered_then_is_a_500_with_its_reason(poisoned: Path) -> None:
    store = SqliteLog(poisoned, task_digest(poisoned))
    chain = store.chain_at(store.counters.learn)
    store.close()
    assert chain
    pupil = folded(poisoned)
    whole = [np.array(part) for part in pupil.learning.parameters()]
    broken = pupil.learning.tensors()
    name = next(name for name in broken if name.endswith("weights"))
    pupil.learning.restore(broken | {name: np.full_like(broken[name], np.nan)}, pupil.learning.predictions)
    keep_snapshot(pupil, poisoned / "snapshots", chain.hex())  # as the version kept it that was poisoned
    service, ask = opened(POISONED / TASK, poisoned)
    for ours, theirs in zip(service._parts.learner.model.parameters, whole, strict=True):
        assert np.array_equal(ours, theirs), "the log was folded from its beginning"
    features = {"title": "title 3", "genre": "love", "price": 9007199254740990}
    at = service._parts.writer.head.at + HOUR
    fresh = ask.post("/v1/predictions", {"id": "new", "features": features, "at": at})
    assert fresh.status_code == 200
    assert np.isfinite(list(fresh.json()["probabilities"].values())).all()
    old = ask.get("/v1/predictions/order-299")
    assert (old.status_code, old.headers["content-type"]) == (500, "application/problem+json")
    assert old.json()["type"] == "urn:presage:not-finite"
    assert (old.json()["what"], old.json()["value"]) == ("the answer is no finite number", "order-299")
    assert ask.get("/v1/predictions/order-5").status_code == 200
    watch = service._parts.watcher.watch
    assert np.isfinite(watch.arrived.stretches().sums).all(), "the worst loss there is stands for those answers"
    service.close()


def test_a_snapshot_whose_parameters_are_not_finite_is_left_aside(tmp_path: Path) -> None:
    spoilt, snapshots = (LogFold(core_for(_forecaster(tmp_path))) for _ in range(2)), tmp_path / "snapshots"
    first, second = spoilt
    snapshots.mkdir()
    for seq, value in ((3, 2.0), (7, np.nan)):
        tensors = {name: np.full_like(part, value) for name, part in first.learning.tensors().items()}
        first.learning.restore(tensors, seq)
        first.learnt = seq
        keep_snapshot(first, snapshots, "ab")
    restore_snapshot(second, snapshots, {"3": "ab", "7": "ab"})
    assert (second.learnt, second.learning.predictions) == (3, 3)
    assert is_finite(second.learning.parameters())
    shutil.rmtree(snapshots / f"{3:016d}")
    third = LogFold(core_for(_forecaster(tmp_path)))
    restore_snapshot(third, snapshots, {"7": "ab"})
    assert (third.learnt, third.learning.predictions) == (0, 0)
    assert is_finite(third.learning.parameters())


def _forecaster(folder: Path) -> Any:
    data = folder / "made"
    if not data.exists():
        open_service(write_task(folder, "residual-table"), data, EVENTS, lambda: 0).close()
    return folder_forecaster(data)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_parameters_that_are_not_finite_are_never_published(bad: float) -> None:
    layouts = (ArrayLayout((3,), "<i8"), ArrayLayout((2, 600), "<f4"), ArrayLayout((0,), "<f8"))
    shared = SharedParameters(layouts)
    parameters = np.arange(3), np.full((2, 600), 1e38, "<f4"), np.zeros(0)  # whose sum is beyond float32
    shared.write(0, parameters)
    assert all(np.array_equal(ours, given) for ours, given in zip(shared.copy(0), parameters, strict=True)), "finite"
    wrong = tuple(part.copy() for part in parameters)
    wrong[1].flat[-1] = bad
    wrong[0][...] = 5
    with pytest.raises(
        NotFiniteError, match=r"parameters are no finite numbers: found '1 of 1,200 in array 1'; nothing was"
    ):
        shared.write(0, wrong)
    assert all(np.array_equal(ours, given) for ours, given in zip(shared.copy(0), parameters, strict=True)), "as before"


def test_an_answer_that_is_not_finite_is_a_500_that_names_the_reason_and_nothing_is_recorded(tmp_path: Path) -> None:
    service, ask = opened(write_task(tmp_path, "residual-table"), tmp_path / "data")
    ask.post("/v1/events", content=happened(4), headers=NDJSON)
    until(service.caught_up)
    learner, position = service._parts.learner, service._parts.writer.head.seq
    whole = learner.model
    learner.model = ServedModel(tuple(np.full_like(part, np.nan) for part in whole.parameters), whole.position)
    body = {"id": "new", "features": {"title": "t", "price": 1}, "at": START + 9 * HOUR}
    for found in (
        ask.post("/v1/predictions", body),
        ask.post("/v1/events", content=json.dumps({"kind": "prediction"} | body).encode(), headers=NDJSON),
        ask.get("/v1/predictions/order-1"),
    ):
        assert (found.status_code, found.json()["type"]) == (500, "urn:presage:not-finite")
        assert found.json()["what"] == "the answer is no finite number"
        assert found.json()["value"] in ("new", "order-1")
    assert service._parts.writer.head.seq == position
    learner.model = whole
    assert ask.post("/v1/predictions", body).status_code == 200
    service.close()


BOUNDED = TASK_TEXT.replace("KIND", "mixture")


@pytest.mark.parametrize(
    ("bounds", "value", "dense"),
    [
        ("", 1e308, 1e30),
        ("", -1e308, -1e30),
        ("", 10**400, None),
        (", min = -2, max = 3", 3, 3.0),
        (", min = -2, max = 3", 3.1, None),
        (", min = -2, max = 3", -2.1, None),
        (", min = -2", 1e20, 1e20),
        (", max = 3", -1e20, -1e20),
        (', min = -2, max = 3, outside = "clip"', 9007199254740990, 3.0),
        (', min = -2, max = 3, outside = "clip"', -1e308, -2.0),
        (', max = 3, outside = "refuse"', 4, None),
    ],
)
def test_a_number_out_of_bounds_is_refused_or_clipped_as_the_task_says(
    bounds: str, value: float, dense: float | None
) -> None:
    task = read_task(BOUNDED.replace('price = { kind = "number"', f'price = {{ kind = "number"{bounds}'))
    features = {"title": "t", "price": value}
    if dense is None:
        with pytest.raises(
            FeatureError, match=r"price (is (below -2 or )?above 3|is below -2 or above 3|must be a number)"
        ):
            feature_encoder(task)(features)
    else:
        assert feature_encoder(task)(features).dense == [dense, 0.0]


def test_what_was_accepted_before_there_were_bounds_is_clipped_to_them() -> None:
    task = read_task(BOUNDED.replace('price = { kind = "number"', 'price = { kind = "number", max = 3'))
    assert feature_encoder(task, accepted=True)({"title": "t", "price": 9007199254740990}).dense == [3.0, 0.0]


def test_bounds_are_refused_over_http_and_described(tmp_path: Path) -> None:
    task_file = write_task(tmp_path, "residual-table", ", min = -5, max = 5")
    task_file.write_text(task_file.read_text().replace("tiny = {", "#").replace("scale = 1e-30", ""))
    service, ask = opened(task_file, tmp_path / "data")
    wrong = ask.post("/v1/predictions", {"id": "a", "features": {"title": "t", "price": 5.5}, "at": START})
    assert wrong.status_code == 422
    assert (wrong.json()["what"], wrong.json()["value"]) == ("price is below -5 or above 5", "5.5")
    described = msgspec.json.decode(ask.get("/openapi.json").content)
    assert '"maximum":5.0' in json.dumps(described, separators=(",", ":"))
    assert (
        ask.post("/v1/predictions", {"id": "a", "features": {"title": "t", "price": 5}, "at": START}).status_code == 200
    )
    service.close()
