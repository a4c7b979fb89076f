"""A proxy with a feature of its own is judged as both, and the card says what the feature adds."""

from dataclasses import replace

import numpy as np
import pytest

from presage.errors import ShapeError, SymbolError
from presage.metrics.proxy_information import information
from presage.proxies.candidates import cut_points
from presage.proxies.card import card_columns
from presage.proxies.gain import expected_addition, expected_gain
from presage.proxies.judge import judge_proxy, measure
from presage.proxies.report import judge_proxies
from presage.proxies.signals import PredictionRows, ProxyCandidate, ProxyFeatures
from presage.simulation.simulate import simulate
from presage.task.task import load_task
from presage.worlds.shop import ShopSettings
from tests.proxies.logs import launches

TURN = np.array([1, 0])


def log_of(turns: bool, seed: int = 0, kinds: int = 2) -> tuple[PredictionRows, ProxyCandidate]:
    """A log whose proxy means the opposite for items of every other kind, or the same for all."""
    log, z = launches(seed)
    kind = log.x % kinds
    y = np.where((kind % 2 == 1) & turns, TURN[np.maximum(log.y, 0)], log.y)
    own = ProxyFeatures(("kind",), kind, kinds)
    return replace(log, y=y, cohort=None), ProxyCandidate("read", z, 1.0, 3, own)


def test_what_the_pair_tells_is_what_one_symbol_of_both_tells() -> None:
    log, sign = log_of(turns=True)
    assert sign.features is not None
    card, plain = measure(log, sign), measure(log, replace(sign, features=None))
    joined = sign.z * 2 + sign.features.values
    told = information(log.x, joined, log.y, 6, 2)
    assert card.information.value == pytest.approx(told.information.value)
    assert card.gap.value == pytest.approx(told.gap.value)
    assert (card.symbols, plain.symbols) == (6, 3)
    assert (card.label, plain.label) == ("read with kind", "read")
    assert card.information.low > 5 * plain.information.high
    assert card.gap.high < plain.gap.low


def test_a_feature_that_turns_the_meaning_pays_and_an_idle_one_does_not() -> None:
    log, sign = log_of(turns=True)
    (card,) = judge_proxy(log, [sign])
    assert card.added is not None
    assert card.added.low > 0.01
    assert card.verdict.startswith("Use it")
    assert "; told with kind, which lowers log loss by 0.0" in card.verdict
    (without,) = judge_proxy(log, [replace(sign, features=None)])
    assert without.added is None
    assert "told with" not in without.verdict
    log, sign = log_of(turns=False, kinds=5)
    (card,) = judge_proxy(log, [sign])
    assert card.added is not None
    assert card.added.high < 0.003
    assert card.verdict.endswith("; told with kind, which does not pay: leave it out of `with`")


def test_a_feature_that_says_all_by_itself_is_no_gain_of_the_proxy() -> None:
    """Outcomes go with the kind, and proxies with nothing: both sides pool over the kind."""
    log, sign = log_of(turns=True)
    draw = np.random.default_rng(5)
    y = np.where(draw.random(len(log.x)) < 0.1, 1 - log.x % 2, log.x % 2)
    noise = replace(sign, z=draw.integers(0, 3, len(log.x)).astype(np.int32))
    gain = expected_gain(replace(log, y=y), noise).launched
    assert gain.high < 0.01
    assert measure(replace(log, y=y), noise).information.low > 0.1


def test_cuts_keep_the_feature_and_plain_proxies_add_nothing() -> None:
    log, sign = log_of(turns=True)
    for cut in cut_points(sign):
        assert cut.features is sign.features
        assert cut.told.symbols == 2 * cut.symbols
    assert expected_addition(log, replace(sign, features=None)) is None
    assert sign.told.z.max() == 5
    assert replace(sign, z=np.full(len(log.x), -1)).told.z.max() == -1


def test_features_need_a_value_for_each_row() -> None:
    for values, error in ((np.array([0, 1]), ShapeError), (np.array([0, 2, 1]), SymbolError)):
        with pytest.raises(error):
            ProxyCandidate("read", np.zeros(3, int), 1.0, 2, ProxyFeatures(("kind",), values, 2))


@pytest.mark.long
def test_the_report_names_the_feature(tmp_path: object) -> None:
    written = simulate(ShopSettings(days=120, outcome_days=20), f"{tmp_path}/shop.parquet", rows=4000)
    text = load_task(written.task).text
    assert "[proxy]" in text
    report = judge_proxies(written.log, text.replace("[proxy]", '[proxy]\nwith = ["genre"]'))
    (card,) = report.cards
    assert card.symbols == 3 * 6
    assert report.verdict[-1].startswith("proxy with genre: ")
    (found,) = report.as_json()["proxies"]
    assert found["with"] == ["genre"]
    assert found["added"]["high"] >= found["added"]["low"]
    assert "added_low" in card_columns(report.cards)
    assert "added" not in card_columns(judge_proxies(written.log, text).cards)
    (plain,) = judge_proxies(written.log, text).as_json()["proxies"]
    assert set(found) - set(plain) == {"with", "added"}
