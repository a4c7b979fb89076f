"""How much of what the instance says about the outcome passes through the proxy.

    share = 1 - E KL(p(y|x) || q(y|x)) / I(X;Y) = E[ln q(y|x) / p(y)] / I(X;Y),    q(y|x) = sum_z g(y|z) h(z|x)

is what a forecaster that goes through proxies alone can ever reach of I(X;Y). The numerator is found here, as a mean
over what h(.|x) can be given the counts of an instance, so that rare instances count for no more than they tell:

    h(.|x) ~ Dirichlet(n_x + kappa q),    p(y|x) = sum_z h(z|x) (n_xzy + kappa_z q_z(y)) / (n_xz + kappa_z)

It has no closed form, so draws are taken, with a fixed seed. Where instances are many, the rare half of what is drawn
stands for all others.
"""

from typing import NamedTuple

import numpy as np

from presage.metrics.dispersion import KAPPAS, Strength, strengths
from presage.metrics.divergence import Divergence
from presage.metrics.families import Families
from presage.metrics.special import x_log_y
from presage.spaces import Array

CELLS = 100_000
"""The most cells (instance, proxy, outcome) in one draw."""

DRAWS = (8, 100)
"""The least and the most draws; the more instances there are, the fewer are needed."""


class _Chosen(NamedTuple):
    weight: Array  # [M]: the share of rows an instance stands for
    proxies: Array  # int [M, Z]: its counts
    own: Array  # [M, Z, Y]: g_x(y|z)


def passed(of_z: Families, of_y: Families, direct: Families) -> Divergence:
    """What passes through the proxy.

    Args:
        of_z: counts of proxies by instance.
        of_y: counts of outcomes by proxy and instance.
        direct: counts of outcomes by instance.
    """
    h, g = strengths(of_z)[0], strengths(of_y)
    chosen = _choose(of_z, of_y, g)
    shared = of_y.shares
    marginal = of_y.weights @ shared  # [Y]
    value, *ends = (_mean(chosen, shared, marginal, kappa * h.centre) for kappa in (h.kappa, *_ends(h)))
    uncertain = -float(x_log_y(marginal, marginal).sum())
    of_strength = max(abs(end - value) for end in ends)
    return Divergence(value, _of_rows(of_z, of_y, direct, h), 0.0, of_strength, 0.0, uncertain)


def _choose(of_z: Families, of_y: Families, g: list[Strength]) -> _Chosen:
    """All instances, or the most frequent ones and as many of the others."""
    symbols, outcomes = of_y.pooled.shape
    weight = of_z.total / of_z.total.sum()
    chosen = np.arange(len(weight))
    most = max(CELLS // of_y.pooled.size, 2)
    if len(weight) > most:
        order = np.argsort(-weight, kind="stable")
        tail = order[most // 2 :]
        some = tail[np.linspace(0, len(tail) - 1, most // 2).astype(np.int64)]  # as frequent as all of the tail
        chosen = np.concatenate([order[: most // 2], some])
        weight[some] *= weight[tail].sum() / weight[some].sum()
    place = np.full(len(weight), len(chosen))
    place[chosen] = np.arange(len(chosen))
    proxies = np.zeros((len(chosen) + 1, symbols), np.int64)  # the last holds those not chosen
    counts = np.zeros((len(chosen) + 1, symbols, outcomes))
    proxies[place[of_z.instance[of_z.member]], of_z.symbol] = of_z.counts
    counts[place[of_y.instance[of_y.member]], of_y.family[of_y.member], of_y.symbol] = of_y.counts
    kappa, centre = np.array([fit.kappa for fit in g])[:, None], np.stack([fit.centre for fit in g])
    own = (counts + kappa * centre) / (counts.sum(axis=-1, keepdims=True) + kappa)
    return _Chosen(weight[chosen], proxies[:-1], own[:-1])


def _mean(chosen: _Chosen, shared: Array, marginal: Array, prior: Array) -> float:
    """The mean of ln q(y|x) / p(y) over what h can be."""
    draw = np.random.default_rng(0)
    draws = int(np.clip(4 * CELLS // chosen.own.size, *DRAWS))
    found = 0.0
    for _ in range(draws):
        gammas = draw.standard_gamma(chosen.proxies + prior) + 1e-300  # those of tiny shape underflow to 0
        h = gammas / gammas.sum(axis=1, keepdims=True)  # [M, Z]
        truth, through = np.einsum("xz,xzy->xy", h, chosen.own), h @ shared
        found += chosen.weight @ (x_log_y(truth, through) - x_log_y(truth, marginal)).sum(axis=1)
    return float(found / draws)


def _of_rows(of_z: Families, of_y: Families, direct: Families, h: Strength) -> Array:
    """How each row moves what passes: by its own outcome, by its part in h, and by its part in g."""
    shared = of_y.shares  # [Z, Y]
    size = of_z.total + h.kappa  # [X]
    seen = np.stack([of_z.by_member(of_z.counts * each[of_z.symbol]) for each in shared.T], axis=1)
    through = np.maximum((seen + h.kappa * (h.centre @ shared)) / size[:, None], 1e-300)  # [X, Y]: q(y|x)
    excess = _direct(direct) / through  # [X, Y]
    of_h = np.einsum("cy,cy->c", excess[of_z.member], shared[of_z.symbol]) - 1  # by (x, z)
    spread = excess * (of_z.total / size)[:, None] / of_z.total.sum()  # [X, Y]
    pull = [np.bincount(of_z.symbol, of_z.counts * each[of_z.member], minlength=len(shared)) for each in spread.T]
    lent = np.stack(pull, axis=1) + h.kappa * np.outer(h.centre, spread.sum(axis=0))  # [Z, Y]
    of_g = (lent - (lent * shared).sum(axis=1, keepdims=True)) / np.maximum(of_y.weights, 1e-300)[:, None]
    told = np.log(through / np.maximum(of_y.weights @ shared, 1e-300))
    cell = of_y.instance[of_y.member], of_y.family[of_y.member], of_y.symbol
    moved: Array = (told[cell[0], cell[2]] + of_g[cell[1], cell[2]])[of_y.place] + of_h[of_z.place]
    return moved


def _direct(counted: Families) -> Array:
    """The shrunk p(y|x), [X, Y]."""
    fit = strengths(counted)[0]
    counts = np.zeros((len(counted.total), counted.pooled.shape[1]))
    counts[counted.member, counted.symbol] = counted.counts
    return (counts + fit.kappa * fit.centre) / (counted.total + fit.kappa)[:, None]


def _ends(fit: Strength) -> tuple[float, float]:
    """Both ends of the interval of kappa."""
    error = float(np.sqrt((fit.errors**2).sum()))
    low, high = fit.ends(error if np.isfinite(error) else 1e9)
    return max(low, float(KAPPAS[-1])), high
