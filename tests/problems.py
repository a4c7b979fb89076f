"""Problems and ways to play them that several tests share."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from presage import (
    Delays,
    Episode,
    Features,
    Forecaster,
    Instance,
    Learner,
    Replay,
    SetOf,
    Spaces,
    direct_network,
    direct_table,
    factored_network,
    factored_table,
    mixture,
    residual_network,
    residual_table,
)
from presage.forecasters.contexts.context_mixture import context_mixture
from presage.forecasters.contract import State
from presage.spaces import Array
from tests.drivers.reference_learner import ReferenceLearner

Factory = Callable[[Spaces], Forecaster]

PLAIN = Spaces(instances=7, proxies=3, outcomes=2)
MIXED = Spaces(Features(symbols=(9, 4, 3), sets=(SetOf(6, 3),), dense=3), proxies=3, outcomes=4)

QUICK = Replay(proxy_window=60, outcome_window=40, start=16, every=4, steps=2, batch=16)


def network_mixture(spaces: Spaces) -> Forecaster:
    """Networks and a table in one pool."""
    networks = [
        make(spaces, replay=QUICK, hidden=(8, 6)) for make in (direct_network, factored_network, residual_network)
    ]
    return mixture(spaces, [*networks, residual_table(spaces)])


TABLES: dict[str, Factory] = {
    "direct-table": direct_table,
    "factored-table": factored_table,
    "residual-table": residual_table,
    "residual-table-shrunk": partial(residual_table, shrinkage=4.0, kappa=2.0),
}
NETWORKS: dict[str, Factory] = {
    "direct-network": partial(direct_network, replay=QUICK, hidden=(8, 6)),
    "factored-network": partial(factored_network, replay=QUICK, hidden=(8, 6)),
    "residual-network": partial(residual_network, replay=QUICK, hidden=(8, 6)),
}
MIXTURES: dict[str, Factory] = {
    "mixture": mixture,
    "mixture-outcomes": partial(mixture, weighting="outcomes"),
    "mixture-networks": network_mixture,
    "context-mixture": context_mixture,
}
FORECASTERS = TABLES | NETWORKS | MIXTURES


def instances(spaces: Spaces, rounds: int, draw: np.random.Generator) -> Any:
    """Random instances of any kind."""
    features = spaces.features
    symbols = draw.integers(features.least, features.most + 1, (rounds, features.slots)).astype(np.int32)
    if not isinstance(spaces.instances, Features):
        return symbols[:, 0]
    return Instance(symbols, draw.normal(size=(rounds, features.dense)).astype(np.float32))


def episode(kind: str, spaces: Spaces = PLAIN, rounds: int = 200, seed: int = 0) -> Episode:
    """A random episode whose feedback comes in one of several ways."""
    draw = np.random.default_rng(seed)
    x = instances(spaces, rounds, draw)
    z, y = draw.integers(0, spaces.proxies, rounds), draw.integers(0, spaces.outcomes, rounds)
    if kind == "fixed":
        return Episode.fixed(x, z, y, Delays(proxy=3, outcome=40))
    if kind == "at once":
        return Episode.fixed(x, z, y, Delays(proxy=0, outcome=0))
    if kind == "never":
        return Episode.varying(x, z, y, np.full(rounds, -1), np.full(rounds, -1))
    t = np.arange(rounds)
    if kind == "bursts":  # everything becomes known at the end of a few rounds
        return Episode.varying(x, z, y, np.where(t < 150, (t // 50 + 1) * 50, -1), (t // 70 + 1) * 70)
    assert kind == "varying"
    seen = [np.where(draw.random(rounds) < 0.1, -1, t + draw.integers(0, most, rounds)) for most in (40, 60)]
    return Episode.varying(x, z, y, *seen)


KINDS = ("fixed", "at once", "varying", "bursts", "never")


def play_live(
    forecaster: Forecaster,
    episode: Episode,
    key: int,
    make: type[Learner] | type[ReferenceLearner] = Learner,
) -> tuple[Array, State]:
    """The log-probabilities of each round [T, Y] and the last state, by events one at a time."""
    learner = make(forecaster, key)
    reveal: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for kind, seen in (("proxy", episode.proxy_seen), ("outcome", episode.outcome_seen)):
        for row, at in enumerate(seen.tolist()):
            reveal[at].append((kind, row))
    said = []
    for t in range(episode.rounds):
        x = Instance(*(part[t] for part in episode.x)) if isinstance(episode.x, Instance) else episode.x[t]
        said.append(learner.predict(x).log_probabilities)
        for kind, row in reveal[t]:
            if kind == "proxy":
                learner.proxy(row, episode.z[row])
            else:
                learner.outcome(row, episode.y[row])
    learner.rehearse()
    return np.stack(said), learner.state
