"""How much the members of a family differ from what they share: the strength of shrinkage that a log asks for.

Each member draws a distribution of its own from a Dirichlet around that of its family, q:

    p_m ~ Dirichlet(kappa q),    counts of member m ~ Multinomial(p_m)

With p_m integrated out the likelihood of the counts is known in closed form, and so is the kappa that fits best. It is
the kappa of shrunk tables: the mean of p_m given its counts is (n_m + kappa q) / (n_m + kappa).
"""

from typing import NamedTuple

import numpy as np

from presage.metrics.families import Families, numbered
from presage.metrics.special import digamma, log_gamma
from presage.spaces import Array

KAPPAS = np.geomspace(1e5, 1e-3, 161)
"""The strengths tried; at the first, members are as good as equal."""

EQUAL = float(KAPPAS[0])
STEP = float(np.log(KAPPAS[0] / KAPPAS[1]))


class Strength(NamedTuple):
    """The strength of one family.

    Errors are those of ln kappa. Where members are as good as equal, ln kappa has no bounds; there they are those of
    1 / kappa, and `nudge` is how far below or above 0 that would lie if it could: members may differ less than chance
    alone would have them.
    """

    kappa: float
    centre: Array  # [S]: q
    errors: Array  # [M]: what each member adds to the error of the estimate; NaN where nothing tells
    equal: bool
    nudge: float

    def ends(self, error: float) -> tuple[float, float]:
        """The least and the greatest kappa within 1.96 times `error`."""
        if self.equal:
            return float(1 / max(self.nudge + 1.96 * error, 1 / EQUAL)), EQUAL
        factor = float(np.exp(min(1.96 * error, 10.0)))
        return self.kappa / factor, min(self.kappa * factor, EQUAL)


def strengths(counted: Families) -> list[Strength]:
    """The strength of each family."""
    found = []
    for family in range(len(counted.pooled)):
        members = np.flatnonzero(counted.family == family)
        cells = np.flatnonzero(counted.family[counted.member] == family)
        local = np.searchsorted(members, counted.member[cells])
        parts = counted.counts[cells], counted.symbol[cells], local, counted.total[members]
        found.append(_strength(_Family(*parts, counted.shares[family])))
    return found


class _Family(NamedTuple):
    counts: Array  # [C]
    symbol: Array  # [C]
    member: Array  # [C]
    total: Array  # [M]
    centre: Array  # [S]

    @property
    def q(self) -> Array:  # [C]
        return self.centre[self.symbol]

    def by_member(self, of_count: Array) -> Array:
        return np.bincount(self.member, of_count, minlength=len(self.total))


def _strength(family: _Family) -> Strength:
    """The best kappa, first around what the rows share, then around what the members share."""
    kappa = _likelihood_and_best(family)[1]
    if kappa < EQUAL:
        # Rows share mostly what the frequent members do; members weigh more alike.
        pull = np.bincount(family.symbol, family.counts / (family.total[family.member] + kappa))
        centre = np.zeros(len(family.centre))
        centre[: len(pull)] = pull / pull.sum()
        family = family._replace(centre=centre)
    likelihood, kappa = _likelihood_and_best(family)
    return _at_the_edge(family) if kappa >= EQUAL else _inside(family, likelihood, kappa)


def _likelihood_and_best(family: _Family) -> tuple[Array, float]:
    whole = np.ones(1), np.zeros(len(family.total), np.int64)
    likelihood = _rising(family.counts, family.centre, family.symbol) - _rising(family.total, *whole)
    # Where nothing tells (each member seen once) members are taken to be equal; the errors say the rest.
    slack = 1e-3 + 1e-9 * family.total.sum()
    return likelihood, float(KAPPAS[np.argmax(likelihood >= likelihood.max() - slack)])


def _rising(counts: Array, centre: Array, symbol: Array) -> Array:
    """The sum of ln of kappa q (kappa q + 1) ... (kappa q + n - 1), for each kappa; equal counts are taken together."""
    codes, _, times = numbered(counts * len(centre) + symbol)
    count, q = codes // len(centre), centre[codes % len(centre)]
    prior = np.multiply.outer(q, KAPPAS)
    rising: Array = times @ (log_gamma(prior + count[:, None]) - log_gamma(prior))
    return rising


def _inside(family: _Family, likelihood: Array, kappa: float) -> Strength:
    best = min(int(np.argmax(likelihood)), len(KAPPAS) - 2)
    bend = 2 * likelihood[best] - likelihood[best - 1] - likelihood[best + 1]
    kappa = kappa * float(np.exp(-STEP * np.clip((likelihood[best + 1] - likelihood[best - 1]) / (2 * bend), -1, 1)))
    q, total = family.q, family.total
    own = family.by_member(q * (digamma(family.counts + kappa * q) - digamma(kappa * q)))
    score = own - (digamma(total + kappa) - digamma(kappa))
    errors = kappa * score * STEP**2 / bend
    # Members look closer to a centre that was fitted to them than they are, the more so the fewer there are.
    pull = total / (total + kappa)
    fitted = min(float((pull**2).sum() / pull.sum() ** 2), 0.5)
    return Strength(max((1 + kappa) * (1 - fitted) - 1, float(KAPPAS[-1])), family.centre, errors, False, 0.0)


def _at_the_edge(family: _Family) -> Strength:
    """One step of Newton's method from 1 / kappa = 0, where its score and information are sums of squares."""
    counts, total = family.counts, family.total
    pairs = total * (total - 1) / 2
    score = family.by_member(counts * (counts - 1) / (2 * family.q)) - pairs
    information = pairs.sum() * (np.count_nonzero(family.centre) - 1)
    if information == 0:
        lone = np.count_nonzero(family.centre) <= 1  # one symbol: members cannot differ
        return Strength(EQUAL, family.centre, np.full(len(total), 0.0 if lone else np.nan), True, 0.0)
    # A rare symbol that came twice to one member would tell much; where none did, errors are at least those of chance.
    least = np.sqrt(information / max(float((score**2).sum()), 1e-300))
    return Strength(EQUAL, family.centre, score / information * max(1.0, least), True, float(score.sum() / information))
