"""Towers: the networks' layers, their losses, and the steps (SGD or Adam) that train them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from presage.arrays import log_softmax, namespace
from presage.errors import SettingError
from presage.forecasters.random_keys import Key
from presage.forecasters.table_keys import BUCKETS, hashed
from presage.settings import between, one_of, positive, whole
from presage.spaces import Array, Features, Instance

FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8
"""The decay of both means and the number that keeps steps finite, as its authors recommend them."""


class AdamMoments(NamedTuple):
    """Running means over the steps so far."""

    first: Any  # of the gradient, like the parameters
    second: Any  # of its square
    steps: Array  # []


def start_moments(parameters: Any) -> AdamMoments:
    """The moments before any step."""
    nothing = jax.tree.map(jnp.zeros_like, parameters)
    return AdamMoments(nothing, nothing, jnp.zeros(()))


def adam_step(
    parameters: Any, slopes: Any, moments: AdamMoments, rate: Array | float, real: Array
) -> tuple[Any, AdamMoments]:
    """Parameters and moments after a step down the slopes; both as they were where `real` is false."""
    steps = moments.steps + 1
    first = jax.tree.map(lambda m, slope: FIRST * m + (1 - FIRST) * slope, moments.first, slopes)
    second = jax.tree.map(lambda v, slope: SECOND * v + (1 - SECOND) * slope**2, moments.second, slopes)
    size = rate * jnp.sqrt(1 - SECOND**steps) / (1 - FIRST**steps)
    moved = jax.tree.map(lambda w, m, v: w - size * m / (jnp.sqrt(v) + SMALL), parameters, first, second)
    chosen: tuple[Any, AdamMoments] = jax.tree.map(
        lambda new, old: jnp.where(real, new, old), (moved, AdamMoments(first, second, steps)), (parameters, moments)
    )
    return chosen


FAR = 1000.0
"""A number enters a tower as at most so many scales from its centre: one that is further away says no more."""

STEEP = 10.0
"""No slope of a training step is steeper: those of ordinary numbers stay below 3."""

SMALLEST_SCALE = 1e-6
"""Below this the scale is multiplied into the rows, long before either leaves the range of float32."""


class Layer(NamedTuple):
    """A dense layer."""

    weights: Array  # [inputs, units]
    biases: Array  # [units]


class Tower(NamedTuple):
    """The parameters of a tower; the weights of its first layer are (scale * rows, layers[0].weights)."""

    rows: Array  # [symbol rows, units]
    scale: Array  # []
    layers: tuple[Layer, ...]
    moments: AdamMoments | tuple[()] = ()  # of rows and layers, with Adam


@dataclass(frozen=True)
class Training:
    """How towers are built and trained; the defaults are those of the paper's GitHub experiment.

    `initial` scales the starting weights, a truncated normal of deviation initial / sqrt(fan-in); biases start
    at 0. The output layer starts at zero too, so that a tower begins by saying nothing; with `output_start` "random"
    it starts like the others. `l2` is the weight of half the squared weights, biases apart. `floor` is the share of the
    uniform distribution in every prediction, so that none reaches 0. `buckets` bounds the symbol rows of a column.
    The `optimiser` is "sgd" or "adam".
    """

    hidden: tuple[int, ...] = (40, 20)
    learning_rate: float = 0.1
    l2: float = 0.01
    initial: float = 1.0
    output_start: str = "zero"
    floor: float = 1e-4
    buckets: int = BUCKETS
    optimiser: str = "sgd"

    def __post_init__(self) -> None:
        one_of("optimiser", self.optimiser, ("sgd", "adam"))
        one_of("output_start", self.output_start, ("zero", "random"))
        object.__setattr__(self, "hidden", tuple(whole("hidden", units) for units in self.hidden))
        if not self.hidden:
            raise SettingError("a tower needs a hidden layer", self.hidden, "give hidden=(40, 20), for example")
        positive("learning_rate", self.learning_rate)
        between("l2", self.l2, 0.0, 1.0 / self.learning_rate)
        positive("initial", self.initial)
        between("floor", self.floor, 0.0, 1.0)
        whole("buckets", self.buckets)


@dataclass(frozen=True)
class TowerPlan:
    """A tower from an instance, and `extra` more dense inputs, to `outputs` logits."""

    training: Training
    features: Features
    outputs: int
    extra: int = 0

    def init(self, key: Key) -> Tower:
        """Starting parameters."""
        rows = sum(self._rows)
        sizes = (rows + self.features.dense + self.extra, *self.training.hidden, self.outputs)
        keys = jax.random.split(key, len(sizes) - 1)
        weights = [self._start(key, shape) for key, *shape in zip(keys, sizes, sizes[1:], strict=False)]
        if self.training.output_start == "zero":
            weights[-1] = jnp.zeros_like(weights[-1])
        dense = [weights[0][rows:], *weights[1:]]
        layers = tuple(Layer(w, jnp.zeros(w.shape[1])) for w in dense)
        moments = start_moments((weights[0][:rows], layers)) if self.training.optimiser == "adam" else ()
        return Tower(weights[0][:rows], jnp.ones(()), layers, moments)

    def logits(self, tower: Tower, x: Instance, extra: Array | None = None) -> Array:  # [..., outputs]
        """The outputs for instances [...], with extra inputs [..., extra] where the plan has them."""
        return self._forward(tower.layers, self._embedded(tower, self._places(x)), self._inputs(x, extra))

    def descend(
        self, tower: Tower, x: Instance, extra: Array | None, loss: Callable[[Array], Array], weight: Array
    ) -> Tower:
        """The tower after one SGD step on `loss` of its outputs [B, outputs], and L2.

        Without any weight in the batch nothing moves, L2 included.
        """
        places, inputs = self._places(x), self._inputs(x, extra)
        slopes, pull = jax.grad(lambda layers, embedded: loss(self._forward(layers, embedded, inputs)), argnums=(0, 1))(
            tower.layers, self._embedded(tower, places)
        )
        slopes, pull = bounded_slopes((slopes, pull))
        if isinstance(tower.moments, AdamMoments):
            return self._adam(tower, places, slopes, pull, weight)
        rate = self.training.learning_rate * (weight.sum() > 0)
        kept = 1 - rate * self.training.l2
        layers = tuple(
            Layer(layer.weights * kept - rate * slope.weights, layer.biases - rate * slope.biases)
            for layer, slope in zip(tower.layers, slopes, strict=True)
        )
        if places is None:
            return tower._replace(layers=layers)
        scale = tower.scale * kept
        moved = tower.rows.at[places.rows].add(-(rate / scale) * pull[:, None, :] * places.filled[..., None])
        return Tower(*_rescaled(moved, scale), layers)

    def _adam(
        self, tower: Tower, places: "Places | None", slopes: tuple[Layer, ...], pull: Array, weight: Array
    ) -> Tower:
        l2 = self.training.l2
        of_rows = l2 * tower.rows
        if places is not None:
            of_rows = of_rows.at[places.rows].add(pull[:, None, :] * places.filled[..., None])
        of_layers = tuple(
            Layer(slope.weights + l2 * layer.weights, slope.biases)
            for slope, layer in zip(slopes, tower.layers, strict=True)
        )
        assert isinstance(tower.moments, AdamMoments)
        (rows, layers), moments = adam_step(
            (tower.rows, tower.layers),
            (of_rows, of_layers),
            tower.moments,
            self.training.learning_rate,
            weight.sum() > 0,
        )
        return Tower(rows, tower.scale, layers, moments)

    @property
    def _rows(self) -> list[int]:
        """How many symbol rows each column and set has."""
        columns = (*self.features.symbols, *(size for size, _ in self.features.sets))
        return [min(size, self.training.buckets) for size in columns]

    def _places(self, x: Instance) -> "Places | None":
        if not self.features.slots:
            return None
        xp = namespace(x.symbols)
        columns = [(size, 1) for size in self.features.symbols] + list(self.features.sets)
        first, slot, rows = 0, 0, []
        for (size, slots), count in zip(columns, self._rows, strict=True):
            symbols = xp.maximum(x.symbols[..., slot : slot + slots], 0)
            rows.append(first + (hashed([symbols], count) if size > count else symbols))
            first, slot = first + count, slot + slots
        return Places(xp.concatenate(rows, axis=-1), (x.symbols >= 0).astype(np.float32))

    def _embedded(self, tower: Tower, places: "Places | None") -> Array | None:
        if places is None:
            return None
        return tower.scale * (tower.rows[places.rows] * places.filled[..., None]).sum(-2)

    def _inputs(self, x: Instance, extra: Array | None) -> Array:
        dense = namespace(x.dense).clip(x.dense, -FAR, FAR)
        if extra is None:
            return dense
        xp = namespace(extra)
        dense = xp.broadcast_to(dense, (*extra.shape[:-1], self.features.dense))
        return xp.concatenate([dense, extra], axis=-1)

    def _forward(self, layers: tuple[Layer, ...], embedded: Array | None, inputs: Array) -> Array:
        xp = namespace(layers[0].weights)
        hidden = inputs @ layers[0].weights + layers[0].biases
        if embedded is not None:
            hidden = hidden + embedded
        for layer in layers[1:]:
            hidden = xp.maximum(hidden, 0) @ layer.weights + layer.biases
        return hidden

    def _start(self, key: Key, shape: list[int]) -> Array:
        deviation = self.training.initial / math.sqrt(max(shape[0], 1))
        return deviation * jax.random.truncated_normal(key, -2.0, 2.0, shape)


class Places(NamedTuple):
    """Where the symbols of an instance lie in a tower's rows."""

    rows: Array  # int32 [..., S]
    filled: Array  # float32 [..., S]: 0 for an empty slot of a set


def cross_entropy(logits: Array, symbols: Array, weight: Array) -> Array:
    """The mean of -ln p(symbol) over rows with weight."""
    chosen = jnp.take_along_axis(log_softmax(logits), symbols[:, None], axis=-1)[:, 0]
    return -(chosen * weight).sum() / jnp.maximum(weight.sum(), 1)


def bounded_slopes(slopes: Any) -> Any:
    """The slopes, all shrunk by one factor if one of them is above STEEP; zeros if one of them is not finite."""
    steepest = jnp.stack([jnp.abs(part).max(initial=0) for part in jax.tree.leaves(slopes)]).max()
    factor = jnp.where(steepest > STEEP, STEEP / steepest, 1.0)
    return jax.tree.map(lambda part: jnp.where(jnp.isfinite(steepest), factor * part, 0.0), slopes)


def with_floor(log_probabilities: Array, floor: float) -> Array:
    """Log-probabilities mixed with a uniform distribution of weight `floor`."""
    xp = namespace(log_probabilities)
    return xp.log((1 - floor) * xp.exp(log_probabilities) + floor / log_probabilities.shape[-1])


def _rescaled(rows: Array, scale: Array) -> tuple[Array, Array]:
    # A loop that is almost never entered: under vmap a branch would compute the product at every step.
    return jax.lax.while_loop(
        lambda both: both[1] < SMALLEST_SCALE, lambda both: (both[0] * both[1], jnp.ones(())), (rows, scale)
    )
