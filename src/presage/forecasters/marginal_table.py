"""The running marginal: one estimate for all instances, the least that any other forecaster must beat."""

from presage.forecasters.contract import Forecaster
from presage.forecasters.counts import Chain
from presage.forecasters.direct_table import count_outcomes
from presage.forecasters.keys import WHOLE
from presage.settings import positive
from presage.spaces import Spaces


def marginal_table(spaces: Spaces, alpha: float = 1.0) -> Forecaster:
    """A forecaster that says of every instance how often each outcome has come so far.

    Args:
        spaces: the instances, proxies and outcomes.
        alpha: pseudo-count of every outcome.

    >>> marginal_table(Spaces(1000, 3, 2)).name
    'marginal'
    """
    chain = Chain((WHOLE,), (), spaces.outcomes, positive("alpha", alpha), 0.0)
    return count_outcomes("marginal", spaces, (("alpha", alpha),), chain)
