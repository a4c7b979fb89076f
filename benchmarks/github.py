"""The problem of the paper's GitHub experiment in shape: 51 features of 0 and 1, 3 proxies, 2 outcomes."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from presage import Delays, Episode, Features, Instance, Replay, Spaces
from presage.drivers.play import play_trials
from presage.forecasters.contract import Forecaster

TRIALS = 200
BATCH = 128
GITHUB = Spaces(Features(dense=51), proxies=3, outcomes=2)
TOWERS = ((51, 40, 20, 3), (51 + 3 + 2, 40, 20, 2))
"""The layers of h, and of the residual tower with the one-hot proxy and the logits of g as inputs."""


def instances(generator: np.random.Generator, *leading: int) -> Instance:
    """Random instances."""
    dense = generator.integers(0, 2, (*leading, 51)).astype(np.float32)
    return Instance(np.zeros((*leading, 0), np.int32), dense)


def episodes(trials: int, rounds: int) -> Episode:
    """Random trials without delays."""
    generator = np.random.default_rng(0)
    z, y = (generator.integers(0, size, (trials, rounds)) for size in (GITHUB.proxies, GITHUB.outcomes))
    return Episode.fixed(instances(generator, trials, rounds), z, y, Delays(0, 0))


def steps_taken(replay: Replay, rounds: int) -> int:
    """The training steps of one trial without delays, the ones after its last round included."""
    before = np.arange(rounds + 1)  # rounds played, so rows known
    return int((replay.due(before) & (before >= replay.start)).sum()) * replay.steps


class Run(NamedTuple):
    """Trials to play, and the steps they take together."""

    forecaster: Forecaster
    trials: Episode
    steps: int

    def play(self) -> Any:
        """The losses."""
        return play_trials(self.forecaster, self.trials, 0)


def run_of(forecaster: Forecaster, rounds: int) -> Run:
    """200 trials of a forecaster that rehearses."""
    assert forecaster.replay
    return Run(forecaster, episodes(TRIALS, rounds), TRIALS * steps_taken(forecaster.replay, rounds))


class Product(NamedTuple):
    """A matrix product [rows, inner] x [inner, columns]."""

    rows: int
    inner: int
    columns: int

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.rows * self.inner * self.columns


def products() -> list[Product]:
    """The products of one training step: forward, and backward without the slope of the first layer's inputs."""
    return [product for tower in TOWERS for at in range(len(tower) - 1) for product in _of_layer(tower, at)]


def _of_layer(tower: tuple[int, ...], at: int) -> list[Product]:
    inputs, units = tower[at], tower[at + 1]
    over_batch = partial(Product, BATCH)
    needed = [over_batch(inputs, units), Product(inputs, BATCH, units)]
    return [*needed, over_batch(units, inputs)] if at else needed


OPERATIONS = sum(product.operations for product in products())
"""Of one training step of one trial."""
