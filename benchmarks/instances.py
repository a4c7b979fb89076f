"""The cost of a round with a million instances, against a hundred.

It is the difference between a long and a short episode over the difference in rounds, which leaves out the making
of the tables.
"""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.blocks import Tell, alternate, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from presage import (
    Delays,
    Episode,
    Forecaster,
    Replay,
    Spaces,
    factored_table,
    mixture,
    residual_network,
    residual_table,
)
from presage.drivers.compiled import run
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


def embedding_network(spaces: Spaces) -> Forecaster:
    """A residual network that trains in every round."""
    return residual_network(spaces, replay=Replay(every=1))


CASES: dict[str, tuple[Callable[[Spaces], Forecaster], Lengths]] = {
    "factored-table": (factored_table, Lengths(100_000, 500_000)),
    "residual-table": (residual_table, Lengths(50_000, 250_000)),
    "mixture": (mixture, Lengths(10_000, 50_000)),
    "embeddings": (embedding_network, Lengths(1_000, 5_000)),
}


def figures(tell: Tell) -> Iterator[Figure]:
    """How much more a round costs."""
    for case, (make, wanted) in CASES.items():
        name = f"instances/{case}"
        tell(f"{name}: probing")
        lengths = {FEW: wanted, MANY: wanted if _cost(make, MANY, PROBE) < SLOW else PROBE}
        blocks = {str(count): _block(make, count, lengths[count]) for count in (FEW, MANY)}
        took = alternate(blocks, tell, name)
        few, many = took[str(FEW)], took[str(MANY)]
        against = f"a round with {FEW} instances, {short(median(few))} us; here {MANY:,}"
        yield Figure(name, spread(many), "us/round", against, ratios(many, few), LARGEST)


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
    return np.asarray(run(forecaster, episode, 0).log_probabilities)  # waits until it is computed


def _episode(spaces: Spaces, rounds: int) -> Episode:
    generator = np.random.default_rng(0)
    sizes = (spaces.features.symbols[0], spaces.proxies, spaces.outcomes)
    x, z, y = (generator.integers(0, size, rounds) for size in sizes)
    return Episode.fixed(x, z, y, Delays(proxy=1, outcome=50))
