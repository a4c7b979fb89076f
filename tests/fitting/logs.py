"""Small logs with all that makes learning hard: equal times, late proxies, gaps, and values that appear later."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

TASK = """
version = 1
name = "orders"

[instance]
item = { kind = "category" }
shop = { kind = "category", missing = "none" }
tags = { kind = "set" }
price = { kind = "number", missing = 1.0, scale = 10.0 }
stock = { kind = "count", edges = [1, 5], missing = 0 }

[proxy]
values = ["none", "click", "cart"]
horizon = "2 hours"
absent = "none"

[outcome]
values = ["kept", "returned"]
horizon = "5 hours"

[log]
id = "order"

[forecaster]
back_off = [["shop"]]
"""

HASHED = TASK.replace('item = { kind = "category" }', 'item = { kind = "category", hashed = 64 }')
HASHED = HASHED.replace('"category", missing', '"category", values = ["s0", "s1", "s2", "s3", "none"], missing')
HASHED = HASHED.replace('kind = "set"', 'kind = "set", slots = 3, values = ["t0", "t1", "t2", "t3", "t4"]')
"""The same with sizes that no log changes."""

START = 1_700_000_000
Row = dict[str, Any]


def deal(rows: int = 400, seed: int = 0) -> list[Row]:
    """Rows in the order of time, several in many of the seconds; most feedback comes, some after the outcome."""
    draw = np.random.default_rng(seed)
    at = START + np.sort(draw.integers(0, 600 * rows, rows) // 1800 * 1800)
    dealt = []
    for n in range(rows):
        item = int(draw.integers(0, 2 + n // 15))  # new items until the end
        proxy_at, outcome_at = (int(at[n] + draw.integers(0, 3600 * hours)) for hours in (3, 6))
        chance = 0.2 + 0.6 * (item % 3 == 0)
        row: Row = {
            "order": f"o{n}",
            "shown_at": int(at[n]),
            "item": f"i{item}",
            "shop": f"s{item % 4}" if draw.random() < 0.9 else "",
            "tags": ",".join(f"t{tag}" for tag in range(draw.integers(0, 4)) if tag * 60 < n),
            "price": round(float(draw.random() * 9), 2) if draw.random() < 0.9 else "",
            "stock": int(draw.integers(0, 9)) if draw.random() < 0.9 else "",
        }
        proxied, known = draw.random() < 0.8, draw.random() < 0.9
        row |= {"proxy": str(draw.choice(["none", "click", "cart"])) if proxied else ""}
        row |= {"proxy_at": proxy_at if proxied else ""}
        row |= {"outcome": ("returned" if draw.random() < chance else "kept") if known else ""}
        row |= {"outcome_at": outcome_at if known else ""}
        dealt.append(row)
    return dealt


def known_by(rows: Sequence[Row], until: int, after: int = 0) -> list[Row]:
    """The rows that a log written at `until` would hold, less those without news since `after`."""
    found = []
    for row in rows:
        if row["shown_at"] > until:
            continue
        kept, news = dict(row), row["shown_at"] > after
        for name in ("proxy", "outcome"):
            at = row[f"{name}_at"]
            if at != "" and at > until:
                kept |= {name: "", f"{name}_at": ""}
            news = news or (at != "" and after < at <= until)
        if news:
            found.append(kept)
    return found


def write(path: Path, rows: Sequence[Row]) -> Path:
    """The rows as a CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
