"""The factored network: a tower for h(z|x) trained as proxies come, a logit table for g(y|z) shared by all."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from presage.arrays import log_softmax, log_sum_exp, namespace
from presage.forecasters.back_off import known, pairs
from presage.forecasters.contract import Forecast, Forecaster, Rows, unmoved
from presage.forecasters.random_keys import Key
from presage.forecasters.replay import Replay
from presage.forecasters.table_keys import WHOLE, TableKey, table_key
from presage.forecasters.towers import Tower, TowerPlan, Training, cross_entropy, with_floor
from presage.settings import positive
from presage.spaces import Array, Instance, Spaces


class FactoredNetwork(NamedTuple):
    """A tower x -> z and a table of logits z -> y."""

    proxies: Tower  # h(z|x)
    outcomes: Array  # [Z, Y]: the logits of g(y|z); [C * Z, Y] with C values of features that belong to the proxy


def factored_network(
    spaces: Spaces,
    *,
    proxy_rate: float = 1.0,
    h: Mapping[str, Any] | None = None,
    replay: Replay | None = None,
    **training: Any,
) -> Forecaster:
    """A forecaster that sums g(y|z) h(z|x) over proxies, h a tower and g bare logits (FF; Figures 3b and 3c).

    Args:
        spaces: the instances, proxies and outcomes.
        proxy_rate: the learning rate of g, from proxies to outcomes.
        h: fields of `Training` for the tower of h, where it differs from `training`.
        replay: the replay windows and how often to train on them; the paper's GitHub settings if left out.
        training: fields of `Training`: hidden, learning_rate, l2, initial, output_start, floor, buckets, optimiser
            (of the towers; g keeps to SGD).

    >>> factored_network(Spaces(10, 3, 2), proxy_rate=0.1).name
    'factored-network'
    """
    how = Training(**training)
    positive("proxy_rate", proxy_rate)
    of_h = replace(how, **(h or {}))
    tower, shared = TowerPlan(of_h, spaces.features, spaces.proxies), SharedLogits(spaces)

    def init(key: Key) -> FactoredNetwork:
        return init_factors(tower, shared, key)

    def predict(state: FactoredNetwork, x: Instance) -> Forecast:
        proxies = log_softmax(tower.logits(state.proxies, x))  # [Z]
        outcomes = log_softmax(shared.read(state.outcomes, x))  # [Z, Y]
        return Forecast(with_floor(log_sum_exp(proxies[:, None] + outcomes, axis=0), how.floor), ())

    def nowcast(state: FactoredNetwork, x: Instance, z: Array) -> Array:
        return with_floor(log_softmax(shared.read(state.outcomes, x)[z]), how.floor)

    def rehearse(state: FactoredNetwork, proxies: Rows, outcomes: Rows) -> FactoredNetwork:
        return rehearse_factors(tower, shared, proxy_rate, state, proxies, outcomes)

    settings = (*asdict(how).items(), ("proxy_rate", proxy_rate), ("h", tuple(asdict(of_h).items())))
    functions = (init, predict, nowcast, unmoved, rehearse)
    revision = 2 if of_h.output_start == "zero" else 1
    return Forecaster(
        "factored-network",
        spaces,
        settings,
        replay or Replay(),
        *functions,
        family="factored",
        only_rehearses=True,
        revision=revision,
    )


@dataclass(frozen=True)
class SharedLogits:
    """The rows of the logits of g: one for each proxy, once for each value of the features that belong to it."""

    spaces: Spaces

    @cached_property
    def key(self) -> TableKey:
        """The key by those features."""
        columns = self.spaces.proxy_with
        return table_key(self.spaces.features, columns, 2**31 - 1) if columns else WHOLE

    def init(self) -> Array:  # [C * Z, Y]
        """Uniform ones, for before any outcome nothing speaks for one."""
        return jnp.zeros((self.key.rows * self.spaces.proxies, self.spaces.outcomes))

    def read(self, table: Array, x: Instance) -> Array:  # [Z, Y]
        """The logits of one instance; the mean over values where it has one that was never seen."""
        if self.key == WHOLE:
            return table
        xp = namespace(table)
        values = table.reshape(self.key.rows, self.spaces.proxies, self.spaces.outcomes)
        row, seen = self._rows(x)
        return xp.where(seen, values[row], values.mean(0))

    def places(self, x: Instance, z: Array, weight: Array) -> tuple[Array, Array]:
        """The rows of proxies [B] of instances [B], and their weights: none where a value was never seen."""
        if self.key == WHOLE:
            return z, weight
        row, seen = self._rows(x)
        return row * self.spaces.proxies + z, weight * seen

    def _rows(self, x: Instance) -> tuple[Array, Array]:
        xp, own = namespace(x.symbols), x.symbols[..., list(self.key.columns)]
        return self.key.row(xp.maximum(x.symbols, 0)), (own >= 0).all(-1)


def init_factors(h: TowerPlan, g: SharedLogits, key: Key) -> FactoredNetwork:
    """Starting parameters of h and g."""
    return FactoredNetwork(h.init(key), g.init())


def rehearse_factors(  # noqa: PLR0917
    h: TowerPlan, g: SharedLogits, proxy_rate: float, state: FactoredNetwork, proxies: Rows, outcomes: Rows
) -> FactoredNetwork:
    """One step of h on proxies and one of g on outcomes; g has no L2."""
    z, weight = known(proxies.z, proxies.weight)
    tower = h.descend(state.proxies, proxies.x, None, partial(cross_entropy, symbols=z, weight=weight), weight)
    (z, y), weight = pairs(outcomes.z, outcomes.y, outcomes.weight)
    place, weight = g.places(outcomes.x, z, weight)
    slope = jax.grad(lambda table: cross_entropy(table[place], y, weight))(state.outcomes)
    return FactoredNetwork(tower, state.outcomes - proxy_rate * slope)
