"""The demo's page: the loss over time, the table, and the shop behind them."""

import dataclasses
from typing import Any

import numpy as np

from presage.charts.pictures import Section, page, table
from presage.charts.style import COLOURS, DASHES, FONT, alt, rows_chart, scale, styled
from presage.experiments.demo.problem import NAMES, ShopRun, verdict
from presage.spaces import Array
from presage.worlds.shop import ShopSettings

LOOKS = {"marginal": ("#999999", [4, 4])} | {name: (COLOURS[name], DASHES[name]) for name in COLOURS}


def loss_over_time(settings: ShopSettings, run: ShopRun, days: int = 5) -> Any:
    """Each forecaster's loss beyond the best possible, averaged over a few days."""
    rows = [
        {"day": day, "excess": value, "forecaster": name}
        for name in NAMES
        for day, value in _averaged(run.excess[name].mean(axis=0), days)
    ]
    names = list(NAMES)
    base = rows_chart(rows)
    x = alt.X("day:Q", title="day", scale=alt.Scale(domain=[0, settings.days]))
    y = alt.Y("excess:Q", title=["loss beyond the best possible", "(nats a purchase)"], scale=alt.Scale(zero=True))
    colour = alt.Color("forecaster:N", scale=scale({n: LOOKS[n][0] for n in names}, names), title=None)
    dash = alt.StrokeDash("forecaster:N", scale=scale({n: LOOKS[n][1] for n in names}, names), title=None)
    line = base.mark_line(strokeWidth=2).encode(
        x=x, y=y, color=colour, strokeDash=dash, tooltip=["forecaster:N", "day:Q", "excess:Q"]
    )
    moment = rows_chart([{"day": settings.outcome_days, "text": "first outcomes known"}])
    rule = moment.mark_rule(strokeDash=[6, 4], color="#555555").encode(x="day:Q")
    words = moment.mark_text(align="left", dx=5, dy=-4, baseline="bottom", font=FONT).encode(
        x="day:Q", y=alt.value(12), text="text:N"
    )
    return styled((line + rule + words).properties(width="container", height=320)).configure_legend(orient="bottom")


def _averaged(values: Array, days: int) -> list[tuple[float, float]]:
    whole = len(values) // days * days
    means = np.asarray(values[:whole]).reshape(-1, days).mean(axis=1)
    return [(days * (at + 0.5), float(mean)) for at, mean in enumerate(means)]


def score_rows(run: ShopRun) -> tuple[list[str], list[list[str]]]:
    """The demo's table: head and rows."""
    head = ["forecaster", "log loss", "beyond the best possible", "on new titles"]
    rows = [[s.name, f"{s.loss:.4f}", _cell(s.excess), _cell(s.excess_new)] for s in run.scores]
    return head, rows


def _cell(interval: Any) -> str:
    return f"{interval.mean:.4f} ± {(interval.high - interval.low) / 2:.4f}"


def demo_page(settings: ShopSettings, trials: int, seed: int, run: ShopRun) -> bytes:
    """The page, in one self-contained file."""
    delays = f"{settings.proxy_days} day" if settings.proxy_days == 1 else f"{settings.proxy_days} days"
    about = (
        f"<p>{settings.purchases} purchases a day for {settings.days} days; {settings.new_titles} new titles a day. "
        f"How a book was begun is known after {delays}, whether it was finished after {settings.outcome_days} days. "
        "Each forecaster is asked at every purchase and learns only from what is known by then. "
        f"The mean of {trials} simulated shops, in groups of five days.</p>"
    )
    after = (
        f"<p>Purchases from day {settings.outcome_days} on. Log loss in nats, and its distance from a forecaster who "
        "knows each title's true probabilities, with 95 % intervals over shops. All tables pool alike, through the "
        "genre to the whole shop; the marginal gives every title the same probability.</p>"
    )
    fields = [[field.name, str(getattr(settings, field.name))] for field in dataclasses.fields(settings)]
    shop = "<p>Change any of them: <code>presage demo --set title_spread=0 --set days=180</code>.</p>"
    return page(
        "Presage demo: will the reader finish the book?",
        verdict(settings, run),
        [
            Section("Loss over time", about, loss_over_time(settings, run)),
            Section("Scores", after + table(*score_rows(run))),
            Section("The shop", shop + table(["setting", "value"], fields)),
        ],
        f"{trials} shops, seed {seed}.",
    )
