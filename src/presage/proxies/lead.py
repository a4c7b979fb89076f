"""How much earlier than the outcome a proxy is known."""

import math

import numpy as np

from presage.metrics.intervals import Estimate
from presage.spaces import Array


def lead_time(proxy_delay: Array, outcome_delay: Array) -> Estimate:
    """The median of outcome delay minus proxy delay over rows that have both, and the interval by ranks, in days.

    >>> lead_time(np.full(100, 1.0), np.full(100, 21.0))
    Estimate(value=20.0, low=20.0, high=20.0)
    """
    lead = outcome_delay - proxy_delay
    lead = np.sort(lead[~np.isnan(lead)])
    if not len(lead):
        return Estimate(math.nan, math.nan, math.nan)
    half = 0.98 * math.sqrt(len(lead))
    low, high = max(math.floor(len(lead) / 2 - half), 0), min(math.ceil(len(lead) / 2 + half), len(lead) - 1)
    return Estimate(float(np.median(lead)), float(lead[low]), float(lead[high]))


def spoken(days: float) -> str:
    """A span of time as people say it.

    >>> spoken(2 / 24), spoken(1.0), spoken(20.4)
    ('2 hours', '1 day', '20 days')
    """
    for unit, length in (("day", 1.0), ("hour", 1 / 24), ("minute", 1 / 1440)):
        number = round(days / length)
        if number >= 1 and days >= 0.95 * length:
            return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
    return "less than a minute"
