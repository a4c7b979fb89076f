"""A simulated ebook shop that is served: purchases, how books are begun, and whether they are finished, over HTTP.

    presage serve --task examples/shop.toml --data out/shop --clock events
    python -m examples.shop_service --url http://127.0.0.1:8000

Two months pass in about three minutes. After two thirds of them the reading app changes: it turns pages by itself, so
that a third read on the first days no longer means much. The dashboard at the address of the service shows it all.
"""

import argparse
import dataclasses
import time
from collections.abc import Iterator

import numpy as np

from presage import Client
from presage.client import Event
from presage.worlds.shop import OUTCOMES, PROXIES, ShopSettings

DAY = 86_400_000_000
HOUR = DAY // 24
START = int(np.datetime64("2026-03-02", "us").astype(np.int64))
GENRES = ("crime", "love", "poems", "history", "science", "travel")

AFTER = (-2.0, -1.0, -0.6)
"""The log-odds of finishing a book for each proxy, once the app has changed."""

NEVER, LATE, TWICE, OTHERWISE, OFFLINE = 0.02, 0.01, 0.01, 0.002, 0.005
"""Shares: feedback that never comes, comes late, is sent twice, contradicts itself; tills that were offline."""


def shop_events(days: int, purchases: int, drift_day: float, seed: int) -> list[Event]:
    """What a shop sends, in order of time."""
    settings = ShopSettings(
        days=days, purchases=purchases, new_titles=4, genres=len(GENRES), outcome_days=min(10, days), begin_spread=1.8
    )
    dealt = settings.deal(1, seed)
    changed = dataclasses.replace(settings, finish=AFTER).deal(1, seed)
    y = np.where(dealt.day >= drift_day, changed.episode.y[0], dealt.episode.y[0])
    draw = np.random.default_rng([seed, 1])
    at = START + ((dealt.day + np.sort(draw.random((days, purchases)), axis=1).ravel()) * DAY).astype(np.int64)
    events: list[Event] = []
    for number, (title, genre) in enumerate(dealt.episode.x.symbols[0].tolist()):
        features = {"title": f"title {title}", "genre": GENRES[genre]}
        values = PROXIES[dealt.episode.z[0, number]], OUTCOMES[y[number]]
        events += _purchase(f"order-{number}", int(at[number]), features, values, draw)
    end = START + days * DAY
    return sorted((event for event in events if (event.at or 0) < end), key=lambda event: event.at or 0)


def _purchase(
    id: str, at: int, features: dict[str, str], values: tuple[str, str], draw: np.random.Generator
) -> Iterator[Event]:
    """A purchase and what comes of it: the proxy after 20 to 40 hours, the outcome after 7 to 10 days."""
    offline = draw.random() < OFFLINE
    yield Event("prediction", id, features=features, at=at + 2 * DAY * offline)
    delays = draw.uniform(20, 40) * HOUR, draw.uniform(7, 9.9) * DAY
    for kind, value, delay in zip(("proxy", "outcome"), values, delays, strict=True):
        if draw.random() < NEVER:
            continue
        known_at = at + int(delay + (3 * DAY if draw.random() < LATE else 0))
        yield Event(kind, id, value=value, at=known_at)
        if draw.random() < TWICE:
            yield Event(kind, id, value=value, at=known_at + HOUR)
        if draw.random() < OTHERWISE:
            other = {"proxy": PROXIES, "outcome": OUTCOMES}[kind][0]
            yield Event(kind, id, value=other, at=known_at + 2 * HOUR)


def steps(events: list[Event], hours: float) -> Iterator[list[Event]]:
    """The events of one stretch of time after another; stretches without any are left out."""
    number = [int(((event.at or 0) - START) // (hours * HOUR)) for event in events]
    first = 0
    for place in range(1, len(events) + 1):
        if place == len(events) or number[place] != number[first]:
            yield events[first:place]
            first = place


def main() -> None:
    """Send a shop to a service."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--url", default="http://127.0.0.1:8000")
    arguments.add_argument("--days", type=int, default=60)
    arguments.add_argument("--purchases", type=int, default=200, help="a day")
    arguments.add_argument("--drift-day", type=float, help="by default after two thirds of the days")
    arguments.add_argument("--hours", type=float, default=2.0, help="simulated between two requests")
    arguments.add_argument("--pause", type=float, default=0.2, help="seconds between two requests")
    arguments.add_argument("--seed", type=int, default=0)
    chosen = arguments.parse_args()
    drift_day = chosen.days * 2 / 3 if chosen.drift_day is None else chosen.drift_day
    events = shop_events(chosen.days, chosen.purchases, drift_day, chosen.seed)
    accepted = repeated = conflicts = told = 0
    with Client(chosen.url) as client:
        for step in steps(events, chosen.hours):
            reply = client.events(step)
            accepted, repeated, conflicts = (
                accepted + reply.accepted, repeated + reply.repeated, conflicts + reply.conflicts,
            )  # fmt: skip
            day = ((step[-1].at or 0) - START) // DAY
            if day > told:
                print(f"day {day}: {accepted:,} accepted, {repeated} repeated, {conflicts} in conflict", flush=True)
            told = day
            time.sleep(chosen.pause)


if __name__ == "__main__":
    main()
