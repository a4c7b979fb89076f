"""The sections of a report: its charts and tables, and the words between them."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from presage.backtesting.backtest import Backtest, BacktestSeconds
from presage.backtesting.delays import OUTCOME, DelayCurve
from presage.backtesting.families import family_of, told_families
from presage.backtesting.leak_check import LeakCheck
from presage.backtesting.over_time import OverTime, TimeBlocks
from presage.backtesting.reliance import RestsOn
from presage.backtesting.score_columns import score_table
from presage.backtesting.segments import segment_tables
from presage.charts.over_time import ALIKE, Times, delays_chart, over_time_chart, signal_lines, winners_chart
from presage.charts.pages import PageSection, Panel, paragraph, table, word_table
from presage.charts.panels import Bar, bars_chart, reliability_chart
from presage.charts.style import family_lines, key, points_key
from presage.logs.rows import LogRows
from presage.metrics.calibration import Reliability
from presage.spaces import Array
from presage.task.spans import ROW, in_words


class ProxyCard(NamedTuple):
    """The report card of a proxy: a verdict, and what it rests on as names and values in words."""

    name: str
    verdict: str
    facts: Sequence[tuple[str, str]]
    numbers: Mapping[str, Any]  # the same as JSON values


@dataclass(frozen=True)
class BacktestRun:
    """What a report says beside its results."""

    proxy: str
    settings: Mapping[str, Any]  # as JSON values
    seed: int
    version: str
    seconds: BacktestSeconds
    left_out: Sequence[str]  # a line for each reason to leave rows out
    task_text: str
    cards: Sequence[ProxyCard] = ()
    no_cards: str = ""  # why there are none

    def as_json(self) -> dict[str, Any]:
        """What is kept beside the results, as JSON values."""
        return {
            "settings": dict(self.settings),
            "seed": self.seed,
            "version": self.version,
            "left_out": list(self.left_out),
            "proxies": [dict(card.numbers) for card in self.cards],
        }


PLOTS = 8
"""How many outcomes get a reliability plot; the tables hold all of them."""

StandIns = Mapping[str, str]
"""By family, the forecaster that stands for it."""


def page_top(found: Backtest) -> str:
    """What stands above the verdict: warnings of the log, and how often each outcome comes."""
    warned = "".join(
        f'<div class="warning"><p><b>{html.escape(warning.words)}</b></p><p><small>{html.escape(warning.kind)}'
        f"{html.escape(_evidence(warning.evidence))}</small></p></div>"
        for warning in found.warnings
    )
    return warned + paragraph(found.rates.sentence)


def _evidence(figures: Mapping[str, Any]) -> str:
    return "".join(f", {name} {value:.4g}" if isinstance(value, float) else f", {name} {value}"
                   for name, value in figures.items())  # fmt: skip


def rates_section(found: Backtest) -> PageSection:
    """How often each outcome comes, given each value of the early sign."""
    head, rows = found.rates.text_table()
    words = (
        "How often each outcome comes, for each value of the early sign: the more the rows differ, the more it tells. "
        "It is not known yet when you predict, so it can only help to learn sooner, and the gain is smaller than this "
        "table suggests. Once it is known, a now-cast uses it."
    )
    return PageSection("What the early sign tells", paragraph(words) + table(head, rows, strong=len(rows) - 1))


def meaning_section(found: Backtest) -> PageSection:
    """What the families of forecasters are."""
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in told_families(found.scores))
    return PageSection("What was compared", f'<ul class="meanings">{lines}</ul>')


BARS = 30
"""How many features get a bar; the table holds all of them."""


def rests_on_section(found: RestsOn) -> PageSection:
    """How much the log loss of the default rises without each feature."""
    words = (
        "The default replayed without one feature at a time: the longer the bar of a feature, the more the forecast "
        "rests on it. Grey bars cannot be told from 0. Where several features say the same, each alone looks useless, "
        "because the others stand in for it: leave out one at a time."
    )
    if len(found.features) > BARS:
        words += f" The {BARS} most important of {len(found.features)} features are shown; rests_on.csv has all."
    bars = [Bar(found.named(each.feature), each.rise, each.rise.low > 0) for each in found.features[:BARS]]
    chart = bars_chart(bars, "nats per prediction", "feature")
    text = paragraph(words) + (paragraph(found.part) if found.part else "")
    caption = "By how much the log loss rises without it, with 95 % intervals"
    return PageSection("What the forecast rests on", text, [Panel(caption, chart)])


def segment_section(found: Backtest) -> PageSection:
    """The scores of each segment."""
    compared = found.compared
    named = {"default": compared.default, "direct": compared.direct, "best": compared.best}
    words = ", ".join(f"{role} is {name}" for role, name in named.items() if name)
    if compared.ours:
        words += f"; the gain is that of {compared.ours} over {compared.direct}"
    text = f"Predictions with a known outcome, shown once some outcome was known. Of the forecasters {words}."
    tables = "".join(table(*each) for each in segment_tables(found.segments, compared))
    return PageSection("By segment", paragraph(text) + tables)


def loss_section(over_time: OverTime, shown: StandIns, rows: LogRows) -> PageSection:
    """Loss over time, and how much less than the marginal, from the first known outcome on."""
    if not over_time.learnt.any():
        why = "No outcome was known before the last predictions that can be scored: there is nothing to draw."
        return PageSection("Loss over time", paragraph(why))
    times = _times(over_time.blocks)
    losses = _of_families(over_time, over_time.losses, shown)
    first = {"first outcomes known": _places(over_time.blocks, rows.outcome.known_at.min())}
    panels = [Panel("Log loss (nats per prediction)", over_time_chart(times, losses, "log loss", first))]
    less = {family: losses["marginal"] - values for family, values in losses.items() if family != "marginal"}
    if less:
        chart = over_time_chart(times, less, "nats less than the marginal", first, zero=True)
        panels.append(Panel("How much less than the running marginal: the higher the better", chart))
    words = (
        f"The mean loss in {_spans(over_time.blocks)}. Before the first outcome is known all predict the same, and "
        "nothing is drawn. The best forecaster of each family stands for it; all of them are in over_time.csv."
    )
    return PageSection("Loss over time", paragraph(words) + key(family_lines(list(shown)), shown), panels)


def winner_section(over_time: OverTime, shown: StandIns) -> PageSection:
    """The best family over time, over all rows and over those of new instances."""
    times = _times(over_time.blocks)
    panels = [Panel("All predictions", winners_chart(times, _of_families(over_time, over_time.losses, shown)))]
    if over_time.new_rows.any():
        chart = winners_chart(times, _of_families(over_time, over_time.new, shown))
        panels.append(Panel("New instances: a proxy is known of them and no outcome yet", chart))
    words = (
        "In each block of time the family with the least loss has the dark cell in its colour; several do where they "
        f"tie, within {ALIKE} nats. Of the others, the greyer a cell the nearer it comes. Blocks are blank in which "
        "all are alike, and before the first outcome is known."
    )
    return PageSection("Best over time", paragraph(words), panels)


def weight_section(over_time: OverTime, weights: Mapping[str, Array]) -> PageSection:
    """The weights of the default's members."""
    words = "The weight that the default gives to each family of its members; the mean in each block of time."
    chart = over_time_chart(_times(over_time.blocks), weights, "weight", {}, share=True)
    text = paragraph(words) + key(family_lines(list(weights)))
    return PageSection("Weights in the default", text, [Panel("Weight of each family", chart)])


def delay_section(known: DelayCurve) -> PageSection:
    """How much of the proxies and outcomes is known after a while."""
    lines = signal_lines([name for name in known.shares if name != OUTCOME], OUTCOME)
    words = (
        "The share of predictions whose proxy, and whose outcome, is known so long after the prediction; of those "
        "shown that long before the log ends. What lies between the curves is the time that a proxy saves."
    )
    chart = delays_chart(lines, known.after, known.shares, known.unit)
    return PageSection("Delays", paragraph(words) + key(lines), [Panel("How much is known after a while", chart)])


def reliability_section(tables: Mapping[str, Sequence[Reliability]], outcomes: Sequence[str]) -> PageSection:
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
    return PageSection("Reliability", paragraph(words) + points_key(list(names), names), panels, small=True)


def _of_families(over_time: OverTime, losses: Mapping[str, Array], shown: StandIns) -> dict[str, Array]:
    return {family: over_time.from_first(losses[name]) for family, name in shown.items()}


def _places(blocks: TimeBlocks, at: Any) -> Any:
    """Moments as charts have them: in milliseconds, or as numbers of rows."""
    return at / (ROW if blocks.in_rows else 1000)


def _times(blocks: TimeBlocks) -> Times:
    return Times(_places(blocks, blocks.edges), "row" if blocks.in_rows else "", dates=not blocks.in_rows)


def _spans(blocks: TimeBlocks) -> str:
    return f"blocks of {in_words(blocks.span, blocks.in_rows)}, longer where little is known"


def score_section(found: Backtest) -> PageSection:
    """The table of scores."""
    head, rows = score_table(found.scores)
    words = (
        f"{found.rows:,} predictions of {found.instances:,} instances. Log loss in nats, the less the better, with "
        "half the length of its 95 % interval by block bootstrap over time; over all rows, and over those shown once "
        "the first outcome was known, before which all predict the same. Gains are row by row over all rows: on the "
        "running marginal, and over the direct forecaster that pools in the same way. New instances are those of which "
        "a proxy is known and no outcome yet. AUC is the mean over outcomes."
    )
    if "delay cost" in head:
        words += " The delay cost is how much less a twin loses that gets all feedback at once."
    return PageSection("Scores", paragraph(words) + table(head, rows, strong=list(found.scores).index(found.best)))


def card_section(run: BacktestRun) -> PageSection:
    """The report cards of the task's proxies."""
    if run.no_cards:
        return PageSection("Proxies", paragraph(run.no_cards))
    words = paragraph(
        "What each candidate tells of the outcome, on its own: nats per prediction, with 95 % intervals. Where a card "
        "and the scores above differ, believe the scores: they are of whole forecasters, played as in production."
    )
    return PageSection("Proxies", words + "".join(_card(*card[:3]) for card in run.cards))


def _card(name: str, verdict: str, facts: Any) -> str:
    return f'<div class="card"><h3>{html.escape(name)}: {html.escape(verdict)}</h3>{word_table(facts)}</div>'


def check_section(found: Backtest, run: BacktestRun) -> PageSection:
    """That no score used feedback before its moment, and what was left out."""
    left = "".join(f"<li>{html.escape(line)}</li>" for line in run.left_out)
    listed = f"<p>Left out when the log was read, or not known:</p><ul>{left}</ul>"
    words = paragraph(order_words(found.leak_check))
    return PageSection("Checks", words + (listed if left else paragraph("No row was left out.")))


def order_words(check: LeakCheck) -> str:
    """What the check of the order of time found, and what it cannot see."""
    changed = f"Order of time: {check.tampered:,} labels that became known later were changed, and"
    if check.moved:
        return f"{changed} {check.moved:,} EARLIER SCORES MOVED: please report this."
    return (
        f"{changed} no earlier score moved: no score used feedback before its moment. What this cannot see is a "
        "feature that already contains the outcome."
    )


def run_section(run: BacktestRun) -> PageSection:
    """How the numbers came about."""
    settings = [(name, _plain(value)) for name, value in run.settings.items()]
    spent = [(f"seconds to {name}", f"{value:.1f}") for name, value in run.seconds._asdict().items()]
    made = word_table([*settings, ("seed", str(run.seed)), ("version", run.version), *spent])
    text = f"<details><summary>The task file</summary><pre>{html.escape(run.task_text)}</pre></details>"
    return PageSection("Settings", made + text)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
