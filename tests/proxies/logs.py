"""Logs with known truth: instances launched all the time, and proxies that are useful, useless, late or drifting."""

import numpy as np

from presage.proxies.signals import PredictionRows, ProxyCandidate
from presage.spaces import Array

ROWS, DAYS, LIFE, OUTCOME_DELAY = 6000, 240.0, 60.0, 21.0
H_SPREAD = 1.5
G = np.array([[0.85, 0.15], [0.5, 0.5], [0.1, 0.9]])  # [Z, Y]


def drawn(probabilities: Array, draw: np.random.Generator) -> Array:
    """One symbol from each row of probabilities."""
    return (probabilities.cumsum(axis=1) > draw.random((len(probabilities), 1))).argmax(axis=1)


def launches(seed: int, *, tilt: float = 0.0, rows: int = ROWS) -> tuple[PredictionRows, Array]:
    """A log and its useful proxy; `tilt` is how far instances differ in g, in log-odds."""
    draw = np.random.default_rng(seed)
    instances = rows // 40
    launch = draw.uniform(-LIFE, DAYS, instances)
    x = draw.integers(0, instances, 3 * rows)
    at = launch[x] + draw.uniform(0, LIFE, len(x))
    inside = np.flatnonzero((at >= 0) & (at < DAYS))[:rows]
    inside = inside[np.argsort(at[inside])]
    x, at = x[inside], at[inside]
    odds = np.exp(draw.normal(0, H_SPREAD, (instances, len(G))))
    z = drawn((odds / odds.sum(axis=1, keepdims=True))[x], draw)
    logit = np.log(G[:, 1] / G[:, 0])[z] + draw.normal(0, tilt, instances)[x]
    y = (draw.random(len(x)) < 1 / (1 + np.exp(-logit))).astype(int)
    delay = OUTCOME_DELAY + draw.uniform(-2, 2, len(x))
    cohort = (np.arange(instances) % 3)[x]
    return PredictionRows(x, at, y, delay, outcomes=2, cohort=cohort), z


def candidates(log: PredictionRows, z: Array, seed: int) -> dict[str, ProxyCandidate]:
    """A useful, a useless, a late and a drifting proxy."""
    draw = np.random.default_rng([seed, 1])
    noise = draw.integers(0, 3, len(z))
    late = np.where(draw.random(len(z)) < 0.05, 1 - log.y, log.y)
    turned = (z + (log.shown_at * 3 / DAYS).astype(int)) % 3
    found = [
        ProxyCandidate("useful", z, 1.0, 3),
        ProxyCandidate("useless", noise, 1.0, 3),
        ProxyCandidate("late", late, log.delay - 2 / 24, 2),
        ProxyCandidate("drifting", turned, 1.0, 3),
    ]
    return {each.name: each for each in found}
