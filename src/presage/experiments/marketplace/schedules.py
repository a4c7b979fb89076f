"""The two schedules of the marketplace: which item is how likely to be acquired, in each half day."""

import numpy as np

from presage.errors import DataError
from presage.experiments.marketplace.settings import MarketplaceRunSettings
from presage.spaces import Array
from presage.worlds.marketplace import Market

SCHEDULES = ("staggered", "uniform")


def draw_items(market: Market, settings: MarketplaceRunSettings, schedule: str, draw: np.random.Generator) -> Array:
    """The items of one trial, without repeats: those whose launch was seen, or those on the calendar."""
    counts = market.launch if schedule == "staggered" else market.calendar
    wanted = settings.launches if schedule == "staggered" else settings.items
    there = np.flatnonzero(counts.sum(axis=1) > 0)
    if len(there) < wanted:
        remedy = f"give a market with {wanted} of them, or fewer items"
        raise DataError(f"too few items for the {schedule} schedule", len(there), remedy)
    return draw.choice(there, wanted, replace=False)


def chances(market: Market, settings: MarketplaceRunSettings, schedule: str, items: Array) -> Array:
    """The distribution over the items in each half day, [2 days, items]."""
    if schedule == "staggered":
        return _staggered(market.launch[items], settings)
    return _uniform(market.calendar[items], settings)


def _staggered(launch: Array, settings: MarketplaceRunSettings) -> Array:
    """New items each noon; before the first noon, the first ones."""
    half_day = np.arange(2 * settings.days)[:, None]
    first = 2 * (np.arange(len(launch)) // settings.items_a_day) + 1
    age = np.maximum(half_day - first, 0) // 2  # whole days since launch
    there = (half_day >= first) | ((half_day == 0) & (first == 1))
    weight = np.take_along_axis(launch.T, age, axis=0) * there
    # A half day in which nothing on offer was ever acquired at its age falls to all on offer alike.
    weight = np.where(weight.sum(axis=1, keepdims=True) > 0, weight, there)
    return weight / weight.sum(axis=1, keepdims=True)


def _uniform(calendar: Array, settings: MarketplaceRunSettings) -> Array:
    """Each day's frequencies in the morning; their mean with the next day's in the afternoon."""
    counts = calendar.T[: settings.days] + np.where(
        calendar.T[: settings.days].sum(axis=1, keepdims=True) > 0, 0.0, 1.0
    )
    days = counts / counts.sum(axis=1, keepdims=True)
    afternoons = (days + np.r_[days[1:], days[-1:]]) / 2
    return np.stack([days, afternoons], axis=1).reshape(-1, calendar.shape[0])
