"""The paper's networks once more: plain loops and float64, written from the paper and not from the library.

Nothing is imported from presage. Random draws come from JAX under the keys that the library counts off (seed, purpose,
counter), so that losses can be compared round by round.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

Array = Any

PARAMETERS, PROXY_BATCH, OUTCOME_BATCH, TRIAL, ORACLE = range(5)


@dataclass(frozen=True)
class Plan:
    """What the paper says of an experiment's networks, delays in rounds."""

    proxies: int
    outcomes: int
    proxy_delay: int
    outcome_delay: int
    hidden: tuple[int, ...]
    rate: float
    rate_of_g: float
    rate_of_residual: float
    l2: float
    buffer: int
    start: int
    every: int
    steps: int
    batch: int
    clip: float = 10.0
    floor: float = 1e-4


def key_for(root: Array, purpose: int, counter: int) -> Array:
    return jax.random.fold_in(jax.random.fold_in(root, purpose), counter)


def softmax(logits: Array) -> Array:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


class Tower:
    """Dense ReLU layers, started by fan-in, the output layer at zero."""

    def __init__(self, key: Array, inputs: int, hidden: tuple[int, ...], outputs: int) -> None:
        sizes = [inputs, *hidden, outputs]
        self.weights, self.biases = [], []
        for number, layer_key in enumerate(jax.random.split(key, len(sizes) - 1)):
            fan_in, units = sizes[number], sizes[number + 1]
            drawn = np.asarray(jax.random.truncated_normal(layer_key, -2.0, 2.0, (fan_in, units)), np.float64)
            self.weights.append(drawn / math.sqrt(fan_in))
            self.biases.append(np.zeros(units))
        self.weights[-1][:] = 0.0

    def totals(self, x: Array) -> list[Array]:
        """The inputs, and what each layer adds up to, before its ReLU; the logits last."""
        totals = [np.asarray(x, np.float64)]
        for number, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            totals.append((np.maximum(totals[-1], 0.0) if number else totals[-1]) @ weights + biases)
        return totals

    def logits(self, x: Array) -> Array:
        return self.totals(x)[-1]

    def slopes(self, x: Array, slope: Callable[[Array], Array]) -> tuple[list[Array], list[Array]]:
        """The gradients of weights and biases; `slope` turns logits into the gradient of the loss at them."""
        totals = self.totals(x)
        back = slope(totals[-1])
        of_weights: list[Array] = []
        of_biases: list[Array] = []
        for number in reversed(range(len(self.weights))):
            of_weights.insert(0, (np.maximum(totals[number], 0.0) if number else totals[number]).T @ back)
            of_biases.insert(0, back.sum(axis=0))
            # The slope of a ReLU at 0 is 1/2, JAX's choice: an instance of zeros meets it before biases have moved.
            back = (back @ self.weights[number].T) * (1 + np.sign(totals[number])) / 2
        return of_weights, of_biases

    def descend(self, x: Array, slope: Callable[[Array], Array], rate: float, l2: float) -> None:
        """One step of SGD, L2 on weights alone."""
        of_weights, of_biases = self.slopes(x, slope)
        for number in range(len(self.weights)):
            self.weights[number] -= rate * (of_weights[number] + l2 * self.weights[number])
            self.biases[number] -= rate * of_biases[number]


def entropy_slope(symbols: Array, classes: int) -> Callable[[Array], Array]:
    return lambda logits: (softmax(logits) - np.eye(classes)[symbols]) / len(symbols)


class Factors:
    """h, a tower, and g, bare logits."""

    def __init__(self, key: Array, inputs: int, plan: Plan) -> None:
        self.plan = plan
        self.h = Tower(key, inputs, plan.hidden, plan.proxies)
        self.g = np.zeros((plan.proxies, plan.outcomes))

    def learn_proxies(self, x: Array, z: Array) -> None:
        self.h.descend(x, entropy_slope(z, self.plan.proxies), self.plan.rate, self.plan.l2)

    def learn_outcomes(self, z: Array, y: Array) -> None:
        slopes = np.zeros_like(self.g)
        for row, slope in zip(z, entropy_slope(y, self.plan.outcomes)(self.g[z]), strict=True):
            slopes[row] += slope
        self.g = self.g - self.plan.rate_of_g * slopes

    def predict(self, x: Array) -> Array:
        return softmax(self.h.logits(x)) @ softmax(self.g)


class Residual:
    """The factors, and a tower over (x, z, the logits of g) that corrects those logits."""

    def __init__(self, key: Array, inputs: int, plan: Plan) -> None:
        of_factors, of_tower = jax.random.split(key)
        self.plan = plan
        self.factors = Factors(of_factors, inputs, plan)
        self.tower = Tower(of_tower, inputs + plan.proxies + plan.outcomes, plan.hidden, plan.outcomes)
        self.largest = 0.0

    def learn_outcomes(self, x: Array, z: Array, y: Array) -> None:
        g, clip = self.factors.g, self.plan.clip
        told = np.concatenate([x, np.eye(self.plan.proxies)[z], g[z]], axis=1)

        def slope(delta: Array) -> Array:
            self.largest = max(self.largest, np.abs(delta).max())
            corrected = entropy_slope(y, self.plan.outcomes)(g[z] + np.clip(delta, -clip, clip))
            return corrected * (np.abs(delta) < clip)

        self.tower.descend(told, slope, self.plan.rate_of_residual, self.plan.l2)
        self.factors.learn_outcomes(z, y)

    def predict(self, x: Array) -> Array:
        g, total = self.factors.g, np.zeros(self.plan.outcomes)
        for z, chance in enumerate(softmax(self.factors.h.logits(x))):
            delta = self.tower.logits(np.concatenate([x, np.eye(self.plan.proxies)[z], g[z]]))
            total += chance * softmax(g[z] + np.clip(delta, -self.plan.clip, self.plan.clip))
        return total


def play(plan: Plan, x: Array, z: Array, y: Array, key: tuple[int, int]) -> tuple[dict[str, Array], float]:
    """The loss of each network in each round of a trial, and the largest correction; `key` is the seed and trial."""
    root = key_for(jax.random.key(key[0]), TRIAL, key[1])
    own = [jax.random.fold_in(key_for(root, PARAMETERS, 0), number) for number in range(3)]
    direct = Tower(own[0], x.shape[1], plan.hidden, plan.outcomes)
    factored, residual = Factors(own[1], x.shape[1], plan), Residual(own[2], x.shape[1], plan)
    proxies, outcomes = deque[int](maxlen=plan.buffer), deque[int](maxlen=plan.buffer)
    losses: dict[str, list[float]] = {"direct": [], "factored": [], "residual": []}
    for t in range(len(y)):
        step = (t // plan.every - 1) * plan.steps
        for number in range(step, step + plan.steps) if t and t % plan.every == 0 else ():
            if t - plan.proxy_delay >= plan.start:
                rows = draw_rows(proxies, key_for(root, PROXY_BATCH, number), plan.batch)
                factored.learn_proxies(x[rows], z[rows])
                residual.factors.learn_proxies(x[rows], z[rows])
            if t - plan.outcome_delay >= plan.start:
                rows = draw_rows(outcomes, key_for(root, OUTCOME_BATCH, number), plan.batch)
                direct.descend(x[rows], entropy_slope(y[rows], plan.outcomes), plan.rate, plan.l2)
                factored.learn_outcomes(z[rows], y[rows])
                residual.learn_outcomes(x[rows], z[rows], y[rows])
        said = softmax(direct.logits(x[t])), factored.predict(x[t]), residual.predict(x[t])
        for name, chances in zip(losses, said, strict=True):
            losses[name].append(-math.log((1 - plan.floor) * chances[y[t]] + plan.floor / plan.outcomes))
        if t >= plan.proxy_delay:
            proxies.append(t - plan.proxy_delay)
        if t >= plan.outcome_delay:
            outcomes.append(t - plan.outcome_delay)
    return {name: np.array(values) for name, values in losses.items()}, residual.largest


def draw_rows(window: deque[int], key: Array, batch: int) -> list[int]:
    """Rows drawn evenly from a window, with replacement."""
    places = np.floor(np.asarray(jax.random.uniform(key, (batch,))) * np.float32(len(window)))
    return [window[int(place)] for place in places]


def train_oracle(
    tower: tuple[tuple[int, ...], int], x: Array, y: Array, key: tuple[int, int], steps: tuple[int, int, float]
) -> Tower:
    """A tower (hidden, outputs) trained by Adam; `key` is the seed and the number, `steps` how many, batch and rate."""
    count, batch, rate = steps
    init_key, draw_key = jax.random.split(key_for(jax.random.key(key[0]), ORACLE, key[1]))
    oracle = Tower(init_key, x.shape[1], *tower)
    parts = [*oracle.weights, *oracle.biases]
    first, second = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    for step in range(count):
        rows = np.asarray(jax.random.randint(jax.random.fold_in(draw_key, step), (batch,), 0, len(y)))
        of_weights, of_biases = oracle.slopes(x[rows], entropy_slope(y[rows], tower[1]))
        for place, slope in enumerate([*of_weights, *of_biases]):
            first[place] = 0.9 * first[place] + 0.1 * slope
            second[place] = 0.999 * second[place] + 0.001 * slope**2
            mean, square = first[place] / (1 - 0.9 ** (step + 1)), second[place] / (1 - 0.999 ** (step + 1))
            parts[place] -= rate * mean / (np.sqrt(square) + 1e-8)
    return oracle
