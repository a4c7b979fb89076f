"""The factored network: a tower for h(z|x) trained as proxies come, a logit table for g(y|z) shared by all."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from presage.arrays import log_softmax, log_sum_exp
from presage.forecasters.back_off import known, pairs
from presage.forecasters.contract import Forecast, Forecaster, Rows, unmoved
from presage.forecasters.random_keys import Key
from presage.forecasters.replay import Replay
from presage.forecasters.towers import Tower, TowerPlan, Training, cross_entropy, with_floor
from presage.settings import positive
from presage.spaces import Array, Instance, Spaces


class FactoredNetwork(NamedTuple):
    """A tower x -> z and a table of logits z -> y."""

    proxies: Tower  # h(z|x)
    outcomes: Array  # [Z, Y]: the logits of g(y|z)


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
    tower = TowerPlan(of_h, spaces.features, spaces.proxies)

    def init(key: Key) -> FactoredNetwork:
        return init_factors(tower, spaces, key)

    def predict(state: FactoredNetwork, x: Instance) -> Forecast:
        proxies = log_softmax(tower.logits(state.proxies, x))  # [Z]
        outcomes = log_softmax(state.outcomes)  # [Z, Y]
        return Forecast(with_floor(log_sum_exp(proxies[:, None] + outcomes, axis=0), how.floor), ())

    def nowcast(state: FactoredNetwork, x: Instance, z: Array) -> Array:  # noqa: ARG001
        return with_floor(log_softmax(state.outcomes[z]), how.floor)

    def rehearse(state: FactoredNetwork, proxies: Rows, outcomes: Rows) -> FactoredNetwork:
        return rehearse_factors(tower, proxy_rate, state, proxies, outcomes)

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


def init_factors(h: TowerPlan, spaces: Spaces, key: Key) -> FactoredNetwork:
    """Starting parameters of h and g; g starts uniform, for before any outcome nothing speaks for one."""
    return FactoredNetwork(h.init(key), jnp.zeros((spaces.proxies, spaces.outcomes)))


def rehearse_factors(
    h: TowerPlan, proxy_rate: float, state: FactoredNetwork, proxies: Rows, outcomes: Rows
) -> FactoredNetwork:
    """One step of h on proxies and one of g on outcomes; g has no L2."""
    z, weight = known(proxies.z, proxies.weight)
    tower = h.descend(state.proxies, proxies.x, None, partial(cross_entropy, symbols=z, weight=weight), weight)
    (z, y), weight = pairs(outcomes.z, outcomes.y, outcomes.weight)
    slope = jax.grad(lambda table: cross_entropy(table[z], y, weight))(state.outcomes)
    return FactoredNetwork(tower, state.outcomes - proxy_rate * slope)
