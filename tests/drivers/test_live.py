"""The learner refuses feedback it cannot join, and is left as it was."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from presage import Instance, Learner, direct_network, factored_table, load_state, residual_network, save_state
from presage.errors import FeatureError, RepeatedFeedbackError, SettingError, SymbolError, UnknownIdError
from presage.spaces import Array
from tests.problems import FORECASTERS, MIXED, PLAIN, QUICK, episode


def frozen(learner: Learner) -> tuple[list[Array], int, int]:
    return [leaf.copy() for leaf in jax.tree.leaves(learner.state)], learner.predictions, learner.open


def unchanged(learner: Learner, before: tuple[list[Array], int, int]) -> bool:
    leaves, *counters = frozen(learner)
    return counters == list(before[1:]) and all(np.array_equal(a, b) for a, b in zip(leaves, before[0], strict=True))


@pytest.fixture
def learner() -> Learner:
    learner = Learner(factored_table(PLAIN))
    for item in (0, 3, 6):
        learner.predict(item)
    learner.proxy(0, 1)
    return learner


def test_an_id_never_predicted_is_an_error(learner: Learner) -> None:
    before = frozen(learner)
    strangers: list[Any] = [3, -1, "0"]
    for unknown in strangers:
        for send in (learner.proxy, learner.outcome):
            with pytest.raises(UnknownIdError, match="nothing was predicted"):
                send(unknown, 0)
    assert unchanged(learner, before)


def test_repeated_feedback_is_an_error(learner: Learner) -> None:
    with pytest.raises(RepeatedFeedbackError, match="already has its proxy"):
        learner.proxy(0, 1)
    learner.outcome(0, 1)
    learner.outcome(1, 0)
    before = frozen(learner)
    with pytest.raises(RepeatedFeedbackError, match="settled or closed"):
        learner.outcome(0, 1)
    with pytest.raises(RepeatedFeedbackError, match="already has its outcome"):
        learner.outcome(1, 0)
    assert unchanged(learner, before)


def test_wrong_symbols_and_features_change_nothing(learner: Learner) -> None:
    before = frozen(learner)
    for send, symbol in ((learner.proxy, 3), (learner.outcome, 2), (learner.proxy, -1)):
        with pytest.raises(SymbolError):
            send(1, symbol)
    with pytest.raises(SymbolError):
        learner.predict(7)
    assert unchanged(learner, before)
    mixed = Learner(direct_network(MIXED, replay=QUICK))
    before = frozen(mixed)
    with pytest.raises(FeatureError):
        mixed.predict(Instance(np.zeros(6, np.int32), np.array([0, np.nan, 0], np.float32)))
    assert unchanged(mixed, before)


def test_a_now_cast_uses_the_proxy_once_it_is_known() -> None:
    learner = Learner(factored_table(PLAIN))
    for _ in range(30):
        row = learner.predict(2).id
        learner.proxy(row, row % 3)
        learner.outcome(row, int(row % 3 == 0))
    row = learner.predict(2).id
    blind = np.exp(learner.nowcast(row))
    learner.proxy(row, 0)
    assert np.exp(learner.nowcast(row))[1] > 0.8 > blind[1]


def test_closing_gives_up_on_missing_feedback(learner: Learner) -> None:
    assert learner.open == 3
    learner.close(2)
    assert learner.open == 2
    with pytest.raises(RepeatedFeedbackError):
        learner.outcome(2, 1)
    with pytest.raises(UnknownIdError):
        learner.close(99)


def test_a_key_that_is_none_is_refused() -> None:
    for wrong in (-1, 0.5, "0"):
        with pytest.raises(SettingError, match="a seed or a JAX key"):
            Learner(factored_table(PLAIN), wrong)


def test_a_table_learns_without_jax() -> None:
    script = """
import sys
from presage import Learner, Spaces, mixture
learner = Learner(mixture(Spaces(instances=3, proxies=2, outcomes=2)))
row = learner.predict(1).id
learner.proxy(row, 0)
learner.nowcast(row)
learner.outcome(row, 1)
assert learner.predict(1).log_probabilities[1] > learner.predict(1).log_probabilities[0]
assert learner.state.experts[0].outcomes[0].sum() == 1
print("jax" in sys.modules)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout
    assert said == "False\n"


@pytest.mark.parametrize("name", ["residual-table-shrunk", "residual-network", "mixture", "mixture-networks"])
def test_a_state_is_saved_and_loaded_and_predicts_the_same(name: str, tmp_path: Path) -> None:
    learner = Learner(FORECASTERS[name](MIXED))
    x, _, _ = episode("varying", MIXED, rounds=60).encode(MIXED)
    rows = [Instance(x.symbols[row], x.dense[row]) for row in range(60)]
    for number, each in enumerate(rows):
        row = learner.predict(each).id
        learner.proxy(row, number % 3)
        learner.outcome(row, number % 4)
    learner.rehearse()  # what is due before the next prediction
    state = load_state(save_state(tmp_path, learner.forecaster, learner.state), learner.forecaster)
    said = learner.forecaster.predict(state, rows[7]).log_probabilities
    assert np.abs(said - learner.nowcast(learner.predict(rows[7]).id)).max() < 1e-6


def test_what_was_given_out_does_not_change_later() -> None:
    learner = Learner(residual_network(PLAIN, replay=QUICK))
    counting = Learner(factored_table(PLAIN))
    for each in (learner, counting):
        state = each.state
        copies = [leaf.copy() for leaf in jax.tree.leaves(state)]
        for _ in range(40):
            row = each.predict(1).id
            each.proxy(row, 0)
            each.outcome(row, 1)
        assert all(np.array_equal(a, b) for a, b in zip(copies, jax.tree.leaves(state), strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(copies, jax.tree.leaves(each.state), strict=True))
