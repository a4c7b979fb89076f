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

EVENTS = 3
"""Of a row."""


def figures(tell: Tell) -> Iterator[Figure]:
    """The events a second of each forecaster, NumPy against XLA."""
    for make in TABLES:
        yield _compare(make(COUNTED), 600, tell)
    yield _compare(residual_network(GITHUB), 400, tell)


def _compare(forecaster: Forecaster, rows: int, tell: Tell) -> Figure:
    name = f"learner/{forecaster.name}"
    rates = alternate({engine: _feed(forecaster, rows, engine) for engine in ("numpy", "xla")}, tell, name)
    against = f"the XLA engine, {short(median(rates['xla']))} events/s"
    return Figure(name, spread(rates["numpy"]), "events/s", against, ratios(rates["numpy"], rates["xla"]))


def _feed(forecaster: Forecaster, rows: int, engine: Any) -> Callable[[], float]:
    """A function that feeds rows to one learner, which goes on learning from block to block."""
    learner = Learner(forecaster, engine=engine)
    generator = np.random.default_rng(0)
    z, y = (generator.integers(0, size, rows).tolist() for size in (GITHUB.proxies, GITHUB.outcomes))
    x = generator.integers(0, 10_000, rows).tolist() if forecaster.spaces is COUNTED else _dense(generator, rows)

    def feed() -> None:
        for instance, proxy, outcome in zip(x, z, y, strict=True):
            prediction = learner.predict(instance)
            learner.proxy(prediction.id, proxy)
            learner.outcome(prediction.id, outcome)

    return lambda: EVENTS * rows / seconds(feed)


def _dense(generator: np.random.Generator, rows: int) -> list[Any]:
    return [instances(generator) for _ in range(rows)]
