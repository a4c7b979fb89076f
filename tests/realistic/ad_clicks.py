"""Ads with delayed conversions: does a click convert within 14 days?"""

from datetime import UTC, datetime

import numpy as np

from tests.realistic.world import Delays, RealisticLog, World, deal, lines, moments, with_gaps

WORLD = World(12_000, 400, 200.0, 35.0, (0.8, 0.2), (0.02, 0.35), spread=0.8)
START = int(datetime(2024, 2, 1, tzinfo=UTC).timestamp())
CHANNELS = ("search", "Social", "display, programmatic", "partner")
HEAD = (
    "click_id", "Click Time", "campaign_id", "Channel", "device", "Cost", "add_to_cart", "add_to_cart_at",
    "converted_at", "conversion_value",
)  # fmt: skip

TASK = """version = 1
name = "clicks that convert within 14 days"

[instance]
campaign = { kind = "category", column = "campaign_id", identity = true }
channel = { kind = "category", column = "Channel" }

[proxy]
values = ["nothing", "in the cart"]
happened_at = "add_to_cart_at"
horizon = "1 day"

[outcome]
values = ["no", "converted"]
happened_at = "converted_at"
horizon = "14 days"

[log]
shown_at = "Click Time"
id = "click_id"

[forecaster]
kind = "mixture"
back_off = [["channel"]]
"""


def ad_clicks(seed: int = 0) -> RealisticLog:
    """A CSV with CRLF and quoted commas; the flag of the cart comes late for some, the value with the conversion."""
    dealt = deal(WORLD, seed)
    draw = np.random.default_rng([seed, 1])
    count, export = len(dealt.item), int(dealt.at[-1])
    cart = moments(dealt.at, dealt.sign == 1, Delays(0.0005, 1, 6, 0.05), export, draw)
    converted = moments(dealt.at, dealt.outcome, Delays(0.01, 14, 40, 0.02), export, draw)
    devices = with_gaps([("mobile", "Desktop", "tablet")[n] for n in draw.integers(0, 3, count)], 0.03, draw)
    rows = [
        (f"gclid-{n:06x}", _iso(dealt.at[n]), str(120_000_417 + 13 * dealt.item[n]),
         CHANNELS[dealt.group[n]], devices[n], f"{draw.gamma(2, 0.4):.2f}", "Y" if cart[n] >= 0 else "N",
         _iso(cart[n]), _iso(converted[n]), f"{draw.gamma(3, 20):.2f}" if converted[n] >= 0 else "")
        for n in range(count)
    ]  # fmt: skip
    return RealisticLog(
        name="ad_clicks",
        file="clicks 2024 (final).csv",
        content=lines(",", HEAD, rows, "\r\n").encode(),
        task=TASK,
        shown_at="Click Time",
        signals={"outcome": "converted_at", "proxy": "add_to_cart_at"},
        leaks=("conversion_value", "add_to_cart"),
        honest=("campaign_id", "Channel", "device", "Cost"),
        gappy=("device",),
        ids=tuple(row[0] for row in rows),
        outcome=dealt.outcome,
        truth=dealt.truth,
        signs={"proxy": dealt.sign},
        gains={"proxy": dealt.gain},
    )


def _iso(at: int) -> str:
    return "NULL" if at < 0 else datetime.fromtimestamp(START + int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
