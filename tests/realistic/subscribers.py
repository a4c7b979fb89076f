"""Churn: is a subscription cancelled within 30 days of the start of a billing month?"""

from datetime import UTC, datetime

import numpy as np

from presage.spaces import Array
from tests.realistic.world import DAY, Dealt, RealisticLog, World, deal, in_figures, lines, with_gaps

WORLD = World(8000, 120, 540.0, 150.0, (0.5, 0.3, 0.2), (0.04, 0.15, 0.5), groups=3, tilt=0.1)
START = int(datetime(2023, 3, 1, tzinfo=UTC).timestamp())
TARIFFS = ("Basic", "Komfort", "Premium Plus")
PRICES = ("9,90", "19,90", "49,00")
HEAD = (
    "Kunden-Nr", "Month Start", "Tarif", "Monthly Fee", "Reseller",
    "Tickets W1", "Usage Drop W1 (%)", "cancelled_on",
)  # fmt: skip

TASK = """version = 1
name = "subscriptions cancelled within 30 days"

[instance]
reseller = { kind = "category", column = "Reseller", identity = true }
tariff = { kind = "category", column = "Tarif" }

[proxy.usage]
column = "Usage Drop W1 (%)"
edges = [20, 50]
known = "at horizon"
horizon = "7 days"

[proxy.tickets]
column = "Tickets W1"
edges = [1, 2]
known = "at horizon"
horizon = "7 days"

[outcome]
values = ["stays", "cancels"]
happened_at = "cancelled_on"
horizon = "30 days"

[log]
shown_at = "Month Start"
time_format = "%d.%m.%Y"

[forecaster]
kind = "mixture"
back_off = [["tariff"]]
"""


def subscribers(seed: int = 0) -> RealisticLog:
    """A semicolon CSV with German dates, one row per subscriber and month, and no ids of rows."""
    dealt = deal(WORLD, seed)
    draw = np.random.default_rng([seed, 1])
    start = dealt.at - dealt.at % DAY
    cancelled = _cancelled(dealt, start, draw)
    drop = np.array([0, 20, 50])[dealt.sign] + draw.integers(0, (20, 30, 51), (len(start), 3))[_each(dealt)]
    drops = with_gaps([str(each) for each in drop], 0.02, draw)
    tickets = draw.poisson(0.6, len(start))
    numbers = _numbers(dealt, start, cancelled)
    rows = [
        (numbers[n], _date(start[n]), TARIFFS[dealt.group[n]], PRICES[dealt.group[n]],
         f"Händler {dealt.item[n]:03}", str(tickets[n]), drops[n], _date(cancelled[n]))
        for n in range(len(start))
    ]  # fmt: skip
    return RealisticLog(
        name="subscribers",
        file="Abos.csv",
        content=lines(";", HEAD, rows, "\r\n").encode(),
        task=TASK,
        shown_at="Month Start",
        signals={"outcome": "cancelled_on", "usage": "Usage Drop W1 (%)", "tickets": "Tickets W1"},
        leaks=(),
        honest=("Tarif", "Monthly Fee", "Reseller"),
        gappy=(),
        ids=tuple(str(n + 1) for n in range(len(rows))),
        outcome=dealt.outcome,
        truth=dealt.truth,
        signs={"usage": np.where(in_figures(drops), dealt.sign, -1), "tickets": tickets.clip(0, 2)},
        gains={"usage": dealt.gain, "tickets": 0.0},
    )


def _each(dealt: Dealt) -> tuple[Array, Array]:
    return np.arange(len(dealt.item)), dealt.sign


def _numbers(dealt: Dealt, start: Array, cancelled: Array) -> list[str]:
    """The number of each row's customer: one of the same reseller whose last month is over, or a new one."""
    staying: dict[int, list[tuple[int, str]]] = {}
    found = []
    for n, (item, at) in enumerate(zip(dealt.item.tolist(), start.tolist(), strict=True)):
        waiting = staying.setdefault(item, [])
        number = waiting.pop(0)[1] if waiting and waiting[0][0] + 30 * DAY <= at else str(800_000 + n)
        found.append(number)
        if cancelled[n] < 0:
            waiting.append((at, number))
    return found


def _cancelled(dealt: Dealt, start: Array, draw: np.random.Generator) -> Array:
    """The day, in seconds [N]: within 30 days, or for many others months later; -1 where it had not come."""
    soon, later = draw.integers(8, 30, len(start)), draw.integers(31, 200, len(start))
    when = start + np.where(dealt.outcome, soon, later) * DAY
    happens = dealt.outcome | (draw.random(len(start)) < 0.5)
    return np.where(happens & (when <= dealt.at[-1]), when, -1)


def _date(at: int) -> str:
    return "" if at < 0 else datetime.fromtimestamp(START + int(at), UTC).strftime("%d.%m.%Y")
