"""The charts of a backtest, each as a section of the page."""

from collections.abc import Mapping, Sequence

import numpy as np

from presage.backtest.blocks import Blocks
from presage.backtest.families import family_of
from presage.backtest.known_after import OUTCOME, KnownAfter
from presage.backtest.over_time import OverTime
from presage.charts.delays import delays_chart, signal_lines
from presage.charts.key import family_lines, key, points_key
from presage.charts.over_time import over_time_chart
from presage.charts.pages import Panel, Section, paragraph
from presage.charts.reliability import reliability_chart
from presage.charts.times import Times
from presage.charts.winners import winners_chart
from presage.logs.rows import LogRows
from presage.metrics.calibration import Reliability
from presage.spaces import Array
from presage.task.spans import in_words

PLOTS = 8
"""How many outcomes get a reliability plot; the tables hold all of them."""

StandIns = Mapping[str, str]
"""By family, the forecaster that stands for it."""


def loss_section(over_time: OverTime, shown: StandIns, rows: LogRows) -> Section:
    """Loss over time, and how much less than the marginal."""
    times = _times(over_time.blocks)
    losses = _of_families(over_time.losses, shown)
    first = {"first outcomes known": float(rows.outcome.known_at.min()) / 1000}
    panels = [Panel("Log loss (nats a prediction)", over_time_chart(times, losses, "log loss", first))]
    less = {family: losses["marginal"] - values for family, values in losses.items() if family != "marginal"}
    if less:
        chart = over_time_chart(times, less, "nats less than the marginal", first, zero=True)
        panels.append(Panel("How much less than the running marginal: the higher the better", chart))
    words = (
        f"The mean loss in {_spans(over_time.blocks)}. The best forecaster of each family stands for it; all of them "
        "are in over_time.csv."
    )
    return Section("Loss over time", paragraph(words) + key(family_lines(list(shown)), shown), panels)


def winner_section(over_time: OverTime, shown: StandIns) -> Section:
    """Who wins when, over all rows and over those of new instances."""
    times = _times(over_time.blocks)
    panels = [Panel("All predictions", winners_chart(times, _of_families(over_time.losses, shown)))]
    if over_time.new_rows.any():
        chart = winners_chart(times, _of_families(over_time.new, shown))
        panels.append(Panel("New instances: a proxy is known of them and no outcome yet", chart))
    words = (
        "In each block of time the family with the least loss has the dark cell in its colour; of the others, the "
        "greyer a cell the nearer it comes. Blocks are blank in which all are alike, as before the first outcome."
    )
    return Section("Who wins when", paragraph(words), panels)


def weight_section(over_time: OverTime, weights: Mapping[str, Array]) -> Section:
    """Whom the mixture trusts."""
    words = "The weight of each family of its experts, who begin with equal shares; the mean in each block of time."
    chart = over_time_chart(_times(over_time.blocks), weights, "weight", {}, share=True)
    text = paragraph(words) + key(family_lines(list(weights)))
    return Section("Whom the mixture trusts", text, [Panel("Weight in the mixture", chart)])


def delay_section(known: KnownAfter) -> Section:
    """How much of the proxies and outcomes is known after a while."""
    lines = signal_lines([name for name in known.shares if name != OUTCOME], OUTCOME)
    words = (
        "The share of predictions whose proxy, and whose outcome, is known so long after the prediction; of those "
        "shown that long before the log ends. What lies between the curves is the time that a proxy saves."
    )
    chart = delays_chart(lines, known.after, known.shares, known.unit)
    return Section("Delays", paragraph(words) + key(lines), [Panel("How much is known after a while", chart)])


def reliability_section(tables: Mapping[str, Sequence[Reliability]], outcomes: Sequence[str]) -> Section:
    """A reliability plot for each outcome."""
    names = {family_of(name): name for name in reversed(list(tables))}  # the first is drawn last, on top
    often = np.argsort([-float(part.observed @ part.rows) for part in next(iter(tables.values()))])
    panels = [
        Panel(outcomes[place], reliability_chart({f: tables[name][place] for f, name in names.items()}))
        for place in (sorted(often[:PLOTS]) if len(outcomes) > 2 else [1])  # of two, one mirrors the other
    ]
    words = (
        "Predictions in bins of equally many rows: how likely the outcome was said to be, and how often it happened, "
        "with 95 % intervals. Points on the slanted line are right on average; below it the outcome was said to be "
        "likelier than it is."
    )
    if len(outcomes) > PLOTS:
        words += f" The {PLOTS} most frequent of {len(outcomes)} outcomes are shown; reliability.csv has all."
    return Section("Reliability", paragraph(words) + points_key(list(names), names), panels, small=True)


def _of_families(losses: Mapping[str, Array], shown: StandIns) -> dict[str, Array]:
    return {family: losses[name] for family, name in shown.items()}


def _times(blocks: Blocks) -> Times:
    return Times(blocks.edges / 1000, "", dates=True)


def _spans(blocks: Blocks) -> str:
    return f"blocks of {in_words(blocks.span)}, longer where little is known"
