"""The verdict says what the numbers say: use the early sign, do not, or too little data to tell."""

import numpy as np
import pytest

from presage.backtesting.leak_check import LeakCheck
from presage.backtesting.scores import OverDirect, Score, ScoredLosses, percent_of
from presage.backtesting.verdict import ProxyGain, Worth, verdict, worth
from presage.metrics.intervals import Interval
from presage.proxies.judge import WORTH_HAVING

HONEST = LeakCheck(100, 0)
NEVER = Interval(np.nan, np.nan, np.nan)


def about(mean: float, half: float = 0.01) -> Interval:
    return Interval(mean, mean - half, mean + half)


def scores(**losses: float) -> dict[str, Score]:
    """Scores of these losses; the marginal loses 1."""
    named = {"marginal": 1.0} | {name.replace("_", "-"): loss for name, loss in losses.items()}
    return {
        name: Score(ScoredLosses(about(loss), about(loss), about(1 - loss)), 0.0, [1.0], [0.5], None, None)
        for name, loss in named.items()
    }


def told(overall: Interval, new: Interval, mixture: float = 0.5) -> list[str]:
    """The verdict on gains in nats over a direct forecaster whose log loss is 1."""
    over = OverDirect("direct-table", overall, new)
    gain = ProxyGain("residual-table", over, over, percent_of(overall, 1.0), percent_of(new, 1.0), "2024-01-21")
    return verdict(scores(direct_table=0.6, residual_table=0.5, mixture=mixture), gain, HONEST, "mixture")


def said(overall: Interval, new: Interval, mixture: float = 0.5) -> str:
    return " ".join(told(overall, new, mixture))


def test_a_gain_is_told_in_percent_first_with_since_when_and_what_to_do_next() -> None:
    found = told(about(0.021, 0.007), about(0.2))
    assert found[0] == (
        "Using the early sign lowers log loss by 2.1 % (1.4 to 2.8). It has been ahead since 2024-01-21, summed from "
        "the first known outcome on."
    )
    assert found[1] == "On new items (a known proxy, no outcome yet) it lowers log loss by 20.0 % (19.0 to 21.0)."
    assert found[2] == "Next: use mixture; presage serve runs it."
    assert found[3] == (
        "In nats per prediction: the log loss of residual-table is 0.0210 (0.0140 to 0.0280) below that of "
        "direct-table, the best that learns only from outcomes; on new items 0.2000 (0.1900 to 0.2100) below."
    )


def test_an_early_sign_that_makes_it_worse_is_not_worth_using() -> None:
    words = said(about(-0.1), about(-0.2))
    assert words.startswith("Not worth using: the early sign raises log loss by 10.0 % (9.0 to 11.0).")
    assert "it is not worth using: the early sign raises log loss by 20.0 % (19.0 to 21.0)" in words
    assert "ahead since" not in words
    assert "Next: look for another early sign" in words
    assert "judges every candidate of a task). Until then, use mixture." in words


def test_an_interval_that_holds_a_gain_worth_having_is_too_little_data_rather_than_no_help() -> None:
    words = said(Interval(0.0693, -0.0034, 0.142), Interval(0.0693, -0.0034, 0.142))
    assert words.startswith("Too little data to tell whether the early sign is worth using: it changes log loss by")
    assert "by anything from -14.2 % to +0.3 %." in words
    assert "there is too little data to tell: it changes log loss by anything from -14.2 % to +0.3 %." in words
    assert "Not worth" not in words
    assert "Next: try a longer log" in words


def test_a_gain_that_is_certain_and_too_small_is_not_worth_using() -> None:
    words = said(about(0.002, 0.001), about(0.001, 0.002))
    assert words.startswith("Not worth using: the early sign lowers log loss by only 0.2 % (0.1 to 0.3).")
    assert "ahead since" not in words


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-1, 99, Worth.NONE),
        (1, 99, Worth.NONE),
        (-1, 101, Worth.UNCLEAR),
        (0, 101, Worth.UNCLEAR),
        (1, 101, Worth.UNCLEAR),
        (1, 198, Worth.UNCLEAR),
        (1, 202, Worth.GAIN),
        (-1, 301, Worth.UNCLEAR),
    ],
)
def test_what_a_gain_is_worth_depends_on_0_and_on_the_least_gain_worth_having(
    low: float, high: float, expected: Worth
) -> None:
    """Both ends in hundredths of that least gain."""
    assert worth(Interval((low + high) / 2 * WORTH_HAVING, low * WORTH_HAVING, high * WORTH_HAVING)) is expected


def test_a_gain_that_is_certain_and_may_be_too_small_is_too_little_to_tell() -> None:
    words = said(about(0.004, 0.002), about(0.004, 0.002))
    assert words.startswith(
        "Too little data to tell whether the early sign is worth using: it lowers log loss by 0.4 % (0.2 to 0.6), "
        "which may be too little to matter."
    )
    assert "ahead since" not in words


def against_shuffled(shuffled: Interval, new: Interval = NEVER) -> ProxyGain:
    """A gain of 1 % over the direct forecaster, and one over itself with shuffled signs, in percent."""
    over = OverDirect("direct-table", about(0.01, 0.005), NEVER)
    percent = percent_of(over.overall, 1.0)
    return ProxyGain("residual-table", over, over, percent, NEVER, "2024-01-21", shuffled, new)


@pytest.mark.parametrize(
    ("shuffled", "first"),
    [
        (Interval(0.1, -0.1, 0.3), "Not worth using: the early sign lowers log loss by at most 0.3 %."),
        (Interval(0.3, 0.2, 0.4), "Not worth using: the early sign lowers log loss by only 0.3 % (0.2 to 0.4)."),
        (Interval(0.6, -0.1, 1.3), "Too little data to tell whether the early sign is worth using: it changes log"),
        (Interval(0.4, -0.1, 0.9), "Too little data to tell whether the early sign is worth using: it changes log"),
        (
            Interval(0.7, 0.2, 1.2),
            "Using the early sign lowers log loss by 0.7 % (0.2 to 1.2). It has been ahead since",
        ),
        (Interval(9.0, 8.0, 10.0), "Using the early sign lowers log loss by 1.0 % (0.5 to 1.5). It has been ahead"),
        (NEVER, "Using the early sign lowers log loss by 1.0 % (0.5 to 1.5). It has been ahead since"),
    ],
)
def test_the_verdict_is_about_the_harder_of_both_opponents(shuffled: Interval, first: str) -> None:
    gain = against_shuffled(shuffled)
    found = verdict(scores(direct_table=0.6, residual_table=0.5), gain, HONEST, "mixture")
    assert found[0].startswith(first)
    assert gain.helps == first.startswith("Using")
    assert gain.useless == first.startswith("Not worth")
    pooling = "residual-table is ahead of direct-table by 1.0 % (0.5 to 1.5), but"
    assert any(sentence.startswith(pooling) for sentence in found) == (shuffled.mean < 0.5)  # less than half of 1 %


def test_a_note_on_the_proxy_comes_before_what_to_do_next() -> None:
    gain = against_shuffled(NEVER)
    found = verdict(scores(direct_table=0.6, residual_table=0.5), gain, HONEST, "mixture", note="Only 3 % have it.")
    assert found.index("Only 3 % have it.") < next(n for n, each in enumerate(found) if each.startswith("Next: "))


def test_an_early_sign_that_helps_on_new_items_only_is_used() -> None:
    words = said(about(0.001), about(0.2))
    assert words.startswith("Too little data to tell")
    assert "On new items (a known proxy, no outcome yet) it lowers log loss by 20.0 %" in words
    assert "Next: use mixture" in words


def test_too_few_new_items_do_not_ask_for_a_longer_log_where_the_whole_is_clear() -> None:
    words = said(about(0.001, 0.001), about(0.001, 0.03))
    assert words.startswith("Not worth using")
    assert "Next: look for another early sign" in words


def test_a_log_without_new_items_is_told() -> None:
    assert "There are too few predictions on new items" in said(about(0.1), NEVER)


def test_a_log_that_ends_before_any_outcome_is_learnt_tells_nothing() -> None:
    words = said(NEVER, NEVER)
    assert words.startswith(
        "Too little data to tell whether the early sign is worth using: no outcome was known before"
    )
    assert "nan" not in words


def test_warnings_come_before_what_to_do_next() -> None:
    over = OverDirect("direct-table", about(0.1), about(0.1))
    gain = ProxyGain("residual-table", over, over, percent_of(about(0.1), 1.0), percent_of(about(0.1), 1.0))
    found = verdict(scores(direct_table=0.6, residual_table=0.5, mixture=0.5), gain, HONEST, "mixture", warned=True)
    steps = [sentence for sentence in found if sentence.startswith("Next: ")]
    assert [step.split(":")[1][:15] for step in steps] == [" look into the ", " use mixture; p"]


def test_a_default_that_is_far_behind_is_not_what_to_use_next() -> None:
    assert "Next: use residual-table; presage serve runs it." in said(about(0.1), about(0.1), mixture=0.7)


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
    found = verdict(scores(direct_table=0.995), None, HONEST, "mixture")
    assert "cannot be told" in found[0]
    assert found[1].startswith("Nothing is clearly better than the running marginal")
    assert len(found) == 2


def test_numbers_that_leak_are_not_to_be_trusted() -> None:
    assert verdict(scores(), None, LeakCheck(100, 3), "mixture")[0].startswith("Do not trust these numbers: 3")


def test_what_waiting_costs_is_told_where_it_was_measured() -> None:
    found = {name: score.with_delay_cost(about(0.03)) for name, score in scores(mixture=0.5).items()}
    assert verdict(found, None, HONEST, "mixture")[-1].startswith("Waiting for feedback costs mixture 0.0300")


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
    assert verdict(found, None, HONEST, "mixture")[-1] == f"Waiting for feedback has no clear cost: {words}"
