"""Features from JSON against the same features read from a log by DuckDB."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from presage.errors import FeatureError, SettingError
from presage.logs.rows import read_log
from presage.service.features import as_moment, feature_encoder
from presage.task.features import Timestamp
from presage.task.task import Task, load_task, read_task

TASK = """
version = 1
name = "every kind of feature"
[instance]
item = { kind = "category", hashed = 1000 }
shelf = { kind = "category", values = ["a", "b", "c"], missing = "c" }
tags = { kind = "set", values = ["x", "y", "z"], slots = 3 }
words = { kind = "set", hashed = 50, slots = 2 }
price = { kind = "number", centre = 10, scale = 2.5 }
seen = { kind = "count", edges = [1, 3, 10] }
new = { kind = "boolean", missing = false }
since = { kind = "timestamp", parts = ["hour", "weekday", "day", "week", "month", "quarter"] }
[proxy]
values = ["no", "yes"]
horizon = "1 day"
[outcome]
values = ["no", "yes"]
horizon = "2 days"
"""


def drawn(rows: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(3)
    found: list[dict[str, Any]] = []
    for _ in range(rows):
        day, hour = int(draw.integers(1, 29)), int(draw.integers(0, 24))
        month = int(draw.integers(1, 13))
        found.append(
            {
                "item": f"item {draw.integers(0, 500)} é",
                "shelf": [None, "a", "b"][draw.integers(0, 3)],
                "tags": [tag for tag in "zxy" if draw.random() < 0.5],
                "words": [f"w{draw.integers(0, 99)}" for _ in range(draw.integers(0, 3))],
                "price": float(np.round(draw.normal(10, 5), 3)),
                "seen": int(draw.integers(0, 14)),
                "new": [None, True, False][draw.integers(0, 3)],
                "since": f"2025-{month:02d}-{day:02d}T{hour:02d}:30:00+00:00",
            }
        )
    return found


def written(folder: Path, features: list[dict[str, Any]]) -> tuple[Task, Path]:
    (folder / "task.toml").write_text(TASK)
    feedback = {"proxy": "no", "outcome": "yes"}
    with (folder / "log.ndjson").open("w") as file:
        for number, each in enumerate(features):
            at = f"2026-01-{1 + number // 60:02d}T10:{number % 60:02d}:00Z"
            later = {"shown_at": at, "proxy_at": at.replace("T10", "T11"), "outcome_at": at.replace("T10", "T12")}
            file.write(json.dumps(each | feedback | later) + "\n")
    return load_task(folder / "task.toml"), folder / "log.ndjson"


def test_features_are_encoded_as_a_log_of_them_is(tmp_path: Path) -> None:
    features = drawn(150)
    task, log = written(tmp_path, features)
    rows, _ = read_log(task, log)
    encode = feature_encoder(task)
    for place, each in enumerate(features):
        instance = encode(each)
        assert instance.symbols == rows.instances.symbols[place].tolist(), each
        assert np.allclose(instance.dense, rows.instances.dense[place], rtol=1e-6), each


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"item": None}, "a feature is missing: found 'item'"),
        ({"item": 7}, "item must be text"),
        ({"shelf": "d"}, "shelf has no such value: found 'd'; give one of a, b, c"),
        ({"tags": ["x", "q"]}, "tags has no such value"),
        ({"tags": 5}, "tags must be a list"),
        ({"words": ["1", "2", "3", "4"]}, "words has more values than slots"),
        ({"price": True}, "price must be a number"),
        ({"price": float("inf")}, "price must be a number"),
        ({"new": 1}, "new must be true or false"),
        ({"since": "2025-01-01T00:00:00"}, "since has no time zone"),
        ({"since": "soon"}, "since is not a time"),
        ({"since": "0001-01-01T00:00:00+14:00"}, "since is not a time"),
        ({"since": "9999-12-31T23:59:59-01:00"}, "since is not a time"),
        ({"colour": "red"}, "no feature has this name: found 'colour'"),
    ],
)
def test_features_that_do_not_fit_are_refused(change: dict[str, Any], wrong: str) -> None:
    with pytest.raises(FeatureError, match=wrong.replace("(", r"\(")):
        feature_encoder(read_task(TASK))(drawn(1)[0] | change)


def test_a_task_that_only_a_log_can_complete_is_refused() -> None:
    with pytest.raises(SettingError, match="add hashed = 65536"):
        feature_encoder(read_task(TASK.replace(", hashed = 1000", "")))
    with pytest.raises(SettingError, match="add slots"):
        feature_encoder(read_task(TASK.replace("hashed = 50, slots = 2", "hashed = 50")))


@pytest.mark.parametrize(
    "written",
    ["20261116T093000Z", "2026-W47-1T09:30Z", "2026-11-16T09Z", "2026-11-16T09:30:00,5Z", "2026-11-16x09:30:00+02:00"],
)
def test_every_moment_that_is_taken_can_be_exported(written: str) -> None:
    at = as_moment(Timestamp("since", "since", None, ("hour",)), written)
    ((found,),) = duckdb.execute("SELECT epoch_us(?::TIMESTAMPTZ)", [at.isoformat()]).fetchall()
    assert found == round(at.timestamp() * 1e6)
