"""The battery passes every forecaster, and catches every broken one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from presage import Forecaster, Spaces, check_forecaster, direct_table, factored_table, mixture
from presage.errors import CheckError
from presage.forecasters import checks
from presage.forecasters.checks import CHECKS
from presage.forecasters.contract import Forecast
from tests.problems import FORECASTERS, MIXED, PLAIN


@pytest.mark.long
@pytest.mark.parametrize("spaces", [Spaces(5, 3, 4), Spaces(1, 1, 2)], ids=["small", "smallest"])
@pytest.mark.parametrize("name", FORECASTERS)
def test_every_forecaster_passes(name: str, spaces: Spaces) -> None:
    assert check_forecaster(FORECASTERS[name], spaces) == list(CHECKS)


def test_without_spaces_a_small_and_the_smallest_problem_are_tried() -> None:
    tried = []

    def noted(spaces: Spaces) -> Forecaster:
        tried.append(spaces)
        return direct_table(spaces)

    assert check_forecaster(noted) == list(CHECKS)
    assert set(tried) == {Spaces(5, 3, 4), Spaces(1, 1, 2)}


@pytest.mark.long
@pytest.mark.parametrize("name", ["residual-table-shrunk", "residual-network", "mixture-networks"])
def test_every_kind_of_forecaster_passes_with_mixed_features(name: str) -> None:
    check_forecaster(FORECASTERS[name], MIXED)


def not_a_distribution(good: Forecaster) -> Forecaster:
    return replace(good, predict=lambda state, x: Forecast(good.predict(state, x).log_probabilities - 0.1, ()))


def predicting_learns(good: Forecaster) -> Forecaster:
    def predict(state: Any, x: Any) -> Forecast:
        if isinstance(state.outcomes[0], np.ndarray):
            state.outcomes[0][0] += 1
        return good.predict(state, x)

    return replace(good, predict=predict)


def weights_ignored(good: Forecaster) -> Forecaster:
    def learn(state: Any, proxies: Any, outcomes: Any) -> Any:
        return good.learn(state, proxies, outcomes._replace(weight=jnp.ones_like(outcomes.weight)))

    return replace(good, learn=learn)


def never_learns(good: Forecaster) -> Forecaster:
    return replace(good, learn=lambda state, proxies, outcomes: state)


def counts_a_batch_once(good: Forecaster) -> Forecaster:
    def learn(state: Any, proxies: Any, outcomes: Any) -> Any:
        first = jax.tree.map(lambda part: part[:1], outcomes)
        return good.learn(state, proxies, first)

    return replace(good, learn=learn)


def looks_at_the_compiler(good: Forecaster) -> Forecaster:
    def learn(state: Any, proxies: Any, outcomes: Any) -> Any:
        traced = isinstance(outcomes.weight, jax.core.Tracer)
        return good.learn(state, proxies, outcomes._replace(weight=outcomes.weight * (1 if traced else 2)))

    return replace(good, learn=learn)


def knows_only_jax(good: Forecaster) -> Forecaster:
    def predict(state: Any, x: Any) -> Forecast:
        learnt = isinstance(state.outcomes[0], jax.Array)
        return good.predict(state if learnt else good.init(jax.random.key(0)), x)

    return replace(good, predict=predict)


def learns_between_rehearsals(good: Forecaster) -> Forecaster:
    return replace(good, only_rehearses=True)


BREAKAGES: dict[str, Callable[[Forecaster], Forecaster]] = {
    "probabilities sum to one and never reach zero": not_a_distribution,
    "predicting leaves the state alone": predicting_learns,
    "rows of weight 0 change nothing": weights_ignored,
    "rows with weight change something": never_learns,
    "rows learnt together are as rows learnt one after the other": counts_a_batch_once,
    "compiled functions give what plain ones give": looks_at_the_compiler,
    "a NumPy state predicts as a JAX one": knows_only_jax,
    "what only rehearses is not moved by learning": learns_between_rehearsals,
}


@pytest.mark.parametrize("promise", BREAKAGES)
def test_a_broken_promise_is_caught(promise: str) -> None:
    with pytest.raises(CheckError, match=promise):
        check_forecaster(lambda spaces: BREAKAGES[promise](direct_table(spaces)), PLAIN)


def test_a_forecaster_with_hidden_randomness_is_caught() -> None:
    draw = np.random.default_rng(0)

    def factory(spaces: Spaces) -> Forecaster:
        return direct_table(spaces, alpha=float(draw.random()) + 0.1)

    with pytest.raises(CheckError, match="same settings and key"):
        check_forecaster(factory, PLAIN)


def test_vectorised_predictions_are_compared_with_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = checks.Scene(factored_table, PLAIN)
    assert CHECKS["predictions side by side are as predictions in a loop"](scene)
    monkeypatch.setattr(scene, "z", np.roll(scene.z, 1))  # the loop now sees other proxies than were learnt
    monkeypatch.setattr(scene, "predictions", lambda state: checks.Scene.predictions(scene, state)[::-1])
    assert not CHECKS["predictions side by side are as predictions in a loop"](scene)


def test_saving_is_compared_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = checks.Scene(mixture, PLAIN)
    monkeypatch.setattr(checks, "unpack_state", lambda forecaster, snapshot: scene.empty)
    assert not CHECKS["a state saved and loaded is the same to the bit"](scene)
    assert not CHECKS["a damaged state file is refused"](scene)
