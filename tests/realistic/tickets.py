"""Support tickets: is a ticket opened again within 14 days?"""

from datetime import UTC, datetime

import numpy as np

from tests.realistic.world import DAY, RealisticLog, World, deal, in_figures, lines

WORLD = World(6000, 130, 300.0, 70.0, (0.4, 0.4, 0.2), (0.08, 0.22, 0.5), spread=0.8, tilt=0.3)
START = int(datetime(2024, 1, 2, 14, tzinfo=UTC).timestamp())
TEAMS = ("Billing", "Core App", "Integrations", "mobile")
HEAD = (
    "TicketID", "Created", "Priority", "Team", "Known Issue", "First Reply (min)",
    "resolved_on", "Reopened", "Satisfaction",
)  # fmt: skip

TASK = """version = 1
name = "tickets opened again within 14 days"

[instance]
issue = { kind = "category", column = "Known Issue", identity = true }
team = { kind = "category", column = "Team" }
priority = { kind = "category", column = "Priority", missing = "P3" }

[proxy]
column = "First Reply (min)"
edges = [30, 240]
known = "at horizon"
horizon = "1 day"

[outcome]
values = ["No", "Yes"]
column = "Reopened"
known = "at horizon"
horizon = "14 days"

[log]
shown_at = "Created"
id = "TicketID"
time_format = "%m/%d/%Y %H:%M"

[forecaster]
kind = "mixture"
back_off = [["team"]]
"""


def tickets(seed: int = 0) -> RealisticLog:
    """A CSV with American dates, the newest ticket first; whether it was opened again is a flag without a time."""
    dealt = deal(WORLD, seed)
    draw = np.random.default_rng([seed, 1])
    count, export = len(dealt.item), int(dealt.at[-1])
    low, high = np.array([1, 30, 240])[dealt.sign], np.array([30, 240, 4000])[dealt.sign]
    minutes = np.exp(draw.uniform(np.log(low), np.log(high))).astype(int).clip(low, high - 1)
    solved = dealt.at + (draw.gamma(2, 1.2, count) * DAY).astype(np.int64)
    again = dealt.outcome & (dealt.at + 14 * DAY <= export)
    stars = np.where(again, draw.integers(1, 4, count), draw.integers(2, 6, count))
    rated = (draw.random(count) < 0.6) & (solved <= export)
    rows = [
        (f"SUP-{40_000 + n}", _american(dealt.at[n]), ("P1", "P2", "P3", "")[draw.integers(0, 4)],
         TEAMS[dealt.group[n]], f"KI-{dealt.item[n]:04}", str(minutes[n]) if draw.random() > 0.02 else "n/a",
         _american(solved[n])[:10] if solved[n] <= export else "", "Yes" if again[n] else "No",
         str(stars[n]) if rated[n] else "")
        for n in range(count)
    ]  # fmt: skip
    return RealisticLog(
        name="tickets",
        file="tickets.csv",
        content=lines(",", HEAD, rows[::-1], "\n").encode(),
        task=TASK,
        shown_at="Created",
        signals={"outcome": "Reopened", "proxy": "First Reply (min)"},
        leaks=("resolved_on", "Satisfaction"),
        honest=("Priority", "Team", "Known Issue"),
        gappy=("Priority",),
        ids=tuple(row[0] for row in rows),
        outcome=dealt.outcome,
        truth=dealt.truth,
        signs={"proxy": np.where(in_figures([row[5] for row in rows]), dealt.sign, -1)},
        gains={"proxy": dealt.gain},
    )


def _american(at: int) -> str:
    return datetime.fromtimestamp(START + int(at), UTC).strftime("%m/%d/%Y %H:%M")
