"""Tables that learn from outcomes alone: one estimator for each instance, or one for all of them."""

from dataclasses import asdict
from typing import NamedTuple

from presage.arrays import namespace
from presage.forecasters.back_off import BackOff, Counts, Prior, TableParts, known
from presage.forecasters.contract import Family, Forecast, Forecaster, Rows, unmoved
from presage.forecasters.table_keys import BUCKETS, WHOLE
from presage.settings import positive
from presage.spaces import Array, Instance, Spaces


class DirectTable(NamedTuple):
    """How often each outcome followed each instance."""

    outcomes: Counts


def direct_table(
    spaces: Spaces,
    alpha: float = 1.0,
    *,
    shrinkage: float | None = None,
    groups: tuple[tuple[int, ...], ...] = (),
    buckets: int = BUCKETS,
) -> Forecaster:
    """A forecaster that counts outcomes for each instance (Algorithm 2 of the paper).

    Args:
        spaces: the instances, proxies and outcomes.
        alpha: pseudo-count of every outcome; 1 is Laplace, 1/2 Krichevsky-Trofimov.
        shrinkage: the weight of the running marginal, in observations of an instance; None is the paper's estimator.
        groups: symbol columns to back off through, coarsest first.
        buckets: the maximum number of rows of a table; larger spaces are hashed.

    >>> import numpy as np
    >>> from presage import Delays, Episode, Spaces, play
    >>> episode = Episode.fixed([0, 0, 0], [0, 0, 0], [1, 1, 1], Delays(proxy=0, outcome=1))
    >>> [f"{p:.3f}" for p in np.exp(-play(direct_table(Spaces(1, 1, 2)), episode, key=0))]
    ['0.500', '0.500', '0.667']
    """
    prior = Prior(alpha, shrinkage, groups, buckets)
    chain = prior.chain(spaces.features, spaces.outcomes)
    return count_outcomes("direct-table", "direct", spaces, tuple(asdict(prior).items()), chain)


def count_outcomes(
    name: str, family: Family, spaces: Spaces, settings: tuple[tuple[str, object], ...], chain: BackOff
) -> Forecaster:
    """The forecaster p(y|x) of one counting chain."""

    def init(key: Array) -> DirectTable:  # noqa: ARG001
        return DirectTable(chain.init())

    def predict(state: DirectTable, x: Instance) -> Forecast:
        probabilities = chain.read(state.outcomes, x)
        return Forecast(namespace(probabilities).log(probabilities), ())

    def nowcast(state: DirectTable, x: Instance, z: Array) -> Array:  # noqa: ARG001
        return predict(state, x).log_probabilities

    def learn(state: DirectTable, proxies: Rows, outcomes: Rows) -> DirectTable:  # noqa: ARG001
        y, weight = known(outcomes.y, outcomes.weight)
        return DirectTable(chain.add(state.outcomes, outcomes.x, (y,), weight))

    functions = (init, predict, nowcast, learn, unmoved)
    return Forecaster(name, spaces, settings, None, *functions, family=family, structure=TableParts(None, chain))


def marginal_table(spaces: Spaces, alpha: float = 1.0) -> Forecaster:
    """A forecaster that predicts for every instance how often each outcome has come so far.

    Args:
        spaces: the instances, proxies and outcomes.
        alpha: pseudo-count of every outcome.

    >>> marginal_table(Spaces(1000, 3, 2)).name
    'marginal'
    """
    chain = BackOff((WHOLE,), (), spaces.outcomes, positive("alpha", alpha), 0.0)
    return count_outcomes("marginal", "marginal", spaces, (("alpha", alpha),), chain)
