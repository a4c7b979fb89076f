"""Events a second of a learner that predicts, then gets the proxy, then the outcome of every row."""

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from benchmarks.blocks import Tell, alternate, ratios, seconds, spread
from benchmarks.figures import Figure, short
from benchmarks.github import GITHUB, instances
from benchmarks.predict import COUNTED, TABLES
from presage import Forecaster, Learner, residual_network
from tests.drivers.reference_learner import ReferenceLearner

EVENTS = 3
"""Of a row."""


def figures(tell: Tell) -> Iterator[Figure]:
    """The events a second of each forecaster, against its own functions compiled one by one."""
    for make in TABLES:
        yield _compare(make(COUNTED), 600, tell)
    yield _compare(residual_network(GITHUB), 400, tell)


def _compare(forecaster: Forecaster, rows: int, tell: Tell) -> Figure:
    name = f"learner/{forecaster.name}"
    blocks = {"core": _feed(Learner(forecaster), rows), "xla": _feed(ReferenceLearner(forecaster, 0), rows)}
    rates = alternate(blocks, tell, name)
    against = f"its own functions compiled by XLA, {short(median(rates['xla']))} events/s"
    return Figure(name, spread(rates["core"]), "events/s", against, ratios(rates["core"], rates["xla"]))


def _feed(learner: Learner | ReferenceLearner, rows: int) -> Callable[[], float]:
    """A function that feeds rows to one learner, which goes on learning from block to block."""
    generator = np.random.default_rng(0)
    z, y = (generator.integers(0, size, rows).tolist() for size in (GITHUB.proxies, GITHUB.outcomes))
    x = (
        generator.integers(0, 10_000, rows).tolist()
        if learner.forecaster.spaces is COUNTED
        else _dense(generator, rows)
    )

    def feed() -> None:
        for instance, proxy, outcome in zip(x, z, y, strict=True):
            prediction = learner.predict(instance)
            learner.proxy(prediction.id, proxy)
            learner.outcome(prediction.id, outcome)

    return lambda: EVENTS * rows / seconds(feed)


def _dense(generator: np.random.Generator, rows: int) -> list[Any]:
    return [instances(generator) for _ in range(rows)]
