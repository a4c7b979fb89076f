"""SaaS trials: is an account that signs up paid for within 30 days?"""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from tests.realistic.world import DAY, Delays, RealisticLog, World, deal, lines, moments, with_gaps

WORLD = World(6000, 150, 420.0, 90.0, (0.6, 0.4), (0.03, 0.45), spread=0.9)
START = int(datetime(2024, 1, 8, 6, tzinfo=UTC).timestamp())
BERLIN = ZoneInfo("Europe/Berlin")
COUNTRIES = ("DE", "AT", "CH", "FR", "Côte d'Ivoire")
PLANS = ("Team", "Business", "Solo")
HEAD = (
    "Account ID", "Signed Up", "Country", "Utm Campaign", "Utm Medium", "Seats",
    "Onboarded At", "Paid At", "Plan", "Status",
)  # fmt: skip

TASK = """version = 1
name = "trials paid for within 30 days"

[instance]
campaign = { kind = "category", column = "Utm Campaign", identity = true }
medium = { kind = "category", column = "Utm Medium" }

[proxy]
values = ["not yet", "onboarded"]
happened_at = "Onboarded At"
horizon = "2 days"

[outcome]
values = ["not paid", "paid"]
happened_at = "Paid At"
horizon = "30 days"

[log]
shown_at = "Signed Up"
id = "Account ID"

[forecaster]
kind = "mixture"
back_off = [["medium"]]
"""


def trials(seed: int = 0) -> RealisticLog:
    """A semicolon CSV with a BOM and local times; plan and status were filled in later."""
    dealt = deal(WORLD, seed)
    draw = np.random.default_rng([seed, 1])
    count = len(dealt.item)
    export = dealt.at[-1] + 3600
    onboarded = moments(dealt.at, dealt.sign == 1, Delays(0.01, 2, 20, 0.1), export, draw)
    paid = moments(dealt.at, dealt.outcome, Delays(3, 30, 70, 0.04), export, draw)
    left = (paid > 0) & (paid < export - 120 * DAY) & (draw.random(count) < 0.3)
    over = dealt.at + 30 * DAY < export
    countries = with_gaps([COUNTRIES[n] for n in draw.integers(0, 5, count)], 0.05, draw)
    rows = []
    for n in range(count):
        status = ("cancelled" if left[n] else "paid") if paid[n] > 0 else "expired" if over[n] else "trial"
        medium, campaign = ("cpc", "email", "referral", "Organic")[dealt.group[n]], f"{dealt.item[n]:03}_launch"
        plan = PLANS[draw.integers(0, 3)] if paid[n] > 0 else ""
        account, seats = f"acc_{10_000 + n * 7:x}", str(draw.integers(1, 40))
        times = (_local(onboarded[n]), _local(paid[n]))
        rows.append((account, _local(dealt.at[n]), countries[n], campaign, medium, seats, *times, plan, status))
    return RealisticLog(
        name="trials",
        file="trials_export.csv",
        content=("\ufeff" + lines(";", HEAD, rows, "\n")).encode(),
        task=TASK,
        shown_at="Signed Up",
        signals={"outcome": "Paid At", "proxy": "Onboarded At"},
        leaks=("Plan", "Status"),
        honest=("Country", "Utm Campaign", "Utm Medium", "Seats"),
        gappy=("Country",),
        ids=tuple(row[0] for row in rows),
        outcome=dealt.outcome,
        truth=dealt.truth,
        signs={"proxy": dealt.sign},
        gains={"proxy": dealt.gain},
    )


def _local(at: int) -> str:
    return "" if at < 0 else datetime.fromtimestamp(START + int(at), BERLIN).isoformat(sep=" ")
