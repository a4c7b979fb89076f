"""The page on judging proxies shows what its code gives, and every threshold."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from examples.commit_moments import write_moments
from presage.cli.proxies import HEAD, proxies
from presage.logs.rows import read_log
from presage.proxies.candidates import USUAL, with_horizons
from presage.proxies.card import Card
from presage.proxies.judge import Thresholds
from presage.proxies.report import judge_log
from presage.task.task import load_task
from tests.logs.places import real_data
from tests.test_docs import EXAMPLE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "proxies.md"
COLUMNS = ("proxy", "information", "gap", "share", "stability p", "lead", "symbols", "gain", "verdict")
POOLED = ((), (("module",),), (("activity",),), (("activity",), ("activity", "module")))


def lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of the page."""
    found = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([found[0], "|" + "---|" * len(head), *found[1:]])


def table(cards: list[Card]) -> str:
    """The cards as a table of the page."""
    rows = []
    for card in cards:
        told = (str(card.information), str(card.gap), str(card.share), f"{card.stability_p:.2g}")
        rows.append((card.name, *told, f"{card.lead.value:.3g} days", str(card.symbols), str(card.gain), card.verdict))
    return lines(COLUMNS, rows)


def pooled(log: Path) -> str:
    """The gains of the real log's proxy, by what the task backs off through."""
    task = load_task(ROOT / "examples" / "oulad.toml")
    rows, _ = read_log(task, log)
    found = []
    for groups in POOLED:
        grouped = replace(task, forecaster=replace(task.forecaster, back_off=groups))
        (card,) = judge_log(grouped, rows, cuts=False, progress=lambda _: None)
        name = "; ".join(" and ".join(group) for group in groups) or "nothing"
        found.append((name, str(card.gain), str(card.new), str(card.overall)))
    return lines(("backing off through", "`gain`", "`new`", "`overall`"), found)


def by_horizon(commits: Path, folder: Path) -> str:
    """The cards of the proxy of real repositories at the usual horizons, best first."""
    task = with_horizons(load_task(write_moments(commits, folder)))
    rows, _ = read_log(task, commits)
    cards = judge_log(task, rows, cuts=False, progress=lambda _: None)
    found = [(card.name, str(card.information), f"{card.lead.value:.3g} days", str(card.gain)) for card in cards]
    return lines(("proxy", "information", "lead", "gain"), found)


@pytest.mark.long
def test_the_table_of_cards_is_what_the_code_above_it_gives() -> None:
    text = PAGE.read_text()
    first = EXAMPLE.search(text)
    assert first
    namespace: dict[str, Any] = {}
    exec(compile(first[1], PAGE.name, "exec"), namespace)
    assert table(namespace["cards"]) in text


@pytest.mark.slow
def test_the_gains_on_the_real_log_are_those_of_the_page() -> None:
    assert pooled(real_data("oulad") / "resources_21d.parquet") in PAGE.read_text()


@pytest.mark.long
def test_the_cards_of_real_repositories_at_several_horizons_are_those_of_the_page(tmp_path: Path) -> None:
    told = by_horizon(real_data("github") / "commits.parquet", tmp_path)
    assert told in PAGE.read_text()
    assert len(told.splitlines()) == 2 + 5


def test_every_threshold_has_a_row_with_its_default() -> None:
    rows = "\n".join(f"| `{field.name}` | {field.default} |" for field in fields(Thresholds))
    assert rows in PAGE.read_text()


def test_every_option_and_column_of_the_command_is_on_the_page() -> None:
    text = PAGE.read_text()
    options = [option for one in proxies.params for option in one.opts if option.startswith("--")]
    assert [option for option in options if option not in text] == []
    columns = [column.replace("|", "\\|") for column in HEAD]
    assert [column for column in columns if f"\n| {column} | " not in text] == []
    assert [str(one) for one in USUAL if str(one) not in text] == []
