"""Report cards on logs with known truth: every proxy gets the right verdict."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from presage.errors import InputError, ShapeError
from presage.metrics.intervals import Estimate
from presage.proxies.candidates import cut_points, horizons
from presage.proxies.card import Card, VerdictKind, rank
from presage.proxies.judge import Thresholds, judge_proxy, measure, with_verdict
from presage.proxies.signals import PredictionRows, ProxyCandidate
from tests.metrics.test_information import worlds
from tests.proxies.logs import OUTCOME_DELAY, candidates, launches


@pytest.mark.long
def test_each_proxy_gets_the_right_verdict_and_the_useful_one_is_first_over_20_seeds() -> None:
    firsts: Counter[str] = Counter()
    kinds: Counter[tuple[str, VerdictKind]] = Counter()
    for seed in range(20):
        log, z = launches(seed, tilt=seed % 2)
        cards = judge_proxy(log, list(candidates(log, z, seed).values()))
        firsts[cards[0].name] += 1
        kinds.update((card.name, card.kind) for card in cards)
    assert firsts["useful"] == 20
    assert kinds["useful", VerdictKind.USE] == 10  # instances tell nothing that the proxy does not
    assert kinds["useful", VerdictKind.RESIDUAL] == 10  # they tell as much again
    assert kinds["useless", VerdictKind.SILENT] == 20
    assert kinds["late", VerdictKind.LATE] == 20
    assert kinds["drifting", VerdictKind.DRIFTS] == 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["factored", "factored with bypass", "zipf", "zipf, sufficient"])
def test_cards_hold_the_truth_of_information_and_gap_in_90_of_100_worlds(name: str) -> None:
    """With the intervals of a card, which are based on blocks of time."""
    held = np.zeros(3, int)
    for known, (x, z, y) in worlds(name, 100):
        log = PredictionRows(x, np.arange(len(x)) / 40, y, np.full(len(x), 21.0), known.gx.shape[2])
        card = measure(log, ProxyCandidate("proxy", z, 1.0, known.h.shape[1]))
        truths = known.information, known.gap, known.total
        estimates = card.information, card.gap, card.total
        held += [e.low - 1e-9 <= t <= e.high + 1e-9 for e, t in zip(estimates, truths, strict=True)]
    assert held.min() >= 90, held


def test_verdicts_are_in_plain_words() -> None:
    log, z = launches(0)
    cards = {card.name: card for card in judge_proxy(log, list(candidates(log, z, 0).values()))}
    passes = f"captures {100 * cards['useful'].share.value:.0f} % of the differences between items"
    assert cards["useful"].verdict == f"Use it: it comes 20 days before the outcome and {passes}"
    assert cards["late"].verdict == "Not worth using: it comes only 2 hours before the outcome"
    assert cards["useless"].verdict == "Not worth using: carries no information about the outcome"
    assert cards["drifting"].verdict.startswith("Do not rely on it: what it means for the outcome changes")
    residual, z = launches(0, tilt=1.0)
    [card] = judge_proxy(residual, [ProxyCandidate("useful", z, 1.0, 3)])
    assert card.verdict.startswith("Use it, with a per-item correction: it captures ")


def test_numbers_of_a_card_agree_with_the_log() -> None:
    log, z = launches(1)
    card = measure(log, ProxyCandidate("useful", z, 1.0, 3))
    assert card.rows == len(log.x)
    assert card.symbols == 3
    assert card.lead.low <= OUTCOME_DELAY - 1 <= card.lead.high
    assert card.wait == pytest.approx(OUTCOME_DELAY, abs=0.1)
    assert card.information.value < card.entropy.value < np.log(2) + 1e-9
    assert 0 < card.gain.value < card.total.value
    assert card.stability_p > 0.01


def test_a_proxy_that_comes_after_the_outcome_is_late() -> None:
    log, _ = launches(2)
    [card] = judge_proxy(log, [ProxyCandidate("after", log.y, log.delay + 1, 2)])
    assert card.verdict == "Not worth using: it comes no sooner than the outcome"


def test_a_proxy_that_says_the_same_of_every_instance_is_no_gain() -> None:
    """The mood of a reader decides whether the book is opened and finished, whichever book it is."""
    draw = np.random.default_rng(2)
    mood = draw.random(3000)
    opened, finished = (mood + draw.normal(0, 0.2, (2, 3000)) > 0.5).astype(int)
    log = PredictionRows(draw.integers(0, 60, 3000), np.arange(3000) / 20, finished, np.full(3000, 21.0), outcomes=2)
    [card] = judge_proxy(log, [ProxyCandidate("opened", opened, 1.0, 2)])
    assert card.information.low > 0.1
    assert card.kind is VerdictKind.NO_GAIN
    most = 100 * card.gain.high / card.entropy.value
    assert 0 < most < 100 * Thresholds().worth
    words = f"on new items it lowers log loss by at most {most:.2f} % of the outcome's entropy"
    assert card.verdict == f"Not worth using: {words}"


def test_a_proxy_that_means_different_things_in_cohorts_needs_the_residual() -> None:
    draw = np.random.default_rng(3)
    x = draw.integers(0, 200, 8000)
    opened = (draw.random(8000) < draw.random(200)[x]).astype(int)
    odds = np.array([-2.0, 2.0])[opened] * np.array([1.0, 0.5])[x % 2]
    finished = (draw.random(8000) < 1 / (1 + np.exp(-odds))).astype(int)
    log = PredictionRows(x, np.arange(8000) / 40, finished, np.full(8000, 21.0), outcomes=2, cohort=x % 2)
    card = with_verdict(measure(log, ProxyCandidate("opened", opened, 1.0, 2)), Thresholds(passes=0.5, material=0.05))
    assert card.stability.over_cohorts < 0.01 < card.stability.over_time
    assert card.verdict.startswith("Use it, with a per-item correction: it means different things in different groups")


def test_unknown_symbols_are_left_out_and_few_rows_are_too_few_to_tell() -> None:
    log, z = launches(3)
    some = np.where(np.arange(len(z)) % 40 == 0, z, -1)
    [card] = judge_proxy(log, [ProxyCandidate("seldom", some, 1.0, 3)])
    assert card.rows == -(-len(z) // 40)
    assert card.kind is VerdictKind.UNKNOWN
    words = f"proxy and outcome are both known for only {card.rows} predictions"
    assert card.verdict == f"Too little data to tell: {words}; only 2 % of rows ever have it"
    with pytest.raises(InputError, match="hardly ever known together: found '0 rows'"):
        judge_proxy(log, [ProxyCandidate("never", np.full(len(z), -1), 1.0, 3)])
    with pytest.raises(ShapeError, match="no value for each prediction"):
        judge_proxy(log, [ProxyCandidate("short", z[:-1], 1.0, 3)])


def test_thresholds_move_verdicts() -> None:
    log, z = launches(4)
    card = measure(log, ProxyCandidate("useful", z, 1.0, 3))
    assert with_verdict(card).kind is VerdictKind.USE
    assert with_verdict(card, Thresholds(late=0.99)).kind is VerdictKind.LATE
    assert with_verdict(card, Thresholds(rows=10**6)).kind is VerdictKind.UNKNOWN
    assert with_verdict(card, Thresholds(worth=1.0)).kind is VerdictKind.SILENT


@pytest.mark.parametrize(("name", "kind"), [("information", VerdictKind.SILENT), ("gain", VerdictKind.NO_GAIN)])
def test_not_worth_using_is_said_only_where_the_interval_excludes_a_gain_worth_having(
    name: str, kind: VerdictKind
) -> None:
    log, z = launches(4)
    card = measure(log, ProxyCandidate("useful", z, 1.0, 3))
    worth = Thresholds().worth * card.entropy.value

    def judged(low: float, high: float) -> Card:
        moved = Estimate((low + high) / 2, low, high)
        return with_verdict(replace(card, information=moved) if name == "information" else replace(card, gain=moved))

    assert judged(1e-6, worth + 1e-6).kind is VerdictKind.USE
    assert judged(-1e-6, worth + 1e-6).kind is VerdictKind.UNKNOWN
    assert judged(-1e-6, worth + 1e-6).verdict.startswith("Too little data to tell: ")
    assert judged(-1e-6, worth - 1e-6).kind is kind
    assert judged(1e-6, worth - 1e-6).kind is kind  # certain, and too small to matter


def test_a_gain_that_may_be_large_or_nothing_is_not_called_no_help() -> None:
    log, z = launches(4)
    card = replace(measure(log, ProxyCandidate("useful", z, 1.0, 3)), gain=Estimate(0.0693, -0.0034, 0.142))
    words = "on new items it changes log loss by anything from -0.1420 to +0.0034 nats per prediction"
    assert with_verdict(card).verdict == f"Too little data to tell: {words}"


def test_cards_are_ranked_by_kind_then_gain_then_symbols() -> None:
    log, z = launches(5)
    useful = measure(log, ProxyCandidate("useful", z, 1.0, 3))
    worse = measure(log, ProxyCandidate("worse", np.where(np.arange(len(z)) % 3 == 0, 0, z), 1.0, 3))
    cards = [with_verdict(card) for card in (worse, useful)]
    assert [card.name for card in rank(cards)] == ["useful", "worse"]


def test_variants_are_judged_beside_the_proxy() -> None:
    log, z = launches(6)
    draw = np.random.default_rng(6)
    noise = ProxyCandidate("noisy", z * 2 + draw.integers(0, 2, len(z)), 1.0, 6)
    told: list[str] = []
    cards = judge_proxy(log, [noise, *cut_points(noise, pieces=[3])], progress=told.append)
    assert len(cards) == len(told) == 11
    best = {card.name: card for card in cards}["noisy cut at 2, 4"]  # what tells nothing is merged away
    assert best.information.value == max(card.information.value for card in cards if card.symbols == 3)
    assert cards[0].name in ("noisy cut at 2, 4", "noisy")


def test_horizons_trade_information_for_lead() -> None:
    """Events of an instance go on for a week: a longer horizon tells more and comes later."""
    draw = np.random.default_rng(7)
    rows = 3000
    x = draw.integers(0, 60, rows)
    rate = draw.gamma(1.0, 1.0, 60)[x] * draw.gamma(2.0, 0.5, rows)
    events = draw.poisson(rate)
    row = np.repeat(np.arange(rows), events)
    after = draw.uniform(0, 7, len(row))
    y = (draw.random(rows) < 1 - np.exp(-rate)).astype(int)
    log = PredictionRows(x, np.arange(rows) / 20, y, np.full(rows, 30.0), outcomes=2)
    cards = [measure(log, sign) for sign in horizons("clicks", row, after, rows, days=(1, 7))]
    day, week = cards
    assert week.information.value > day.information.value
    assert day.lead.value == 29
    assert week.lead.value == 23
