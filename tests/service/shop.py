"""A small shop whose service tests run: books by genre, begun within a day, finished within a month."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from presage.service.features import feature_encoder
from presage.service.interface import FeedbackRequest, PredictionRequest
from presage.task.task import read_task

DAY = 86_400_000_000
START = 1_790_000_000_000_000

TASK = """version = 1
name = "books finished"
[instance]
title = { kind = "category", hashed = 64 }
genre = { kind = "category", values = ["crime", "poems", "maps"] }
[proxy]
values = ["closed", "begun", "half"]
horizon = "2 days"
absent = "closed"
[outcome]
values = ["left", "finished"]
horizon = "30 days"
[forecaster]
kind = "KIND"
"""


def write_task(folder: Path, kind: str = "mixture") -> Path:
    path = folder / "books.toml"
    back_off = 'back_off = [["genre"]]\n' if kind == "mixture" else ""
    path.write_text(TASK.replace("KIND", kind) + back_off)
    return path


ENCODE = feature_encoder(read_task(TASK.replace("KIND", "residual-table")))


def request(id: str, features: dict[str, str], at: int | None = None) -> PredictionRequest:
    """A request for a prediction about a book."""
    return PredictionRequest(id, json.dumps(features).encode(), ENCODE(features), at)


class Happening(NamedTuple):
    """Something that happens at a time."""

    at: int
    event: PredictionRequest | FeedbackRequest


def happenings(count: int, seed: int = 0, days: float = 60.0) -> list[Happening]:
    """Predictions over some days with their feedback in the order of time; some of it never comes, some late."""
    draw = np.random.default_rng(seed)
    found = []
    for number in range(count):
        at = START + int(days * DAY * number / count)
        title, genre = f"title {draw.integers(0, 40)}", ("crime", "poems", "maps")[draw.integers(0, 3)]
        features = {"title": title, "genre": genre}
        id = f"order-{number}"
        found.append(Happening(at, request(id, features, at)))
        z = int(draw.integers(0, 3))
        y = int(draw.random() < (0.1, 0.4, 0.8)[z])
        if draw.random() < 0.9:
            then = at + int(draw.uniform(0.1, 2.5) * DAY)
            found.append(Happening(then, FeedbackRequest(id, "proxy", ("closed", "begun", "half")[z], then)))
        if draw.random() < 0.9:
            then = at + int(draw.uniform(0.2, 32) * DAY)
            found.append(Happening(then, FeedbackRequest(id, "outcome", ("left", "finished")[y], then)))
    return sorted(found, key=lambda each: each.at)
