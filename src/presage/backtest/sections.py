"""The sections of the page that are words and tables."""

import html
from typing import Any

from presage.backtest.backtest import Backtest
from presage.backtest.leaks import LeakCheck
from presage.backtest.run import Run
from presage.backtest.score_rows import score_table
from presage.charts.pages import Section, paragraph, table, word_table


def score_section(found: Backtest) -> Section:
    """The table of scores."""
    head, rows = score_table(found.scores)
    words = (
        f"{found.rows:,} predictions of {found.instances:,} instances. Log loss in nats, the less the better, with "
        "half the length of its 95 % interval by block bootstrap over time. Gains are row by row: on the running "
        "marginal, and over the direct forecaster that is built alike. New instances are those of which a proxy is "
        "known and no outcome yet. AUC is the mean over outcomes."
    )
    if "delay cost" in head:
        words += " The delay cost is how much less a twin loses that gets all feedback at once."
    return Section("Scores", paragraph(words) + table(head, rows, strong=list(found.scores).index(found.best)))


def card_section(run: Run) -> Section:
    """The report cards of the task's proxies."""
    if run.no_cards:
        return Section("Proxies", paragraph(run.no_cards))
    words = paragraph(
        "What each candidate tells of the outcome, on its own: nats a prediction, with 95 % intervals. Where a card "
        "and the scores above differ, believe the scores: they are of whole forecasters, played as in production."
    )
    return Section("Proxies", words + "".join(_card(*card[:3]) for card in run.cards))


def _card(name: str, verdict: str, facts: Any) -> str:
    return f'<div class="card"><h3>{html.escape(name)}: {html.escape(verdict)}</h3>{word_table(facts)}</div>'


def check_section(found: Backtest, run: Run) -> Section:
    """That nothing leaked, and what was left out."""
    left = "".join(f"<li>{html.escape(line)}</li>" for line in run.left_out)
    listed = f"<p>Left out when the log was read, or not known:</p><ul>{left}</ul>"
    words = paragraph(leak_words(found.leak_check))
    return Section("Checks", words + (listed if left else paragraph("No row was left out.")))


def leak_words(check: LeakCheck) -> str:
    """What the leak check found."""
    moved = f"{check.moved:,} EARLIER SCORES MOVED: please report this" if check.moved else "no earlier score moved"
    return f"Leak check: {check.tampered:,} labels that became known later were changed, and {moved}."


def run_section(run: Run) -> Section:
    """How the numbers came about."""
    settings = [(name, _plain(value)) for name, value in run.settings.items()]
    spent = [(f"seconds to {name}", f"{value:.1f}") for name, value in run.seconds._asdict().items()]
    made = word_table([*settings, ("seed", str(run.seed)), ("version", run.version), *spent])
    text = f"<details><summary>The task file</summary><pre>{html.escape(run.task_text)}</pre></details>"
    return Section("Settings", made + text)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
