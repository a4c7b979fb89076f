"""The demo's page: the loss over time, the best forecaster at each time, the scores, and the shop's settings."""

import dataclasses
from typing import Any

import numpy as np

from presage.charts.over_time import Times, delays_chart, over_time_chart, signal_lines, winners_chart
from presage.charts.pages import PageSection, Panel, page, paragraph, table
from presage.charts.panels import reliability_chart
from presage.charts.style import family_lines, key, points_key
from presage.experiments.demo.problem import NAMES, ShopRun, verdict
from presage.spaces import Array
from presage.worlds.shop import ShopSettings

GROUP = 5
"""How many days are averaged for a point of a curve."""


def demo_page(settings: ShopSettings, trials: int, seed: int, run: ShopRun) -> bytes:
    """The page, in one self-contained file."""
    times, losses = _over_time(settings, run)
    return page(
        "Presage demo: will the reader finish the book?",
        [verdict(settings, run)],
        [
            _loss_section(settings, trials, times, losses),
            _score_section(settings, run),
            _winner_section(times, losses),
            _delay_section(settings),
            _reliability_section(run),
            _shop_section(settings),
        ],
        f"{trials} shops, seed {seed}.",
    )


def score_rows(run: ShopRun) -> tuple[list[str], list[list[str]]]:
    """The demo's table: head and rows."""
    head = ["forecaster", "log loss", "above the best possible", "on new titles"]
    rows = [[s.name, f"{s.loss:.4f}", _cell(s.excess), _cell(s.excess_new)] for s in run.scores]
    return head, rows


def _over_time(settings: ShopSettings, run: ShopRun) -> tuple[Times, dict[str, Array]]:
    """Each forecaster's loss above the best possible, averaged over a few days; the days left over are not shown."""
    groups = max(settings.days // GROUP, 1)
    size = min(GROUP, settings.days)
    means = {name: run.excess[name].mean(axis=0)[: groups * size].reshape(groups, size).mean(axis=1) for name in NAMES}
    return Times(size * np.arange(groups + 1), "day", dates=False), means


def _loss_section(settings: ShopSettings, trials: int, times: Times, losses: dict[str, Array]) -> PageSection:
    delays = f"{settings.proxy_days} day" if settings.proxy_days == 1 else f"{settings.proxy_days} days"
    about = paragraph(
        f"{settings.purchases} purchases a day for {settings.days} days; {settings.new_titles} new titles a day. "
        f"How far a buyer got is known after {delays}, whether the book was finished after {settings.outcome_days} "
        "days. Each forecaster predicts at every purchase and learns only from what is known by then. "
        f"Means over {trials} simulated shops, in groups of five days."
    )
    marks = {"first outcomes known": float(settings.outcome_days)}
    chart = over_time_chart(times, losses, "nats above the best", marks)
    panel = Panel("Loss above the best possible (nats per purchase): lower is better", chart)
    return PageSection("Loss over time", about + key(family_lines(NAMES)), [panel])


def _score_section(settings: ShopSettings, run: ShopRun) -> PageSection:
    after = paragraph(
        f"Purchases from day {settings.outcome_days} on. Log loss in nats, and how far it is above that of a "
        "forecaster that knows each title's true probabilities, with 95 % intervals over shops. All tables shrink "
        "their estimates through the genre to the whole shop; the marginal gives every title the same probability."
    )
    return PageSection("Scores", after + table(*score_rows(run)))


def _winner_section(times: Times, losses: dict[str, Array]) -> PageSection:
    about = paragraph(
        "In each group of days the forecaster with the lowest loss has a cell in its colour, or several if they tie; "
        "the darker the grey of the others, the closer they are. Blank: all are equal, because no outcome is known yet."
    )
    return PageSection("Best over time", about, [Panel("All purchases", winners_chart(times, losses))])


def _delay_section(settings: ShopSettings) -> PageSection:
    lines = signal_lines(["how far they got"], "whether it was finished")
    at = np.linspace(0, 1.05 * settings.outcome_days, 400)
    delays = dict(zip(lines, (settings.proxy_days, settings.outcome_days), strict=True))
    chart = delays_chart(lines, at, {name: (at >= delay).astype(float) for name, delay in delays.items()}, "days")
    return PageSection("Delays", key(lines), [Panel("Share known by time since the purchase", chart)])


def _reliability_section(run: ShopRun) -> PageSection:
    about = paragraph(
        "Purchases in bins of equal size: the predicted probability that the book would be finished, and how often it "
        "was, with 95 % intervals. A perfectly calibrated forecaster would be on the diagonal."
    )
    chart = reliability_chart(run.reliable)
    return PageSection("Reliability", about + points_key(list(run.reliable)), [Panel("Finished", chart)], small=True)


def _shop_section(settings: ShopSettings) -> PageSection:
    fields = [[field.name, str(getattr(settings, field.name))] for field in dataclasses.fields(settings)]
    shop = "<p>You can change any setting: <code>presage demo --set title_spread=0 --set days=180</code>.</p>"
    return PageSection("The shop", shop + table(["setting", "value"], fields))


def _cell(interval: Any) -> str:
    return f"{interval.mean:.4f} ± {(interval.high - interval.low) / 2:.4f}"
