"""Counting estimators with a prior: uniform, the running marginal, or a back-off through groups.

Along the keys of a back-off, from coarse to fine, each level shrinks to the one before it:

    q_0(a) = (n_a + alpha) / (n + alpha |A|)              the paper's base estimator
    q_k(a) = (n_ka + kappa q_{k-1}(a)) / (n_k + kappa)    an instance among its group, a group in the whole
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from presage.arrays import jnp, namespace
from presage.errors import SettingError
from presage.forecasters.table_keys import BUCKETS, WHOLE, TableKey, table_key
from presage.settings import strength, whole
from presage.spaces import Array, Features, Instance, Spaces

Counts = tuple[Array, ...]
"""One table a level, coarse to fine: int32 [rows, *context, A]."""

LEAST = 1e-28
"""No probability is less: many observations on several levels would make it a float32 zero, and its logarithm
infinite. Its product with any strength is still a normal number."""


@dataclass(frozen=True)
class BackOff:
    """Estimates of p(symbol | instance, context) from counts, each level shrunk to a coarser one."""

    keys: tuple[TableKey, ...]  # coarse to fine
    context: tuple[int, ...]  # () for h(z|x) and p(y|x), (|Z|,) for g(y|z)
    symbols: int
    alpha: float
    kappa: float  # prior mass of every level but the first

    def __post_init__(self) -> None:
        strength("alpha", self.alpha)
        if len(self.keys) > 1:
            strength("kappa", self.kappa)

    def init(self) -> Counts:
        """Counts of nothing."""
        return tuple(jnp.zeros((key.rows, *self.context, self.symbols), jnp.int32) for key in self.keys)

    def read(self, counts: Counts, x: Instance, context: tuple[Array, ...] = ()) -> Array:  # [*context, A]
        """The probabilities of each symbol for one instance, in every context or in the given one."""
        seen = [table[(key.row(x.symbols), *context)] for key, table in zip(self.keys, counts, strict=True)]
        estimate = (seen[0] + self.alpha) / (seen[0].sum(-1, keepdims=True) + self.alpha * self.symbols)
        for level in seen[1:]:
            estimate = (level + self.kappa * estimate) / (level.sum(-1, keepdims=True) + self.kappa)
            estimate = namespace(estimate).maximum(estimate, LEAST)
        return estimate

    def add(self, counts: Counts, x: Instance, cell: tuple[Array, ...], weight: Array) -> Counts:
        """The counts with rows of x [B], cell (context..., symbol) each [B] and weight [B] added."""
        return tuple(
            table.at[(key.row(x.symbols), *cell)].add(weight) for key, table in zip(self.keys, counts, strict=True)
        )


class TableParts(NamedTuple):
    """What a table is made of: p(y|x) alone, or h(z|x) and g(y|z)."""

    h: BackOff | None
    g: BackOff


@dataclass(frozen=True)
class Prior:
    """What an instance without feedback is taken to be like.

    Without `shrinkage`, like nothing (uniform). With it, like the whole so far, with the weight of that many
    observations; with `groups` of symbol columns, like its group, and the group like the next, coarse to fine.
    """

    alpha: float = 1.0
    shrinkage: float | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    buckets: int = BUCKETS

    def __post_init__(self) -> None:
        strength("alpha", self.alpha)
        whole("buckets", self.buckets)
        if self.shrinkage is not None:
            strength("shrinkage", self.shrinkage)
        elif self.groups:
            raise SettingError("groups need shrinkage", self.groups, "give shrinkage=5.0, for example")
        for coarse, fine in pairwise(self.groups):
            if not set(coarse) < set(fine):
                remedy = "give each group the columns of the one before it, and more"
                raise SettingError("groups must go from coarse to fine", self.groups, remedy)

    def chain(self, features: Features, symbols: int) -> BackOff:
        """The chain for p(symbol | instance)."""
        identity = table_key(features, (0,), self.buckets)
        if self.shrinkage is None:
            return BackOff((identity,), (), symbols, self.alpha, 0.0)
        return BackOff((WHOLE, *self._groups(features), identity), (), symbols, self.alpha, self.shrinkage)

    def residual(self, spaces: Spaces, kappa: float) -> BackOff:
        """The chain for g_x(y|z), from the shared g(y|z) through the groups to the instance.

        With features that belong to the proxy every level has them, but for groups that are coarser: otherwise a level
        with many outcomes would forget what they say.
        """
        levels, own = (*self.groups, (0,)), set(spaces.proxy_with)
        if own:
            coarser = [columns for columns in levels if set(columns) < own]
            finer = [tuple(sorted(own.union(columns))) for columns in levels[len(coarser) :]]
            levels = tuple(dict.fromkeys([*coarser, spaces.proxy_with, *finer]))
        keys = (table_key(spaces.features, columns, self.buckets) for columns in levels)
        return BackOff((WHOLE, *keys), (spaces.proxies,), spaces.outcomes, self.alpha, kappa)

    def shared(self, spaces: Spaces) -> BackOff:
        """The chain for g(y|z), or g(y|z, c) with the features c of an instance that belong to the proxy.

        With shrinkage a combination of both is like the proxy alone; without it every combination is a symbol of its
        own, as in the paper.
        """
        context, outcomes = (spaces.proxies,), spaces.outcomes
        if not spaces.proxy_with:
            return BackOff((WHOLE,), context, outcomes, self.alpha, 0.0)
        told = table_key(spaces.features, spaces.proxy_with, self.buckets)
        if self.shrinkage is None:
            return BackOff((told,), context, outcomes, self.alpha, 0.0)
        return BackOff((WHOLE, told), context, outcomes, self.alpha, self.shrinkage)

    def _groups(self, features: Features) -> tuple[TableKey, ...]:
        return tuple(table_key(features, group, self.buckets) for group in self.groups)


def known(symbols: Array, weight: Array) -> tuple[Array, Array]:
    """Symbols and weights that are safe to count: an unknown symbol becomes 0 with weight 0."""
    there = symbols >= 0
    return symbols * there, weight * there


def pairs(z: Array, y: Array, weight: Array) -> tuple[tuple[Array, Array], Array]:
    """The cells (z, y) of rows where both are known, and their weights."""
    z, weight = known(z, weight)
    y, weight = known(y, weight)
    return (z, y), weight
