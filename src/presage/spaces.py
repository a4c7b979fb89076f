"""What instances, proxies and outcomes can be, and the check every value passes where it enters.

JAX silently clamps an index that is out of range, so nothing reaches a forecaster unchecked.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from presage.errors import FeatureError, ShapeError, SpaceError, SymbolError

Array = Any
"""A NumPy or JAX array: the same functions serve both."""

EMPTY = -1
"""The symbol of an empty slot of a set, and of feedback that is not known."""


class Instance(NamedTuple):
    """One instance, or many along leading axes."""

    symbols: Array  # int32 [..., S]: one per symbol column, then the slots of each set (EMPTY for none)
    dense: Array  # float32 [..., F]


class SetOf(NamedTuple):
    """A set of up to `slots` of `size` symbols, such as the languages of a repository."""

    size: int
    slots: int


@dataclass(frozen=True)
class Features:
    """The features of an instance: symbols, sets, dense numbers, or any mix of them.

    The first symbol column is the identity that plain tables count by.

    >>> Features(symbols=(1000, 20), sets=(SetOf(50, 4),), dense=3).slots
    6
    """

    symbols: tuple[int, ...] = ()
    sets: tuple[SetOf, ...] = ()
    dense: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "symbols", tuple(_size("symbol column", size) for size in self.symbols))
        object.__setattr__(
            self,
            "sets",
            tuple(SetOf(_size("set", size), _size("slots of a set", slots)) for size, slots in self.sets),
        )
        if self.dense < 0 or not (self.symbols or self.sets or self.dense):
            raise SpaceError("an instance needs at least one feature", self, "declare symbols, sets or dense features")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of symbols each slot can hold."""
        return self.symbols + tuple(size for size, slots in self.sets for _ in range(slots))

    @property
    def slots(self) -> int:
        """How many symbols encode one instance."""
        return len(self.sizes)

    @cached_property
    def least(self) -> Array:  # int32 [S]
        """The least symbol each slot can hold: sets may leave a slot empty."""
        return np.array([0] * len(self.symbols) + [EMPTY] * (self.slots - len(self.symbols)), np.int32)

    @cached_property
    def most(self) -> Array:  # int32 [S]
        """The largest symbol each slot can hold."""
        return np.array(self.sizes, np.int64) - 1


@dataclass(frozen=True)
class Spaces:
    """The instances, proxies and outcomes of a problem; symbols count from 0.

    `instances` is how many there are, or `Features` when an instance is more than a symbol. `proxy_with` are the symbol
    columns of an instance that belong to its proxy: what an outcome is like then depends on both. The first, the
    identity, is none of them.

    >>> Spaces(instances=10, proxies=4, outcomes=5).encode(3).symbols
    array([3], dtype=int32)
    """

    instances: int | Features
    proxies: int
    outcomes: int
    proxy_with: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.instances, Features):
            object.__setattr__(self, "instances", _size("instances", self.instances))
        object.__setattr__(self, "proxies", _size("proxies", self.proxies))
        object.__setattr__(self, "outcomes", _size("outcomes", self.outcomes))
        columns = tuple(sorted(int(column) for column in self.proxy_with))
        last = len(self.features.symbols) - 1
        if len(set(columns)) < len(columns) or any(not 1 <= column <= last for column in columns):
            remedy = f"name columns 1 to {last}, each once" if last > 0 else "leave it out: there is no other column"
            raise SpaceError("proxy_with must name symbol columns after the first", self.proxy_with, remedy)
        object.__setattr__(self, "proxy_with", columns)

    @cached_property
    def features(self) -> Features:
        """The features of an instance; a plain symbol is the only one where instances are counted."""
        return self.instances if isinstance(self.instances, Features) else Features(symbols=(self.instances,))

    def encode(self, x: Any) -> Instance:
        """One instance, or many along leading axes, checked and ready for a forecaster.

        Takes symbols where instances are counted, and an `Instance` where they have features.
        """
        if isinstance(x, Instance):
            return self._checked(x)
        if isinstance(self.instances, Features):
            wrong = "these instances have several features"
            raise ShapeError(wrong, type(x).__name__, "pass an Instance(symbols, dense)")
        symbols = check_symbols("instance", x, self.instances)[..., None]
        return Instance(symbols, np.zeros((*symbols.shape[:-1], 0), np.float32))

    def proxy(self, z: Any, least: int = 0) -> Array:
        """Proxy symbols, checked."""
        return check_symbols("proxy", z, self.proxies, least)

    def outcome(self, y: Any, least: int = 0) -> Array:
        """Outcome symbols, checked."""
        return check_symbols("outcome", y, self.outcomes, least)

    def _checked(self, x: Instance) -> Instance:
        features = self.features
        symbols, dense = whole_numbers("instance", x.symbols), np.asarray(x.dense)
        if symbols.shape[-1:] != (features.slots,) or dense.shape != (*symbols.shape[:-1], features.dense):
            found = {"symbols": symbols.shape, "dense": dense.shape}
            remedy = f"give symbols [..., {features.slots}] and dense [..., {features.dense}]"
            raise ShapeError("the instance does not have the declared features", found, remedy)
        wrong = (symbols < features.least) | (symbols > features.most)
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0])
            remedy = f"slot {place[-1]} holds 0 to {features.most[place[-1]]}"
            raise SymbolError("instance symbol outside its space", int(symbols[place]), remedy)
        if not np.issubdtype(dense.dtype, np.number) and dense.dtype != np.bool_:
            raise FeatureError("dense features must be numbers", str(dense.dtype), "convert them to float32")
        if not np.isfinite(dense).all():
            bad = dense[~np.isfinite(dense)][0]
            raise FeatureError("a dense feature is not finite", float(bad), "drop the row or fill the value in")
        with np.errstate(over="ignore"):
            as_float32 = dense.astype(np.float32)
        if not np.isfinite(as_float32).all():
            bad = dense[~np.isfinite(as_float32)][0]
            raise FeatureError("a dense feature does not fit into float32", float(bad), "scale it, or drop the row")
        return Instance(symbols.astype(np.int32), as_float32)


def whole_numbers(name: str, values: Any) -> Array:
    """`values` as an integer array; floats and booleans are refused, never rounded."""
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer):
        remedy = "encode categories as integers that count from 0"
        raise SymbolError(f"{name} symbols must be whole numbers", str(array.dtype), remedy)
    return array


def check_symbols(name: str, values: Any, size: int, least: int = 0) -> Array:
    """`values` as int32, each at least `least` and below `size`.

    >>> check_symbols("proxy", [0, 4], 4)
    Traceback (most recent call last):
    presage.errors.SymbolError: proxy symbol outside its space: found 4; symbols count from 0, so give 0 to 3
    """
    array = whole_numbers(name, values)
    wrong = (array < least) | (array >= size)
    if wrong.any():
        remedy = f"symbols count from 0, so give 0 to {size - 1}"
        raise SymbolError(f"{name} symbol outside its space", int(array[wrong].flat[0]), remedy)
    return array.astype(np.int32)


def _size(name: str, size: Any) -> int:
    if isinstance(size, bool) or not hasattr(size, "__index__") or not 1 <= size < 2**31:
        wrong = f"the number of {name} must be a whole number from 1 to 2^31 - 1"
        raise SpaceError(wrong, size, "count every symbol that can occur")
    return int(size)
