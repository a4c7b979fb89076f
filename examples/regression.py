"""Logistic regressions that say what features and proxies tell of an outcome."""

from typing import NamedTuple

import numpy as np

from presage.spaces import Array

PENALTY = 1.0
FLOOR = 1e-4


class Losses(NamedTuple):
    """Mean log losses in nats, each fold of rows forecast by what was learned from the others."""

    entropy: float  # of the outcome
    proxy_entropy: float
    direct: float  # p(y|x)
    proxy: float  # p(z|x)
    given_proxy: float  # p(y|z)
    given_both: float  # p(y|z, x)
    factored: float  # sum over z of p(z|x) p(y|z)
    residual: float  # sum over z of p(z|x) p(y|z, x)


def losses(features: Array, proxy: Array, outcome: Array, fold: Array) -> Losses:
    """What `features` [N, F] tell of a proxy of 0, 1 or 2 and of an outcome that is true or false."""
    y = outcome.astype(float)
    given_proxy, given_both, factored, residual = np.zeros((4, len(y)))
    h = np.zeros((len(y), 3))
    for each in np.unique(fold):
        train, test = fold != each, fold == each
        x = features[test]
        any_, some = _fitted(features[train], proxy[train] > 0), train & (proxy > 0)
        many = _chance(x, _fitted(features[some], proxy[some] > 1))
        h[test] = _three(_chance(x, any_), many)
        g = np.array([y[train & (proxy == z)].mean() for z in range(3)])
        of = [train & (proxy == z) for z in range(3)]
        g_x = np.stack([_chance(x, _fitted(features[rows], y[rows])) for rows in of], axis=-1)
        given_proxy[test] = g[proxy[test]]
        given_both[test] = g_x[np.arange(len(x)), proxy[test]]
        factored[test], residual[test] = h[test] @ g, (h[test] * g_x).sum(axis=-1)
    shares = np.bincount(proxy, minlength=3) / len(proxy)
    return Losses(
        _loss(np.full(len(y), y.mean()), y),
        float(-(shares * np.log(shares)).sum()),
        direct_loss(features, outcome, fold),
        float(-np.log(np.maximum(h[np.arange(len(y)), proxy], FLOOR)).mean()),
        *(_loss(p, y) for p in (given_proxy, given_both, factored, residual)),
    )


def direct_loss(features: Array, outcome: Array, fold: Array) -> float:
    """The loss of p(y|x) alone."""
    y = outcome.astype(float)
    direct = np.zeros(len(y))
    for each in np.unique(fold):
        train, test = fold != each, fold == each
        direct[test] = _chance(features[test], _fitted(features[train], y[train]))
    return _loss(direct, y)


def _fitted(x: Array, y: Array) -> Array:
    """The coefficients of a logistic regression with a small ridge, by Newton's method."""
    beta = np.zeros(x.shape[1])
    for _ in range(12):
        p = _chance(x, beta)
        curvature = (x * (p * (1 - p))[:, None]).T @ x + PENALTY * np.eye(len(beta))
        step = np.linalg.solve(curvature, x.T @ (y - p) - PENALTY * beta)
        beta += step
        if np.abs(step).max() < 1e-4:
            break
    return beta


def _chance(x: Array, beta: Array) -> Array:
    return 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))


def _three(some: Array, many: Array) -> Array:
    """Probabilities of none, one and more, from those of any and of more given any."""
    return np.stack([1 - some, some * (1 - many), some * many], axis=-1)


def _loss(p: Array, y: Array) -> float:
    p = np.clip(p, FLOOR, 1 - FLOOR)
    return float(-np.where(y > 0, np.log(p), np.log(1 - p)).mean())
