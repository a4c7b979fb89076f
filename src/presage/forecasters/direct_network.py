"""The direct network: one tower from instances to outcomes, trained as outcomes come."""

from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

from presage.arrays import log_softmax
from presage.forecasters.back_off import known
from presage.forecasters.contract import Forecast, Forecaster, Rows, unmoved
from presage.forecasters.replay import Replay
from presage.forecasters.towers import Tower, TowerPlan, Training, cross_entropy, with_floor
from presage.spaces import Array, Instance, Spaces


class DirectNetwork(NamedTuple):
    """A tower x -> y."""

    outcomes: Tower


def direct_network(spaces: Spaces, *, replay: Replay | None = None, **training: Any) -> Forecaster:
    """A forecaster with one tower from instances to outcomes (DF; Figure 3a of the paper).

    Args:
        spaces: the instances, proxies and outcomes.
        replay: the replay windows and how often to train on them; the paper's GitHub settings if left out.
        training: fields of `Training`: hidden, learning_rate, l2, initial, output_start, floor, buckets, optimiser.

    >>> direct_network(Spaces(10, 3, 2), hidden=(20, 10)).name
    'direct-network'
    """
    how = Training(**training)
    tower = TowerPlan(how, spaces.features, spaces.outcomes)

    def init(key: Array) -> DirectNetwork:
        return DirectNetwork(tower.init(key))

    def predict(state: DirectNetwork, x: Instance) -> Forecast:
        return Forecast(with_floor(log_softmax(tower.logits(state.outcomes, x)), how.floor), ())

    def nowcast(state: DirectNetwork, x: Instance, z: Array) -> Array:  # noqa: ARG001
        return predict(state, x).log_probabilities

    def rehearse(state: DirectNetwork, proxies: Rows, outcomes: Rows) -> DirectNetwork:  # noqa: ARG001
        y, weight = known(outcomes.y, outcomes.weight)
        loss = partial(cross_entropy, symbols=y, weight=weight)
        return DirectNetwork(tower.descend(state.outcomes, outcomes.x, None, loss, weight))

    settings = tuple(asdict(how).items())
    functions = (init, predict, nowcast, unmoved, rehearse)
    revision = 2 if how.output_start == "zero" else 1
    return Forecaster(
        "direct-network",
        spaces,
        settings,
        replay or Replay(),
        *functions,
        family="direct",
        only_rehearses=True,
        revision=revision,
    )
