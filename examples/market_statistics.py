"""The statistics by which a simulated market is calibrated to a real one."""

import numpy as np

from presage.spaces import Array
from presage.worlds.marketplace import ENGAGEMENTS, Market

POSSIBLE = ((1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 2), (2, 3), (3, 0), (3, 3))
"""Outcomes that can follow each proxy but deletion."""
_FIRST = 1  # the age from which launches have settled


def engagement(market: Market) -> dict[str, float]:
    """The proxies and outcomes of items, each item weighing the same."""
    z, y = market.proxies, market.outcomes
    found = {}
    for at, name in enumerate(ENGAGEMENTS):
        found[f"p(z={name}), mean"] = float(z[:, at].mean())
        found[f"p(z={name}), between items"] = float(z[:, at].std())
    weight = z / z.sum(axis=0)
    for proxy, outcome in POSSIBLE:
        p = y[:, proxy, outcome]
        mean = float(weight[:, proxy] @ p)
        name = f"p(y={ENGAGEMENTS[outcome]} given z={ENGAGEMENTS[proxy]})"
        found[f"{name}, mean"] = mean
        found[f"{name}, between items"] = float(np.sqrt(weight[:, proxy] @ (p - mean) ** 2))
    return found


def information(market: Market) -> dict[str, float]:
    """What items X and proxies Z tell of outcomes Y, in nats."""
    z, y = market.proxies, market.outcomes
    joint = z[:, :, None] * y / len(z)  # [X, Z, Y]
    xz, zy, xy = joint.sum(2), joint.sum(0), joint.sum(1)
    outcome = _entropy(zy.sum(0))
    about_y = np.log(len(z)) + outcome - _entropy(xy)
    p, factored = xy * len(z), z @ (zy / zy.sum(1, keepdims=True))
    bias = np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / factored), 0).sum(1).mean()
    return {
        "H(Y)": outcome,
        "I(X;Z)": np.log(len(z)) + _entropy(zy.sum(1)) - _entropy(xz),
        "I(Y;Z)": outcome + _entropy(zy.sum(1)) - _entropy(zy),
        "I(X;Y given Z)": _entropy(xz) + _entropy(zy) - _entropy(joint) - _entropy(zy.sum(1)),
        "I(X;Y)": about_y,
        "share of I(X;Y) through Z": 1 - bias / about_y,
    }


def launches(market: Market) -> dict[str, float]:
    """Acquisitions by days since launch, of the items whose launch was seen."""
    seen = market.launch.sum(axis=1) > 0
    counts = market.launch[seen]
    part = counts / counts.sum(axis=1, keepdims=True)
    by_age = {f"share of 21 days at age {age}": float(part[:, age].mean()) for age in (0, 1, 2, 7, 20)}
    spread = {"share at age 0, between items": float(part[:, 0].std())}
    liked = float(np.corrcoef(np.log(counts.sum(axis=1)), market.proxies[seen, 2])[0, 1])
    return (
        by_age | spread | _volumes(counts, _FIRST) | {"log acquisitions of an item, correlation with p(z=one)": liked}
    )


def calendars(market: Market) -> dict[str, float]:
    """Acquisitions on the days of a calendar, of the items that had any."""
    counts = market.calendar[market.calendar.sum(axis=1) > 0]
    daily = {"log acquisitions of a day, standard deviation": float(np.log(counts.sum(axis=0)).std())}
    return _volumes(counts, 0) | daily


def _volumes(counts: Array, first: int) -> dict[str, float]:
    total, log = counts.sum(axis=1), np.log1p(counts)
    found = {f"acquisitions of an item, {int(100 * q)} %": float(np.quantile(total, q)) for q in (0.1, 0.5, 0.9)}
    found["share of the top 10 of 100 items"] = _top(total)
    for lag in (1, 7, 14):
        pairs = [(day, day + lag) for day in range(first, counts.shape[1] - lag)]
        correlation = np.mean([np.corrcoef(log[:, a], log[:, b])[0, 1] for a, b in pairs])
        found[f"log acquisitions, correlation at lag {lag}"] = float(correlation)
    part = counts / counts.sum(axis=0)
    found["total variation in a week"] = float(np.mean(np.abs(part[:, first + 7 :] - part[:, first:-7]).sum(0)) / 2)
    return found


def _top(total: Array, draws: int = 300) -> float:
    draw = np.random.default_rng(0)
    chosen = np.sort(np.stack([draw.choice(total, 100, replace=False) for _ in range(draws)]))
    return float((chosen[:, -10:].sum(axis=1) / chosen.sum(axis=1)).mean())


def _entropy(p: Array) -> float:
    return float(-np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0).sum())
