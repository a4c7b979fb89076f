"""The networks of the paper's two experiments, and the oracles their regret is measured against."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from presage.drivers.xla.chunks import in_chunks
from presage.drivers.xla.compile_cache import use_compile_cache
from presage.forecasters.contract import Forecaster
from presage.forecasters.direct_network import direct_network
from presage.forecasters.factored_network import factored_network
from presage.forecasters.mixture import mixture
from presage.forecasters.random_keys import Key, Purpose, key_for, root_key
from presage.forecasters.replay import Replay
from presage.forecasters.residual_network import residual_network
from presage.forecasters.towers import Tower, TowerPlan, Training, cross_entropy
from presage.settings import between, one_of, positive, whole
from presage.spaces import Array, Instance, Spaces

NAMES = ("direct", "factored", "residual", "mixture")


@dataclass(frozen=True)
class NetworkSettings:
    """How networks and oracles learn; the base of an experiment's settings.

    `hidden`, `learning_rate` and `l2` are those of every tower, unless the tower of h (`h_hidden`, `h_rate`, `h_l2`)
    or the residual tower (`residual_rate`) has its own; `proxy_rate` is the learning rate of g.

    The oracles are towers like the direct network's, trained by Adam on data without delay. The paper gives neither
    their batches nor whether they have L2: `oracle_batch` is ours, and they have none.
    """

    trials: int = 200
    seed: int = 0
    hidden: tuple[int, ...] = (40, 20)
    learning_rate: float = 0.1
    l2: float = 0.01
    proxy_rate: float = 1.0
    h_hidden: tuple[int, ...] | None = None
    h_rate: float | None = None
    h_l2: float | None = None
    residual_rate: float | None = None
    output_start: str = "zero"
    optimiser: str = "sgd"
    buffer: int = 1000
    start: int = 128
    every: int = 4
    steps: int = 1
    batch: int = 128
    oracle_steps: int = 10_000
    oracle_rate: float = 5e-4
    oracle_batch: int = 128

    def __post_init__(self) -> None:
        whole("trials", self.trials, 2)
        whole("seed", self.seed, 0)
        for name in ("buffer", "start", "every", "steps", "batch", "oracle_steps", "oracle_batch"):
            whole(name, getattr(self, name))
        for name in ("learning_rate", "proxy_rate", "oracle_rate"):
            positive(name, getattr(self, name))
        for name in ("h_rate", "residual_rate"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))
        for name in ("l2", "h_l2"):
            if getattr(self, name) is not None:
                between(name, getattr(self, name), 0.0, 1.0)
        for units in (*self.hidden, *(self.h_hidden or ())):
            whole("hidden units", units)
        one_of("optimiser", self.optimiser, ("sgd", "adam"))
        one_of("output_start", self.output_start, ("zero", "random"))

    def networks(self, spaces: Spaces) -> Forecaster:
        """The mixture of the direct, the factored and the residual network."""
        replay = Replay(self.buffer, self.buffer, self.start, self.every, self.steps, self.batch)
        how: dict[str, Any] = {
            "replay": replay,
            "hidden": self.hidden,
            "learning_rate": self.learning_rate,
            "l2": self.l2,
            "output_start": self.output_start,
            "optimiser": self.optimiser,
        }
        own = {"hidden": self.h_hidden, "learning_rate": self.h_rate, "l2": self.h_l2}
        through: dict[str, Any] = how | {
            "proxy_rate": self.proxy_rate,
            "h": {name: value for name, value in own.items() if value is not None},
        }
        correction = {} if self.residual_rate is None else {"learning_rate": self.residual_rate}
        residual = residual_network(spaces, correction=correction, **through)
        return mixture(spaces, [direct_network(spaces, **how), factored_network(spaces, **through), residual])

    def oracle(self, spaces: Spaces) -> TowerPlan:
        """The tower of an oracle."""
        how = Training(self.hidden, self.oracle_rate, l2=0.0, optimiser="adam")
        return TowerPlan(how, spaces.features, spaces.outcomes)


def train_oracles(settings: NetworkSettings, spaces: Spaces, x: Instance, y: Array) -> tuple[TowerPlan, Tower]:
    """Oracles, one for each of the leading axis of the data [M, n]: trained on batches of it, nothing delayed."""
    use_compile_cache()
    plan = settings.oracle(spaces)
    keys = jax.vmap(partial(key_for, root_key(settings.seed), Purpose.ORACLE))(jnp.arange(len(y)))

    def train_some(numbers: Array) -> Tower:
        data = Instance(x.symbols[numbers], x.dense[numbers]), y[numbers]
        some: Tower = _train(plan, settings.oracle_steps, settings.oracle_batch, *data, keys[numbers])
        return some

    towers: Tower = in_chunks(train_some, len(y), len(y))
    return plan, towers


@partial(jax.jit, static_argnums=(0, 1, 2))
def _train(plan: TowerPlan, steps: int, batch: int, x: Instance, y: Array, keys: Key) -> Tower:  # noqa: PLR0917
    def train(x: Instance, y: Array, key: Key) -> Tower:
        init_key, draw_key = jax.random.split(key)

        def step(number: Array, tower: Tower) -> Tower:
            drawn = jax.random.randint(jax.random.fold_in(draw_key, number), (batch,), 0, len(y))
            rows, weight = Instance(x.symbols[drawn], x.dense[drawn]), jnp.ones(batch, jnp.int32)
            return plan.descend(tower, rows, None, partial(cross_entropy, symbols=y[drawn], weight=weight), weight)

        trained: Tower = jax.lax.fori_loop(0, steps, step, plan.init(init_key))
        return trained

    return Tower(*jax.vmap(train)(x, y, keys))
