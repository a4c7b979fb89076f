"""The cost of a round with a million instances, against a hundred.

For tables it is the difference between a long and a short episode over the difference in rounds, which leaves out the
making of the tables. Embeddings take so long to make that this would drown in noise: there it is the cost of a
training step on a state that is made once.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.blocks import Tell, alternate, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from presage import (
    Delays,
    Episode,
    Forecaster,
    Instance,
    Spaces,
    factored_table,
    mixture,
    residual_network,
    residual_table,
)
from presage.drivers.xla.episodes import scan_episode
from presage.forecasters.contract import Rows, State
from presage.spaces import Array

FEW, MANY = 10**2, 10**6
LARGEST = Target(2, at_most=True)
SLOW = 1000.0
"""Microseconds of a round that copies a large table: its episodes are then cut short."""


class Lengths(NamedTuple):
    """The rounds of a short and of a long episode."""

    short: int
    long: int


PROBE = Lengths(100, 500)
STEPS, BATCH = 1000, 128


CASES: dict[str, tuple[Callable[[Spaces], Forecaster], Lengths]] = {
    "factored-table": (factored_table, Lengths(100_000, 500_000)),
    "residual-table": (residual_table, Lengths(50_000, 250_000)),
    "mixture": (mixture, Lengths(10_000, 50_000)),
}


def figures(tell: Tell) -> Iterator[Figure]:
    """How much more a round costs."""
    for case, (make, wanted) in CASES.items():
        name = f"instances/{case}"
        tell(f"{name}: probing")
        lengths = {FEW: wanted, MANY: wanted if _cost(make, MANY, PROBE) < SLOW else PROBE}
        yield _figure(name, {count: _block(make, count, lengths[count]) for count in (FEW, MANY)}, tell)
    yield _figure("instances/embeddings", {count: _training_block(count) for count in (FEW, MANY)}, tell)


def _figure(name: str, blocks: dict[int, Callable[[], float]], tell: Tell) -> Figure:
    took = alternate({str(count): block for count, block in blocks.items()}, tell, name)
    few, many = took[str(FEW)], took[str(MANY)]
    against = f"the same with {FEW} instances, {short(median(few))} us; here {MANY:,}"
    return Figure(name, spread(many), "us", against, ratios(many, few), LARGEST)


def _training_block(count: int) -> Callable[[], float]:
    """A function that gives the microseconds of a training step of a residual network over symbols."""
    forecaster = residual_network(Spaces(count, proxies=3, outcomes=2))
    state = [forecaster.init(jax.random.key(0))]
    draw = np.random.default_rng(0)
    symbols, z, y = (draw.integers(0, size, (STEPS, BATCH)).astype(np.int32) for size in (count, 3, 2))
    x = Instance(symbols[..., None], np.zeros((STEPS, BATCH, 0), np.float32))
    rows = Rows(x, z, y, (), np.ones((STEPS, BATCH), np.int32))

    @partial(jax.jit, donate_argnums=0)
    def train(state: State, rows: Rows) -> State:
        return jax.lax.scan(lambda state, batch: (forecaster.rehearse(state, batch, batch), None), state, rows)[0]

    def measure() -> float:
        started = time.perf_counter()
        state[0] = train(state[0], rows)
        np.asarray(state[0].residual.scale)  # waits until it is computed
        return (time.perf_counter() - started) / STEPS * 1e6

    return measure


def _cost(make: Callable[[Spaces], Forecaster], count: int, lengths: Lengths) -> float:
    measure = _block(make, count, lengths)
    measure()  # compiles
    return measure()


def _block(make: Callable[[Spaces], Forecaster], count: int, lengths: Lengths) -> Callable[[], float]:
    """A function that gives the microseconds of a round."""
    forecaster = make(Spaces(count, proxies=3, outcomes=2))
    episodes = [_episode(forecaster.spaces, rounds) for rounds in lengths]

    def measure() -> float:
        short_run, long_run = (seconds(partial(_play, forecaster, episode)) for episode in episodes)
        return (long_run - short_run) / (lengths.long - lengths.short) * 1e6

    return measure


def _play(forecaster: Forecaster, episode: Episode) -> Array:
    return np.asarray(scan_episode(forecaster, episode, 0).log_probabilities)  # waits until it is computed


def _episode(spaces: Spaces, rounds: int) -> Episode:
    generator = np.random.default_rng(0)
    sizes = (spaces.features.symbols[0], spaces.proxies, spaces.outcomes)
    x, z, y = (generator.integers(0, size, rounds) for size in sizes)
    return Episode.fixed(x, z, y, Delays(proxy=1, outcome=50))
