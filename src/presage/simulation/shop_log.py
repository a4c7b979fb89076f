"""Purchases in an ebook shop, or in several once one of them would be too large."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from presage.simulation.tables import CHUNK, DAY, Chunk, SimulatedTable, part_of
from presage.spaces import Array
from presage.worlds.shop import OUTCOMES, PROXIES, ShopSettings

START = int(np.datetime64("2024-01-01", "us").astype(np.int64))
INSTANCE = 'title = { kind = "category" }\ngenre = { kind = "category" }\n'


def deal_shop(settings: ShopSettings, rows: int | None, seed: int, drift: bool) -> SimulatedTable:
    """Purchases of one shop; of more of them, each with titles and genres of its own, beyond 500,000 rows.

    With `drift` the log-odds of finishing a book, given how it was begun, are reversed from the middle day on.
    """
    wanted = settings.days * settings.purchases if rows is None else rows
    if rows is not None:
        settings = dataclasses.replace(settings, purchases=-(-min(rows, CHUNK) // settings.days))
    chunks = _shops(settings, wanted, seed, drift)
    days = settings.proxy_days, settings.outcome_days
    return SimulatedTable("books finished", INSTANCE, '[["genre"]]', PROXIES, OUTCOMES, *days, wanted, chunks)


def _shops(settings: ShopSettings, rows: int, seed: int, drift: bool) -> Iterator[Chunk]:
    each = settings.days * settings.purchases
    shops = -(-rows // each)
    for shop in range(shops):
        own = seed if shop == 0 else int(np.random.SeedSequence([seed, shop]).generate_state(1)[0])
        draw = np.random.default_rng([own, 1])
        chunk = _shop(settings, own, drift, f"shop-{shop}/" if shops > 1 else "", draw)
        left = rows - shop * each
        kept = np.arange(each) if left >= each else np.sort(draw.choice(each, left, replace=False))
        yield part_of(chunk, kept)


def _shop(settings: ShopSettings, seed: int, drift: bool, prefix: str, draw: np.random.Generator) -> Chunk:
    first = settings.deal(1, seed)
    turned = dataclasses.replace(settings, finish=settings.finish[::-1]).deal(1, seed) if drift else first
    later = first.day >= settings.days // 2
    outcome = np.where(later, turned.episode.y[0], first.episode.y[0])
    likely = np.exp(-np.where(later, turned.true_loss[0], first.true_loss[0]))
    finished = np.where(outcome == 1, likely, 1 - likely)
    within = np.sort(draw.random((settings.days, settings.purchases)), axis=1).ravel()
    symbols = first.episode.x.symbols[0]
    features = {
        "title": _names(f"{prefix}title", settings.titles)[symbols[:, 0]],
        "genre": _names(f"{prefix}genre", settings.genres)[symbols[:, 1]],
    }
    shown_at = START + ((first.day + within) * DAY).astype(np.int64)
    return Chunk(features, shown_at, first.episode.z[0], outcome, np.stack([1 - finished, finished], axis=1))


def _names(kind: str, size: int) -> Array:
    return np.array([f"{kind}-{number:0{len(str(size - 1))}}" for number in range(size)], object)
