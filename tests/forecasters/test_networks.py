"""Networks against hand computation, and the promises of the residual tower."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from presage import (
    Delays,
    Episode,
    Features,
    Instance,
    Replay,
    SetOf,
    Spaces,
    direct_network,
    factored_network,
    play,
    residual_network,
)
from presage.errors import SettingError
from presage.forecasters.contract import Rows
from presage.forecasters.residual_network import residual_inputs, residual_loss
from presage.forecasters.towers import FAR, STEEP, Layer, Tower, TowerPlan, Training, bounded_slopes, cross_entropy
from presage.spaces import Array
from tests.problems import PLAIN, QUICK, episode

DENSE = Spaces(Features(dense=5), proxies=3, outcomes=2)


def rows(spaces: Spaces, count: int = 16, seed: int = 0) -> Rows:
    draw = np.random.default_rng(seed)
    features = spaces.features
    symbols = draw.integers(features.least, features.most + 1, (count, features.slots)).astype(np.int32)
    x = Instance(jnp.asarray(symbols), jnp.asarray(draw.normal(size=(count, features.dense)), jnp.float32))
    z, y = (jnp.asarray(draw.integers(0, size, count), jnp.int32) for size in (spaces.proxies, spaces.outcomes))
    return Rows(x, z, y, (), jnp.ones(count, jnp.int32))


def test_the_residual_loss_gives_no_gradient_to_the_first_tower() -> None:
    batch = rows(DENSE)
    plan = TowerPlan(Training(output_start="random"), DENSE.features, 2, extra=5)
    tower = plan.init(jax.random.key(0))
    table = jax.random.normal(jax.random.key(1), (3, 2))

    def objective(table: Array) -> Array:
        delta = plan.logits(tower, batch.x, residual_inputs(table[batch.z], batch.z, len(table)))
        return residual_loss(delta, logits=table[batch.z], clip=10.0, y=batch.y, weight=batch.weight)

    loss, gradient = jax.value_and_grad(objective)(table)
    assert loss > 0
    assert (gradient == 0).all()
    assert objective(table + 1.0 * jnp.eye(3, 2)) != loss  # the loss does depend on it


def test_training_the_residual_tower_leaves_the_factors_as_they_are_without_it() -> None:
    residual, factored = (make(DENSE, replay=QUICK) for make in (residual_network, factored_network))
    state = residual.init(jax.random.key(0))
    factors = state.factors
    train, train_factors = jax.jit(residual.rehearse), jax.jit(factored.rehearse)
    for seed in range(5):
        proxies, outcomes = rows(DENSE, seed=seed), rows(DENSE, seed=100 + seed)
        state = train(state, proxies, outcomes)
        factors = train_factors(factors, proxies, outcomes)
    assert all(jax.tree.leaves(jax.tree.map(jnp.array_equal, state.factors, factors)))
    assert np.abs(state.residual.layers[-1].weights).max() > 0


def test_with_the_residual_at_zero_the_residual_network_is_the_factored_one() -> None:
    residual, factored = residual_network(DENSE), factored_network(DENSE)
    state = residual.init(jax.random.key(3))
    x = Instance(np.zeros(0, np.int32), np.ones(5, np.float32))
    z = jnp.int32(1)
    same = partial(np.testing.assert_allclose, rtol=0, atol=1e-6)
    same(residual.predict(state, x).log_probabilities, factored.predict(state.factors, x).log_probabilities)
    same(residual.nowcast(state, x, z), factored.nowcast(state.factors, x, z))


def test_one_step_is_the_step_worked_out_by_hand() -> None:
    """Backpropagation through a tower of two hidden layers, in plain NumPy and float64."""
    how = Training(hidden=(4, 3), learning_rate=0.1, l2=0.01, output_start="random")
    plan = TowerPlan(how, DENSE.features, 2)
    tower, batch = plan.init(jax.random.key(0)), rows(DENSE)
    weight = jnp.asarray([1, 0] * 8, jnp.int32)
    loss = partial(cross_entropy, symbols=batch.y, weight=weight)
    stepped = plan.descend(tower, batch.x, None, loss, weight)

    inputs = [np.asarray(batch.x.dense, float)]
    for layer in tower.layers[:-1]:
        inputs.append(np.maximum(inputs[-1] @ layer.weights + layer.biases, 0))
    logits = inputs[-1] @ tower.layers[-1].weights + tower.layers[-1].biases
    odds = np.exp(logits - logits.max(1, keepdims=True))
    slope = (odds / odds.sum(1, keepdims=True) - np.eye(2)[batch.y]) * np.asarray(weight)[:, None] / 8
    for layer, new, value in zip(reversed(tower.layers), reversed(stepped.layers), reversed(inputs), strict=True):
        expected = np.asarray(layer.weights) - 0.1 * (value.T @ slope + 0.01 * np.asarray(layer.weights))
        np.testing.assert_allclose(new.weights, expected, atol=1e-6)
        np.testing.assert_allclose(new.biases, np.asarray(layer.biases) - 0.1 * slope.sum(0), atol=1e-6)
        slope = (slope @ np.asarray(layer.weights).T) * (value > 0)


@pytest.mark.parametrize("l2", [0.01, 4.0])
def test_symbol_rows_are_a_dense_first_layer_over_one_hot_codes(l2: float) -> None:
    """The sparse road against the dense one; at l2=4 the scale is folded back into the rows again and again."""
    how = Training(hidden=(6, 4), learning_rate=0.2, l2=l2, output_start="random")
    sparse = TowerPlan(how, Features(symbols=(5,), sets=(SetOf(4, 2),), dense=2), 3)
    dense = TowerPlan(how, Features(dense=11), 3)
    tower = sparse.init(jax.random.key(0))
    first = Layer(jnp.concatenate([tower.rows, tower.layers[0].weights]), tower.layers[0].biases)
    twin = Tower(jnp.zeros((0, 6)), jnp.ones(()), (first, *tower.layers[1:]))
    step, twin_step = (jax.jit(partial(_step, plan)) for plan in (sparse, dense))
    for seed in range(60):
        batch = rows(Spaces(sparse.features, 3, 3), seed=seed)
        symbols = np.asarray(batch.x.symbols)
        one_hot = np.zeros((16, 9), np.float32)
        np.add.at(one_hot, (np.arange(16), symbols[:, 0]), 1)
        for slot in (1, 2):
            filled = symbols[:, slot] >= 0
            np.add.at(one_hot, (np.flatnonzero(filled), 5 + symbols[filled, slot]), 1)
        flat = Instance(jnp.zeros((16, 0), jnp.int32), jnp.concatenate([one_hot, batch.x.dense], axis=1))
        tower, twin = step(tower, batch), twin_step(twin, batch._replace(x=flat))
    both = jnp.concatenate([tower.scale * tower.rows, tower.layers[0].weights])
    np.testing.assert_allclose(both, twin.layers[0].weights, rtol=1e-4, atol=1e-6)
    assert 1e-7 < tower.scale <= 1


def _step(plan: TowerPlan, tower: Tower, batch: Rows) -> Tower:
    loss = partial(cross_entropy, symbols=batch.y, weight=batch.weight)
    return plan.descend(tower, batch.x, None, loss, batch.weight)


def test_no_prediction_falls_below_the_floor() -> None:
    spaces = Spaces(1, 1, 2)
    dealt = Episode.fixed(np.zeros(400, int), np.zeros(400, int), np.zeros(400, int), Delays(0, 0))
    often = Replay(start=1, every=1, batch=8)
    for make in (direct_network, factored_network, residual_network):
        losses = play(make(spaces, floor=0.2, l2=0.0, learning_rate=1.0, hidden=(4,), replay=often), dealt, 0)
        assert losses[-1] == pytest.approx(-np.log(0.8 + 0.1), abs=0.01)


def test_no_now_cast_falls_below_the_floor() -> None:
    """Neither one by g alone nor a corrected one, however sure the logits are."""
    x = Instance(jnp.zeros(0, jnp.int32), jnp.ones(5))
    sure = jnp.array([[40.0, -40.0]] * 3)
    factored, residual = (make(DENSE, floor=0.2) for make in (factored_network, residual_network))
    by_g = factored.init(jax.random.key(0))._replace(outcomes=sure)
    corrected = residual.init(jax.random.key(0))
    corrected = corrected._replace(factors=corrected.factors._replace(outcomes=sure))
    for told in (factored.nowcast(by_g, x, jnp.int32(1)), residual.nowcast(corrected, x, jnp.int32(1))):
        np.testing.assert_allclose(np.exp(told), [0.9, 0.1], atol=1e-6)


def test_corrections_are_clipped() -> None:
    forecaster = residual_network(DENSE, clip=0.5)
    state = forecaster.init(jax.random.key(0))
    pushed = state.residual.layers[-1]._replace(biases=jnp.array([100.0, -100.0]))
    state = state._replace(residual=state.residual._replace(layers=(*state.residual.layers[:-1], pushed)))
    x = Instance(jnp.zeros(0, jnp.int32), jnp.ones(5))
    plain = factored_network(DENSE).nowcast(state.factors, x, 0)
    moved = forecaster.nowcast(state, x, 0)
    assert (moved[0] - moved[1]) - (plain[0] - plain[1]) == pytest.approx(1.0, abs=0.01)


def test_networks_learn_what_there_is_to_learn() -> None:
    draw = np.random.default_rng(0)
    x = draw.integers(0, 7, 2400)
    z, y = x % 3, (x % 3 == 1).astype(int)
    dealt = Episode.fixed(x, z, y, Delays(5, 50))
    settings: dict[str, Any] = {"hidden": (16, 8), "l2": 1e-4, "learning_rate": 0.5, "replay": Replay(start=50)}
    for make in (direct_network, factored_network, residual_network):
        assert play(make(PLAIN, **settings), dealt, 0)[-300:].mean() < 0.2


def test_training_waits_for_the_warm_up_of_each_window() -> None:
    late = Replay(proxy_window=60, outcome_window=40, start=40, every=4, batch=16)
    dealt = episode("fixed")  # proxies after 3 rounds, outcomes after 40
    losses = play(direct_network(PLAIN, replay=late), dealt, 0)
    idle = play(direct_network(PLAIN, replay=late), Episode.fixed(dealt.x, dealt.z, dealt.y, Delays(200, 200)), 0)
    moved = np.flatnonzero(losses != idle)
    assert moved[0] == 80  # 40 outcomes are known before round 80, which is a multiple of 4


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("hidden", ()),
        ("hidden", (0,)),
        ("learning_rate", 0.0),
        ("l2", -1.0),
        ("l2", 10.0),
        ("floor", 1.0),
        ("initial", 0),
    ],
)
def test_a_setting_outside_its_range_is_refused(setting: str, value: Any) -> None:
    with pytest.raises(SettingError):
        direct_network(PLAIN, **{setting: value})


def test_rates_and_clips_must_be_positive() -> None:
    with pytest.raises(SettingError, match="proxy_rate"):
        residual_network(PLAIN, proxy_rate=0.0)
    with pytest.raises(SettingError, match="clip"):
        residual_network(PLAIN, clip=0.0)
    with pytest.raises(SettingError, match="proxy_rate"):
        factored_network(PLAIN, proxy_rate=-1.0)


def test_hashed_symbols_keep_to_their_buckets() -> None:
    spaces = Spaces(10**9, 2, 2)
    state = direct_network(spaces, buckets=64).init(jax.random.key(0))
    assert state.outcomes.rows.shape == (64, 40)
    dealt = Episode.fixed(np.arange(200) * 10**6, np.zeros(200, int), np.zeros(200, int), Delays(0, 1))
    assert play(direct_network(spaces, buckets=64), dealt, 0)[-1] < 0.5


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("make", [direct_network, factored_network, residual_network])
def test_no_number_makes_a_parameter_or_a_forecast_non_finite(make: Any, optimiser: str) -> None:
    forecaster = make(DENSE, replay=QUICK, optimiser=optimiser, output_start="random", learning_rate=0.5, l2=0.0)
    train = jax.jit(forecaster.rehearse)
    for far in (9007199254740990, 1e38, 3.4e38, np.inf, 1e-45, 1e3):
        state = forecaster.init(jax.random.key(0))
        wild = np.array([far, -far, 0.0, far, 1.0], np.float32)
        for seed in range(20):
            batches = [rows(DENSE, seed=seed), rows(DENSE, seed=100 + seed)]
            if seed % 3:
                batches = [_with_row(batch, seed % 16, wild) for batch in batches]
            state = train(state, *batches)
        assert all(np.isfinite(part).all() for part in jax.tree.leaves(state)), far
        served = jax.tree.map(np.asarray, state)
        for value in (far, -far, 1.0):
            x = Instance(np.zeros(0, np.int32), np.full(5, value, np.float32))
            said = forecaster.predict(served, x).log_probabilities
            assert np.isclose(np.exp(said).sum(), 1, atol=1e-3), "a distribution"
            assert np.isfinite(forecaster.nowcast(served, x, np.int32(1))).all()


def _with_row(batch: Rows, place: int, dense: Array) -> Rows:
    numbers = np.array(batch.x.dense)
    numbers[place] = dense
    return batch._replace(x=batch.x._replace(dense=jnp.asarray(numbers)))


def test_a_number_further_than_a_thousand_scales_says_no_more_and_a_nearer_one_is_itself() -> None:
    plan = TowerPlan(Training(output_start="random"), DENSE.features, 2)
    tower = jax.tree.map(np.asarray, plan.init(jax.random.key(0)))
    weights = tower.layers[0]

    def first(value: float) -> Array:
        inputs = plan._inputs(Instance(np.zeros(0, np.int32), np.full(5, value, np.float32)), None)
        return inputs @ weights.weights

    assert np.array_equal(first(1e38), first(FAR))
    assert np.array_equal(first(-np.inf), first(-FAR))
    assert np.array_equal(first(999.5), np.full(5, 999.5, np.float32) @ weights.weights)


def test_slopes_are_bounded_together_and_those_of_ordinary_rows_are_kept_bit_by_bit() -> None:
    draw = np.random.default_rng(0)
    slopes = Layer(jnp.asarray(draw.normal(size=(3, 4)), jnp.float32), jnp.asarray([0.1, -STEEP], jnp.float32))
    kept = jax.jit(bounded_slopes)(slopes)
    assert all(np.array_equal(ours, given) for ours, given in zip(kept, slopes, strict=True))
    steep = bounded_slopes(Layer(*(1000 * part for part in slopes)))
    assert np.abs(steep.biases).max() == pytest.approx(STEEP)
    assert np.allclose(steep.weights, slopes.weights, rtol=1e-5), "one factor for all"
    for bad in (np.nan, np.inf):
        gone = bounded_slopes((slopes, jnp.asarray([bad])))
        assert all((part == 0).all() for part in jax.tree.leaves(gone))
