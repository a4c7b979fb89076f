"""The residual table: the factored table whose g bends towards each instance as its outcomes arrive."""

from dataclasses import asdict

from presage.forecasters.back_off import Prior, TableParts
from presage.forecasters.contract import Forecaster
from presage.forecasters.factored_table import count_factors
from presage.forecasters.table_keys import BUCKETS
from presage.settings import positive
from presage.spaces import Spaces


def residual_table(
    spaces: Spaces,
    alpha: float = 1.0,
    *,
    kappa: float = 5.0,
    shrinkage: float | None = None,
    groups: tuple[tuple[int, ...], ...] = (),
    buckets: int = BUCKETS,
) -> Forecaster:
    """A forecaster that sums g_x(y|z) h(z|x) over proxies, g_x(y|z) = (n_xzy + kappa g(y|z)) / (n_xz + kappa).

    For an instance without outcomes it equals the factored table; as outcomes arrive it becomes the direct one,
    whatever the proxy. It is the counting counterpart of the paper's residual network.

    Args:
        spaces: the instances, proxies and outcomes.
        alpha: pseudo-count of every symbol; 1 is Laplace, 1/2 Krichevsky-Trofimov.
        kappa: the weight of the shared g, in outcomes of an instance.
        shrinkage: the weight of the running marginal of proxies in h, in observations of an instance.
        groups: symbol columns for h and g to back off through, coarsest first.
        buckets: the maximum number of rows of a table; larger spaces are hashed.

    >>> import numpy as np
    >>> from presage import Delays, Episode, Spaces, play
    >>> episode = Episode.fixed([0, 0, 0], [0, 0, 0], [1, 1, 1], Delays(proxy=0, outcome=1))
    >>> last = play(residual_table(Spaces(1, 2, 2)), episode, key=0)[2]  # 13/18 where the factored table has 2/3
    >>> bool(np.isclose(np.exp(-last), 13 / 18 * 3 / 4 + 1 / 2 * 1 / 4))
    True
    """
    prior = Prior(alpha, shrinkage, groups, buckets)
    h = prior.chain(spaces.features, spaces.proxies)
    g = prior.residual(spaces, positive("kappa", kappa))
    settings = (*asdict(prior).items(), ("kappa", kappa))
    return count_factors("residual-table", "residual", spaces, settings, TableParts(h, g))
