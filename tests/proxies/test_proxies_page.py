"""The page on judging proxies shows what its code gives, and every threshold."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from presage.proxies.card import Card
from presage.proxies.verdict import Thresholds
from tests.test_docs import EXAMPLE

PAGE = Path(__file__).parents[2] / "docs" / "proxies.md"
HEAD = (
    "| proxy | information | gap | share | stability p | lead | symbols | gain | verdict |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table(cards: list[Card]) -> str:
    """The cards as a table of the page."""
    rows = [
        f"| {card.name} | {card.information} | {card.gap} | {card.share} | {card.stability_p:.2g} | "
        f"{card.lead.value:.3g} days | {card.symbols} | {card.gain} | {card.verdict} |"
        for card in cards
    ]
    return "\n".join([HEAD, *rows])


def thresholds() -> str:
    """The thresholds as rows of the page."""
    return "\n".join(f"| `{field.name}` | {field.default} |" for field in fields(Thresholds))


@pytest.mark.long
def test_the_table_of_cards_is_what_the_code_above_it_gives() -> None:
    text = PAGE.read_text()
    first = EXAMPLE.search(text)
    assert first
    namespace: dict[str, Any] = {}
    exec(compile(first[1], PAGE.name, "exec"), namespace)
    assert table(namespace["cards"]) in text


def test_every_threshold_has_a_row_with_its_default() -> None:
    assert thresholds() in PAGE.read_text()
