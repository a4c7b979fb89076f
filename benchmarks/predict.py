"""Microseconds of one prediction with NumPy arrays or by a learner, against the same through a compiled call."""

from collections.abc import Callable, Iterator
from statistics import median

import jax
import numpy as np

from benchmarks.blocks import Tell, alternate, ratios, seconds, spread
from benchmarks.figures import Figure, short
from benchmarks.github import GITHUB, instances
from presage import (
    Forecaster,
    Learner,
    Replay,
    Spaces,
    direct_network,
    direct_table,
    factored_network,
    factored_table,
    mixture,
    residual_network,
    residual_table,
)
from presage.spaces import Instance
from tests.drivers.reference_learner import ReferenceLearner, jitted

COUNTED = Spaces(instances=10_000, proxies=3, outcomes=2)
TABLES = (direct_table, factored_table, residual_table, mixture)
NETWORKS = (direct_network, factored_network, residual_network)
UNTRAINED = Replay(every=2**30)
CALLS = 1000


def figures(tell: Tell) -> Iterator[Figure]:
    """The cost of a prediction of every forecaster, and of a learner's."""
    forecasters = [make(COUNTED) for make in TABLES] + [make(GITHUB) for make in NETWORKS]
    for forecaster in forecasters:
        yield _compare(forecaster.name, {"numpy": _numpy(forecaster), "xla": _compiled(forecaster)}, tell)
    for forecaster in (residual_table(COUNTED), mixture(COUNTED), residual_network(GITHUB, replay=UNTRAINED)):
        blocks = {"numpy": _learner(Learner(forecaster)), "xla": _learner(ReferenceLearner(forecaster, 0))}
        yield _compare(f"learner-{forecaster.name}", blocks, tell)


def _compare(name: str, blocks: dict[str, Callable[[], float]], tell: Tell) -> Figure:
    took = alternate(blocks, tell, f"predict/{name}")
    against = f"the same compiled, {short(median(took['xla']))} us (ratio: how many times as long that takes)"
    return Figure(f"predict/{name}", spread(took["numpy"]), "us", against, ratios(took["xla"], took["numpy"]))


def _numpy(forecaster: Forecaster) -> Callable[[], float]:
    state = jax.tree.map(np.array, forecaster.init(jax.random.key(0)))
    asked = _instances(forecaster.spaces)
    return lambda: _microseconds(lambda x: forecaster.predict(state, x).log_probabilities, asked)


def _compiled(forecaster: Forecaster) -> Callable[[], float]:
    state = forecaster.init(jax.random.key(0))
    predict = jitted(forecaster).predict
    asked = _instances(forecaster.spaces)
    return lambda: _microseconds(lambda x: np.asarray(predict(state, x).log_probabilities), asked)


def _learner(learner: Learner | ReferenceLearner) -> Callable[[], float]:
    asked = _instances(learner.forecaster.spaces)
    return lambda: _microseconds(learner.predict, asked)


def _instances(spaces: Spaces) -> list[Instance]:
    generator = np.random.default_rng(0)
    if spaces is GITHUB:
        return [instances(generator) for _ in range(CALLS)]
    return [spaces.encode(int(x)) for x in generator.integers(0, 10_000, CALLS)]


def _microseconds(call: Callable[[Instance], object], asked: list[Instance]) -> float:
    def every() -> None:
        for x in asked:
            call(x)

    return seconds(every) / len(asked) * 1e6
