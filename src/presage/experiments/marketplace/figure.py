"""The figures of the marketplace experiment."""

from typing import Any

import numpy as np

from presage.charts.panels import Axes, curves_panel
from presage.charts.style import rows_chart, styled
from presage.experiments.marketplace.claims import regret_curves
from presage.experiments.marketplace.problem import BINS_A_DAY, ScheduleRun
from presage.experiments.marketplace.settings import MarketplaceRunSettings
from presage.later import alt
from presage.spaces import Array

TITLES = {"staggered": "Staggered: new items each noon", "uniform": "Uniform: the same items throughout"}
LEAST = 1e-4
"""Chances below this are drawn as nothing."""
MOST_ITEMS = 100
"""Items drawn, those with the most acquisitions."""


def days_at(run: ScheduleRun) -> Array:
    """The day at the end of each bin."""
    return (np.arange(run.losses["direct"].shape[1]) + 1) / BINS_A_DAY


def figure_6(runs: dict[str, ScheduleRun]) -> Any:
    """Both schedules as heat maps, items in descending order of acquisitions."""
    panels = [_heat_map(TITLES[schedule], run.schedule) for schedule, run in runs.items()]
    caption = [
        "The chance that an acquisition is of an item, in each half day of the first trial; white: below "
        f"{LEAST:g}. Items in the order of their acquisitions over all days.",
    ]
    title = alt.TitleParams("The two schedules", subtitle=caption)
    return styled(alt.hconcat(*panels, title=title, spacing=35))


def _heat_map(title: str, schedule: Array) -> Any:
    order = np.argsort(-schedule.sum(axis=0), kind="stable")[:MOST_ITEMS]
    rows = [cell for item, chances in enumerate(schedule[:, order].T) for cell in _cells(item, chances)]
    x = alt.X("item:Q", title="item, by acquisitions", scale=alt.Scale(domain=[0, len(order)], nice=False))
    y = alt.Y("day:Q", title="day", scale=alt.Scale(domain=[len(schedule) / 2, 0], nice=False))
    shade = alt.Color(
        "chance:Q",
        scale=alt.Scale(type="log", scheme="greys", domain=[LEAST, 1]),
        legend=alt.Legend(title="chance", format="~g", values=[1e-4, 1e-3, 1e-2, 1e-1, 1]),
    )
    cells = rows_chart(rows).mark_rect(aria=False).encode(x=x, x2="next:Q", y=y, y2="until:Q", color=shade)
    return cells.properties(width=340, height=230, title=alt.TitleParams(title, fontSize=12))


def _cells(item: int, chances: Array) -> list[dict[str, float]]:
    """Rectangles for one item: half days of the same shade, a quarter of a power of ten apart, are drawn as one."""
    shades = (np.log10(np.maximum(chances, LEAST / 10)) * 4).round() / 4
    ends = np.flatnonzero(np.r_[np.diff(shades) != 0, True])
    starts = np.r_[0, ends[:-1] + 1]
    return [
        {"item": item, "next": item + 1, "day": start / 2, "until": (end + 1) / 2, "chance": float(f"{10**shade:.2g}")}
        for start, end, shade in zip(starts.tolist(), ends.tolist(), shades[starts].tolist(), strict=True)
        if shade >= np.log10(LEAST)
    ]


def figure_7(settings: MarketplaceRunSettings, runs: dict[str, ScheduleRun]) -> Any:
    """Regret over the days on both schedules: all of it, and below what came after the first outcomes."""
    known = settings.outcome_days
    rows = []
    for since, words in ((0, "regret to the true model (nats)"), (known, f"regret since day {known} (nats)")):
        panels = []
        for schedule, run in runs.items():
            curves, days = regret_curves(settings, run), days_at(run)
            later = days >= since
            shown = {name: curve[:, later] for name, curve in curves.items()}
            if since:  # the regret by then is taken off
                shown = {name: curve - curve[:, :1] for name, curve in shown.items()}
            panels.append(curves_panel(Axes(TITLES[schedule], "day", words, first=since), days[later], shown))
        rows.append(alt.hconcat(*panels, spacing=35))
    trials = len(runs["uniform"].losses["direct"])
    caption = [
        f"Mean over {trials} trials with 95 % bands. No outcome is known before day {known}.{_oracles(runs)}",
        "The paper's claims: with new items every day factored and residual beat direct, and residual factored; with "
        "the same items direct ends up below factored, and residual does as well as direct.",
    ]
    title = alt.TitleParams("Engagement with the items of a market", subtitle=caption)
    return styled(alt.vconcat(*rows, title=title, spacing=20))


def _oracles(runs: dict[str, ScheduleRun]) -> str:
    """What the trained oracles lose beyond the truth, in words; nothing if none were trained."""
    beyond = {
        schedule: run.oracle.mean() - run.losses["truth"][0].mean()
        for schedule, run in runs.items()
        if run.oracle is not None
    }
    gaps = " and ".join(f"{gap:.4f} ({schedule})" for schedule, gap in beyond.items())
    return f" On the first trial the log loss of the trained oracles is {gaps} nats above the truth's." if gaps else ""
