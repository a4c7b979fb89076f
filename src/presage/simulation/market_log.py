"""Acquisitions of the items of a simulated market, on the days of its calendar."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from presage.experiments.data.acquisitions import OUTCOME_DAYS, PROXY_DAYS
from presage.simulation.tables import CHUNK, DAY, Chunk, SimulatedTable
from presage.spaces import Array
from presage.worlds.marketplace import DAYS, ENGAGEMENTS, Market, MarketplaceSettings

START = int(np.datetime64("2024-01-01", "us").astype(np.int64))
INSTANCE = 'item = { kind = "category" }\n'
TURN = 2.0
"""What drift adds to the log-odds of every move from a proxy to another outcome."""


def deal_marketplace(settings: MarketplaceSettings, rows: int | None, seed: int, drift: bool) -> SimulatedTable:
    """Acquisitions, as many as the calendar counts unless `rows` says otherwise.

    With `drift` people change their minds far more often after the proxy from the middle day on.
    """
    market = settings.deal(seed)
    wanted = int(market.calendar.sum()) if rows is None else rows
    odds = tuple(one + TURN for one in settings.outcome_odds)
    later = dataclasses.replace(settings, outcome_odds=odds).deal(seed).outcomes if drift else market.outcomes
    chunks = _days(market, later, wanted, np.random.default_rng([seed, 1]))
    days = PROXY_DAYS, OUTCOME_DAYS
    return SimulatedTable("items engaged with", INSTANCE, "", ENGAGEMENTS, ENGAGEMENTS, *days, wanted, chunks)


def _days(market: Market, later: Array, rows: int, draw: np.random.Generator) -> Iterator[Chunk]:
    names = np.array(market.items, object)
    volume = market.calendar.sum(axis=0)
    for day, count in enumerate(draw.multinomial(rows, volume / volume.sum())):
        outcomes = market.outcomes if day < DAYS // 2 else later
        truth = np.einsum("iz,izy->iy", market.proxies, outcomes)
        likely = market.calendar[:, day] / volume[day]
        pieces = -(-int(count) // CHUNK)
        for piece in range(pieces):
            size = (int(count) - piece + pieces - 1) // pieces
            item = draw.choice(len(names), size, p=likely)
            proxy = _draw(market.proxies[item], draw)
            outcome = _draw(outcomes[item, proxy], draw)
            within = (piece + np.sort(draw.random(size))) / pieces
            shown_at = START + ((day + within) * DAY).astype(np.int64)
            yield Chunk({"item": names[item]}, shown_at, proxy, outcome, truth[item])


def _draw(probabilities: Array, draw: np.random.Generator) -> Array:
    """One symbol for each row of probabilities."""
    below = probabilities.cumsum(axis=1)
    return (below > draw.random((len(below), 1)) * below[:, -1:]).argmax(axis=1)
