"""The bounds of the paper with their constants, for Laplace estimators (alpha = 1) unless stated otherwise.

    B(D, X, Y) = D X Y ln((T - 1)/(X Y) + 1) + X sum_{j=1}^{Y-1} ln((T/X + j)/j)

The first term bounds the prediction drift (Lemma 1), the second the regret without delay: a Laplace estimator
pays exactly ln of the binomial (n + Y - 1 over Y - 1) at most on n symbols, which is concave in n.
"""

import math

import numpy as np

from presage.timeline.episode import Delays


def drift_bound(rounds: int, delay: int, instances: int, outcomes: int, alpha: float = 1.0) -> float:
    """Lemma 1: the most a delay can cost a direct table, on any sequence."""
    cells = instances * outcomes
    return delay * cells * math.log((rounds - 1) / (alpha * cells) + 1)


def laplace_bound(rounds: int, instances: int, outcomes: int) -> float:
    """The most regret a direct table has without delay, on any sequence."""
    each = rounds / instances
    return float(instances * np.log((each + np.arange(1, outcomes)) / np.arange(1, outcomes)).sum())


def direct_bound(rounds: int, delay: int, instances: int, outcomes: int) -> float:
    """Theorem 2 with its constants: the most regret a direct table has, on any sequence.

    >>> round(direct_bound(rounds=1000, delay=100, instances=10, outcomes=5))
    15371
    """
    return drift_bound(rounds, delay, instances, outcomes) + laplace_bound(rounds, instances, outcomes)


def factored_bound(rounds: int, delays: Delays, instances: int, proxies: int, outcomes: int) -> float:
    """Theorem 1 with its constants: the most expected regret of a factored table, if proxies say everything."""
    g = direct_bound(rounds, delays.outcome, proxies, outcomes)
    return g + direct_bound(rounds, delays.proxy, instances, proxies)


def quoted_lower_bound(rounds: int, delay: int, instances: int) -> float:
    """The order of the least regret without proxies, (D + 1) N ln(T / (N (D + 1))), as the paper quotes it.

    It is quoted there for adversarial learning with delay in general and not proved for log loss; its constant is
    unknown. It is never below 0 here.
    """
    block = instances * (delay + 1)
    return max(0.0, block * math.log(rounds / block))
