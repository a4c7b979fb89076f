"""The factored table: h(z|x) learnt from proxies, g(y|z) from outcomes and shared by all instances."""

from dataclasses import asdict
from typing import NamedTuple

from presage.arrays import namespace
from presage.forecasters.back_off import Counts, Prior, TableParts, known, pairs
from presage.forecasters.contract import Family, Forecast, Forecaster, Rows, unmoved
from presage.forecasters.table_keys import BUCKETS
from presage.spaces import Array, Instance, Spaces


class FactoredTable(NamedTuple):
    """How often each proxy followed each instance, and each outcome each proxy."""

    proxies: Counts  # h(z|x)
    outcomes: Counts  # g(y|z), or g_x(y|z) with a residual


def factored_table(
    spaces: Spaces,
    alpha: float = 1.0,
    *,
    shrinkage: float | None = None,
    groups: tuple[tuple[int, ...], ...] = (),
    buckets: int = BUCKETS,
) -> Forecaster:
    """A forecaster that sums g(y|z) h(z|x) over proxies, both by counting (Algorithm 1 of the paper).

    Args:
        spaces: the instances, proxies and outcomes.
        alpha: pseudo-count of every symbol; 1 is Laplace, 1/2 Krichevsky-Trofimov.
        shrinkage: the weight of the running marginal of proxies in h, in observations of an instance, and of the proxy
            alone in g where features of the instance belong to it; None is the paper's estimator.
        groups: symbol columns for h to back off through, coarsest first.
        buckets: the maximum number of rows of a table; larger spaces are hashed.

    >>> import numpy as np
    >>> from presage import Delays, Episode, Spaces, play
    >>> episode = Episode.fixed([0, 0, 0], [0, 0, 0], [1, 1, 1], Delays(proxy=0, outcome=1))
    >>> last = play(factored_table(Spaces(1, 2, 2)), episode, key=0)[2]
    >>> bool(np.isclose(np.exp(-last), 2 / 3 * 3 / 4 + 1 / 2 * 1 / 4))
    True
    """
    prior = Prior(alpha, shrinkage, groups, buckets)
    h = prior.chain(spaces.features, spaces.proxies)
    g = prior.shared(spaces)
    return count_factors("factored-table", "factored", spaces, tuple(asdict(prior).items()), TableParts(h, g))


def count_factors(
    name: str, family: Family, spaces: Spaces, settings: tuple[tuple[str, object], ...], parts: TableParts
) -> Forecaster:
    """The forecaster sum_z g(y|z) h(z|x) of two counting chains; g may depend on x."""
    h, g = parts
    assert h is not None

    def init(key: Array) -> FactoredTable:  # noqa: ARG001
        return FactoredTable(h.init(), g.init())

    def predict(state: FactoredTable, x: Instance) -> Forecast:
        proxies = h.read(state.proxies, x)  # [Z]
        outcomes = g.read(state.outcomes, x)  # [Z, Y]
        probabilities = (proxies[:, None] * outcomes).sum(0)
        return Forecast(namespace(probabilities).log(probabilities), ())

    def nowcast(state: FactoredTable, x: Instance, z: Array) -> Array:
        outcomes = g.read(state.outcomes, x, (z,))
        return namespace(outcomes).log(outcomes)

    def learn(state: FactoredTable, proxies: Rows, outcomes: Rows) -> FactoredTable:
        z, weight = known(proxies.z, proxies.weight)
        counted = g.add(state.outcomes, proxies.x, *pairs(proxies.z, proxies.y, proxies.weight))
        counted = g.add(counted, outcomes.x, *pairs(outcomes.z, outcomes.y, outcomes.weight))
        return FactoredTable(h.add(state.proxies, proxies.x, (z,), weight), counted)

    functions = (init, predict, nowcast, learn, unmoved)
    return Forecaster(name, spaces, settings, None, *functions, family=family, structure=parts)
