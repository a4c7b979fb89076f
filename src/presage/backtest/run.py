"""How the numbers of a report came about: settings, seed, version, and what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from presage.backtest.backtest import Seconds


class ProxyCard(NamedTuple):
    """The report card of a proxy: a verdict, and what it rests on as names and values in words."""

    name: str
    verdict: str
    facts: Sequence[tuple[str, str]]
    numbers: Mapping[str, Any]  # the same as JSON values


@dataclass(frozen=True)
class Run:
    """What a report says beside its results."""

    proxy: str
    settings: Mapping[str, Any]  # as JSON values
    seed: int
    version: str
    seconds: Seconds
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
