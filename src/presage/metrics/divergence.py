"""How far members lie from their family, as sum p(m) KL(p_m || p_family) in nats, without the bias of rare members.

The plug-in estimate takes each member as its counts show it. One that was seen once looks certain of its outcome, and
where most members are rare the estimate is several times too large. Corrections such as Miller and Madow's expand in
1 / n_m and fail where n_m is 1 or 2. So members are taken to vary around their family as `dispersion` finds they
do, and the estimate is the mean of the divergence over

    p_m ~ Dirichlet(n_m + kappa q)

which is known in closed form. Frequent members are taken as their own counts show them, rare ones as alike to others.
Where members do not differ beyond chance the estimate is 0 on average, and may come out below it.

Its error has two parts: that of the rows, and that of kappa, by instance, so that what the families of one instance
have in common counts once.
"""

from typing import NamedTuple

import numpy as np

from presage.metrics.dispersion import EQUAL, Strength, strengths
from presage.metrics.families import Families
from presage.metrics.special import digamma, x_log_y
from presage.spaces import Array


class Divergence(NamedTuple):
    """An estimate of the divergence, and what its interval is made of."""

    value: float
    of_rows: Array  # [n]: ln p_m / p_family of each row's symbol, p_m shrunk: what varies from row to row
    freedom: float  # of the chi-square that twice the sum of these has where members do not differ
    of_strength: float  # half the 95 % interval that is due to kappa
    unknown: float  # how much more it could be by families none of whose members was seen twice
    most: float  # the entropy of the symbol given the family


def divergence(counted: Families) -> Divergence:
    """The divergence of members from their families, over all families."""
    fits = strengths(counted)
    kappa, nudge = (np.array([getattr(fit, part) for fit in fits]) for part in ("kappa", "nudge"))
    equal = np.array([fit.equal for fit in fits])
    silent = np.array([bool(np.isnan(fit.errors).any()) for fit in fits])
    value, slope = _value_and_slope(counted, fits, kappa, equal)
    # What a family shares is fitted to its rows, which takes up this much of the differences between members.
    fitted = np.maximum(np.count_nonzero(counted.pooled, axis=1) - 1, 0) / (2 * counted.total.sum())
    total = np.where(silent, 0.0, np.where(equal, slope * nudge, value) + fitted).sum()
    errors = np.concatenate([np.nan_to_num(fit.errors) * step for fit, step in zip(fits, slope, strict=True)])
    instance = np.concatenate([counted.instance[counted.family == family] for family in range(len(fits))])
    shares = counted.shares
    left = -counted.weights * x_log_y(shares, shares).sum(axis=1)
    return Divergence(
        float(total),
        _of_rows(counted, fits),
        _freedom(counted, kappa),
        float(1.96 * np.sqrt((np.bincount(instance, errors) ** 2).sum())),
        float(left[silent].sum()),
        max(float(left.sum()), 0.0),
    )


def _value_and_slope(counted: Families, fits: list[Strength], kappa: Array, equal: Array) -> tuple[Array, Array]:
    """The divergence of each family, and how it moves with ln kappa, or with 1 / kappa where members are equal."""

    def at(strength: Array) -> Array:
        return _expected(counted, fits, strength)

    value = at(kappa)
    by_log = (at(kappa * np.exp(0.1)) - at(kappa * np.exp(-0.1))) / 0.2
    by_inverse = (at(np.where(equal, EQUAL / 10, kappa)) - value) / (9 / EQUAL)
    return value, np.where(equal, by_inverse, by_log)


def _expected(counted: Families, fits: list[Strength], kappa: Array) -> Array:
    """What each family adds to the mean divergence [F], given its strength."""
    prior = kappa[:, None] * np.stack([fit.centre for fit in fits])  # [F, S]
    logs = np.log(np.where(counted.pooled > 0, counted.shares, 1))
    of = counted.family[counted.member], counted.symbol
    before, after = prior[of], prior[of] + counted.counts
    size = counted.total + kappa[counted.family]
    seen = after * digamma(after + 1) - before * digamma(before + 1) - counted.counts * logs[of]
    unseen = (prior * (digamma(prior + 1) - logs)).sum(axis=1)
    each = (unseen[counted.family] + counted.by_member(seen)) / size - digamma(size + 1)
    return counted.by_family(counted.total * each) / counted.total.sum()


def _freedom(counted: Families, kappa: Array) -> float:
    """How many shares are free, those of a member that leans on its family counting for less."""
    free = np.maximum(np.count_nonzero(counted.pooled, axis=1) - 1, 0)[counted.family]
    return float((free * (counted.total / (counted.total + kappa[counted.family])) ** 2).sum())


def _of_rows(counted: Families, fits: list[Strength]) -> Array:
    kappa = np.array([fit.kappa for fit in fits])
    prior = kappa[:, None] * np.stack([fit.centre for fit in fits])
    of = counted.family[counted.member], counted.symbol
    shrunk = (counted.counts + prior[of]) / (counted.total[counted.member] + kappa[of[0]])
    told: Array = np.log(shrunk / counted.shares[of])[counted.place]
    return told
