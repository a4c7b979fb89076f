"""The verdict says what the numbers say: when the proxy pays, when it does not, and when nobody can tell."""

import numpy as np
import pytest

from presage.backtesting.leak_check import LeakCheck
from presage.backtesting.over_time import DAY, OverTime, TimeBlocks
from presage.backtesting.scores import OverDirect, Score, ScoredLosses
from presage.backtesting.verdict import ProxyGain, verdict
from presage.metrics.intervals import Interval

HONEST = LeakCheck(100, 0)


def about(mean: float, half: float = 0.01) -> Interval:
    return Interval(mean, mean - half, mean + half)


def scores(**losses: float) -> dict[str, Score]:
    """Scores of these losses; the marginal loses 1."""
    named = {"marginal": 1.0} | {name.replace("_", "-"): loss for name, loss in losses.items()}
    return {
        name: Score(ScoredLosses(about(loss), about(loss), about(1 - loss)), 0.0, [1.0], [0.5], None, None)
        for name, loss in named.items()
    }


BLOCKS = TimeBlocks(np.arange(4) * DAY, np.arange(4), DAY)
LATER = OverTime(
    BLOCKS,
    np.array([1, 1, 1]),
    np.array([0, 0, 0]),
    {"residual-table": np.array([1.0, 1.0, 0.5]), "direct-table": np.array([1.0, 1.0, 1.0])},
    {},
)


def said(overall: Interval, new: Interval, mixture: float = 0.5) -> str:
    gain = ProxyGain("residual-table", OverDirect("direct-table", overall, new))
    found = scores(direct_table=0.6, residual_table=0.5, mixture=mixture)
    return " ".join(verdict(found, gain, LATER, HONEST, "mixture"))


def test_a_proxy_that_pays_is_said_to_with_how_much_and_since_when() -> None:
    words = said(about(0.1), about(0.2))
    assert (
        "The proxy pays: the log loss of residual-table is 0.1000 (0.0900 to 0.1100) below that of direct-table"
        in words
    )
    assert "it is 0.2000 (0.1900 to 0.2100) below" in words
    assert "ahead since 1970-01-03" in words


def test_a_proxy_that_does_not_pay_is_said_not_to() -> None:
    words = said(about(-0.1), about(-0.2))
    assert (
        "The proxy does not pay over all rows: the log loss of residual-table is 0.1000 (0.0900 to 0.1100) above"
        in words
    )
    assert "it is 0.2000 (0.1900 to 0.2100) above" in words
    assert "ahead since" not in words


def test_a_difference_within_its_interval_is_called_unclear() -> None:
    words = said(about(0.005), about(-0.005))
    assert "makes no clear difference" in words
    assert "nothing clear" in words
    assert "pays" not in words


def test_a_proxy_that_helps_with_new_instances_only_is_told_apart() -> None:
    words = said(about(0.001), about(0.2))
    assert "makes no clear difference" in words
    assert "it is 0.2000 (0.1900 to 0.2100) below" in words


def test_a_log_without_new_instances_is_told() -> None:
    assert "There are too few new instances" in said(about(0.1), Interval(np.nan, np.nan, np.nan))


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (0.45, "is safe here: its log loss is 0.0500 below that of residual-table"),
        (0.505, "is safe here: its log loss is only 0.0050 above that of residual-table"),
        (0.55, "is not the best choice here: its log loss is 0.0500 above that of residual-table"),
    ],
)
def test_the_default_is_called_safe_only_near_the_best_in_hindsight(loss: float, words: str) -> None:
    assert words in said(about(0.1), about(0.1), loss)


def test_where_nothing_beats_the_marginal_it_says_so() -> None:
    found = verdict(scores(direct_table=0.995), None, LATER, HONEST, "mixture")
    assert found[0].startswith("Nothing is clearly better than the running marginal")
    assert "cannot be told" in found[1]
    assert len(found) == 2


def test_numbers_that_leak_are_not_to_be_trusted() -> None:
    assert verdict(scores(), None, LATER, LeakCheck(100, 3), "mixture")[0].startswith("Do not trust these numbers: 3")


def test_what_waiting_costs_is_told_where_it_was_measured() -> None:
    found = {name: score.with_delay_cost(about(0.03)) for name, score in scores(mixture=0.5).items()}
    assert verdict(found, None, LATER, HONEST, "mixture")[-1].startswith("Waiting for feedback costs mixture 0.0300")


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (about(0.005), "without delays the log loss of mixture is 0.0050 (-0.0050 to 0.0150) below that with them."),
        (about(-0.0005), "without delays the log loss of mixture is 0.0005 (-0.0095 to 0.0105) above that with them."),
        (about(-0.03), "without delays the log loss of mixture is 0.0300 (0.0200 to 0.0400) above that with them."),
    ],
)
def test_a_cost_of_waiting_that_is_not_seen_is_not_told_as_one(cost: Interval, words: str) -> None:
    found = {name: score.with_delay_cost(cost) for name, score in scores(mixture=0.5).items()}
    assert verdict(found, None, LATER, HONEST, "mixture")[-1] == f"Waiting for feedback has no clear cost: {words}"
