"""A marketplace's raw events: is what a user puts into the cart ordered within 14 days?"""

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import numpy as np

from presage.spaces import Array
from tests.realistic.world import DAY, Dealt, Delays, RealisticLog, World, deal, moments

WORLD = World(5000, 160, 220.0, 60.0, (0.5, 0.3, 0.2), (0.06, 0.2, 0.5), spread=0.8, tilt=0.15)
START = int(datetime(2024, 5, 1, tzinfo=UTC).timestamp())
CATEGORIES = ("Home & Garden", "toys", "Fashion", "BOOKS")

TASK = """version = 1
name = "carts ordered within 14 days"

[instance]
sku = { kind = "category", identity = true }
category = { kind = "category" }

[proxy]
values = ["none", "one", "many"]
count = "view"
within = "1 day"
edges = [1, 2]

[outcome]
values = ["no", "ordered"]
count = "order"
within = "14 days"
edges = [1]

[log]
subject = "userId"
instance = "sku"
kind = "event"
at = "ts"
id = "eventId"
moment = ["add_to_cart"]

[forecaster]
kind = "mixture"
back_off = [["category"]]
"""


def cart_events(seed: int = 0) -> RealisticLog:
    """NDJSON, zipped: views before and after a cart, orders, returns; some events come twice, some have no category."""
    dealt = deal(WORLD, seed)
    draw = np.random.default_rng([seed, 1])
    export = int(dealt.at[-1])
    ordered = moments(dealt.at, dealt.outcome, Delays(0.02, 14, 30, 0.03), export, draw)
    returned = moments(ordered, (ordered >= 0) & (draw.random(len(ordered)) < 0.2), Delays(3, 30, 31, 0), export, draw)
    views = _views(dealt, draw)
    found = [("view", n, at) for n, at in views if 0 <= at <= export]
    for kind, at in (("add_to_cart", dealt.at), ("order", ordered), ("return", returned)):
        found += [(kind, n, int(when)) for n, when in enumerate(at) if when >= 0]
    found.sort(key=lambda event: (event[2], event[1], event[0]))
    events = [_event(place, *event, dealt) for place, event in enumerate(found)]
    twice = draw.random(len(events)) < 0.01
    text = "".join(
        (json.dumps(event) + "\n") * (1 + again) for event, again in zip(events, twice.tolist(), strict=True)
    )
    ids = {n: event["eventId"] for event, (kind, n, _) in zip(events, found, strict=True) if kind == "add_to_cart"}
    return RealisticLog(
        name="cart_events",
        file="events.ndjson.gz",
        content=gzip.compress(text.encode(), 1, mtime=0),
        task=TASK,
        shown_at="ts",
        signals={"outcome": "order", "proxy": "view"},
        leaks=(),
        honest=("sku", "category", "price"),
        gappy=(),
        ids=tuple(ids[n] for n in range(len(dealt.item))),
        outcome=dealt.outcome,
        truth=dealt.truth,
        signs={"proxy": dealt.sign},
        gains={"proxy": dealt.gain},
    )


def _views(dealt: Dealt, draw: np.random.Generator) -> list[tuple[int, int]]:
    """Which cart a view belongs to, and when it was: one before it, the sign within a day, and now and then another."""
    found = []
    for n, at in enumerate(dealt.at.tolist()):
        after = draw.uniform(60, DAY - 60, dealt.sign[n] + (dealt.sign[n] == 2) * draw.integers(0, 2))
        found += [(n, at - int(draw.uniform(5, 900))), *((n, at + int(one)) for one in after)]
        if draw.random() < 0.2:
            found.append((n, at + int(draw.uniform(1.1, 9) * DAY)))
    return found


def _event(place: int, kind: str, n: int, at: int, dealt: Dealt) -> dict[str, Any]:
    when = datetime.fromtimestamp(START + at, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{place % 1000:03}Z"
    event: dict[str, Any] = {
        "eventId": f"{place:08x}-e",
        "ts": when,
        "event": kind,
        "userId": f"u{n}",
        "sku": _sku(dealt.item[n]),
    }
    if kind in ("view", "add_to_cart"):
        event |= {"category": CATEGORIES[dealt.group[n]], "price": round(4.99 + dealt.item[n] % 40, 2)}
    return event


def _sku(item: Array) -> str:
    return f"SKU-{int(item):05}"
