"""The learner refuses feedback it cannot join, and is left as it was."""

from typing import Any

import jax
import numpy as np
import pytest

from presage import Instance, Learner, direct_network, factored_table, residual_network
from presage.errors import FeatureError, RepeatedFeedbackError, SettingError, SymbolError, UnknownIdError
from presage.spaces import Array
from tests.problems import MIXED, PLAIN, QUICK


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
    with pytest.raises(RepeatedFeedbackError, match="known already"):
        learner.proxy(0, 1)
    learner.outcome(0, 1)
    learner.outcome(1, 0)
    before = frozen(learner)
    with pytest.raises(RepeatedFeedbackError, match="settled or closed"):
        learner.outcome(0, 1)
    with pytest.raises(RepeatedFeedbackError, match="known already"):
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


def test_an_unknown_engine_is_refused() -> None:
    engine: Any = "fortran"
    with pytest.raises(SettingError, match="numpy, xla"):
        Learner(factored_table(PLAIN), engine=engine)


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
