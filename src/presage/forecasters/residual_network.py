"""The residual network: the factored one with a tower that corrects g for the instance, per proxy."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from presage.arrays import log_softmax, log_sum_exp, namespace
from presage.forecasters.back_off import pairs
from presage.forecasters.contract import Forecast, Forecaster, Rows, unmoved
from presage.forecasters.factored_network import FactoredNetwork, SharedLogits, init_factors, rehearse_factors
from presage.forecasters.random_keys import Key
from presage.forecasters.replay import Replay
from presage.forecasters.towers import Tower, TowerPlan, Training, cross_entropy, with_floor
from presage.settings import positive
from presage.spaces import Array, Instance, Spaces


class ResidualNetwork(NamedTuple):
    """The factored network, and a tower (x, z, logits of g) -> corrections of those logits."""

    factors: FactoredNetwork
    residual: Tower


def residual_network(
    spaces: Spaces,
    *,
    proxy_rate: float = 1.0,
    clip: float = 10.0,
    h: Mapping[str, Any] | None = None,
    correction: Mapping[str, Any] | None = None,
    replay: Replay | None = None,
    **training: Any,
) -> Forecaster:
    """A forecaster that sums softmax(l_g(z) + Delta(x, z)) h(z|x) over proxies (RFF; Figures 3b and 3d).

    The paper's (1 + delta) g does not sum to one; a softmax for each z does, for any Delta. The residual tower
    has its own loss, on the observed proxy. It starts at zero, so RFF starts out equal to FF. The logits of g enter it
    twice, as an input and as what it corrects; no gradient flows back to g through either.

    Args:
        spaces: the instances, proxies and outcomes.
        proxy_rate: the learning rate of g, from proxies to outcomes.
        clip: the largest correction to a logit.
        h: fields of `Training` for the tower of h, where it differs from `training`.
        correction: the same for the residual tower, whose output layer always starts at zero.
        replay: the replay windows and how often to train on them; the paper's GitHub settings if left out.
        training: fields of `Training`: hidden, learning_rate, l2, initial, output_start, floor, buckets, optimiser
            (of the towers; g keeps to SGD).

    >>> residual_network(Spaces(10, 3, 2), clip=5.0).name
    'residual-network'
    """
    how = Training(**training)
    positive("proxy_rate", proxy_rate)
    positive("clip", clip)
    of_h, of_residual = replace(how, **(h or {})), replace(how, **{**(correction or {}), "output_start": "zero"})
    tower, shared = TowerPlan(of_h, spaces.features, spaces.proxies), SharedLogits(spaces)
    residual = TowerPlan(of_residual, spaces.features, spaces.outcomes, extra=spaces.proxies + spaces.outcomes)

    def init(key: Key) -> ResidualNetwork:
        factors_key, residual_key = jax.random.split(key)
        return ResidualNetwork(init_factors(tower, shared, factors_key), residual.init(residual_key))

    def corrected(state: ResidualNetwork, x: Instance, one_hot: Array, table: Array) -> Array:
        """The log-probabilities of g corrected for x, for rows of one-hot proxies and their logits."""
        xp = namespace(table)
        delta = residual.logits(state.residual, x, xp.concatenate([one_hot, table], axis=-1))
        return log_softmax(table + xp.clip(delta, -clip, clip))

    def predict(state: ResidualNetwork, x: Instance) -> Forecast:
        table = shared.read(state.factors.outcomes, x)  # [Z, Y]
        proxies = log_softmax(tower.logits(state.factors.proxies, x))  # [Z]
        one_hot = namespace(table).eye(spaces.proxies, dtype=table.dtype)
        outcomes = corrected(state, x, one_hot, table)  # [Z, Y]
        return Forecast(with_floor(log_sum_exp(proxies[:, None] + outcomes, axis=0), how.floor), ())

    def nowcast(state: ResidualNetwork, x: Instance, z: Array) -> Array:
        table = shared.read(state.factors.outcomes, x)
        one_hot = namespace(table).eye(spaces.proxies, dtype=table.dtype)[z]
        return with_floor(corrected(state, x, one_hot, table[z]), how.floor)

    def rehearse(state: ResidualNetwork, proxies: Rows, outcomes: Rows) -> ResidualNetwork:
        factors = rehearse_factors(tower, shared, proxy_rate, state.factors, proxies, outcomes)
        (z, y), weight = pairs(outcomes.z, outcomes.y, outcomes.weight)
        place, weight = shared.places(outcomes.x, z, weight)
        logits = state.factors.outcomes[place]  # as they were before this step, as in the loss of g
        loss = partial(residual_loss, logits=logits, clip=clip, y=y, weight=weight)
        extra = residual_inputs(logits, z, spaces.proxies)
        return ResidualNetwork(factors, residual.descend(state.residual, outcomes.x, extra, loss, weight))

    settings = (
        *asdict(how).items(),
        ("proxy_rate", proxy_rate),
        ("clip", clip),
        ("h", tuple(asdict(of_h).items())),
        ("correction", tuple(asdict(of_residual).items())),
    )
    functions = (init, predict, nowcast, unmoved, rehearse)
    revision = 2 if of_h.output_start == "zero" else 1
    return Forecaster(
        "residual-network",
        spaces,
        settings,
        replay or Replay(),
        *functions,
        family="residual",
        only_rehearses=True,
        revision=revision,
    )


def residual_inputs(logits: Array, z: Array, proxies: int) -> Array:  # [B, Z + Y]
    """The inputs of the residual tower besides the instance: the proxy, and its logits [B, Y] of g, detached."""
    return jnp.concatenate([jax.nn.one_hot(z, proxies), jax.lax.stop_gradient(logits)], axis=-1)


def residual_loss(delta: Array, *, logits: Array, clip: float, y: Array, weight: Array) -> Array:
    """The loss of the residual tower: of the logits of g [B, Y], detached, once corrected by delta."""
    return cross_entropy(jax.lax.stop_gradient(logits) + jnp.clip(delta, -clip, clip), y, weight)
