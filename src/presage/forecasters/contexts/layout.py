"""What the default forecaster keeps of an instance: columns, tables, contexts and terms, and where they lie."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from presage.settings import between, strength, whole
from presage.spaces import Array, Spaces
from presage.task.task import SWITCHES

COARSE = 28
"""Bins of a number by the quantiles of the first rows: 8 between them, and 10 that double on each side."""

FINE = 4096
"""Bins of a number by its size alone, 16 for each doubling, hashed."""

SAMPLE = 500
"""How many rows tell the quantiles of numbers."""

HIGH = 64
"""A category of as many values backs off to the other features, as the identity does."""

MOST_LOW, MOST_HIGH, MOST_PAIRED = 16, 4, 6
"""How many features get tables, the first ones declared; regressions take all of them."""

LEVELS = 6
"""How much is known of a context: nothing, or from 1, 3, 10, 40 or 200 rows on."""

FRESH, EARLY = LEVELS, LEVELS + 1
"""Further levels of an identity, for the last mixing: only proxies are known of it; hardly any outcome is known."""

MEMBERS = (
    ("logistic", "mixture"),
    ("stack-residual", "residual"),
    ("stack-direct", "direct"),
    ("regression-residual", "residual"),
    ("regression-direct", "direct"),
    ("identity-residual", "residual"),
)
"""The forecasts that are mixed in the end, and the family of each; the first combines the others, and more."""

HEDGES = ((0.99, False), (0.999, False), (1.0, False), (0.999, True), (1.0, True))
"""How fast each set of weights of the members forgets, and whether it is kept for each level of the identity."""


@dataclass(frozen=True)
class ContextSettings:
    """The parts of the default forecaster, each of which can be left out, and the bound on its memory."""

    low: bool = True
    """A table for each feature of few values, and for each number at two resolutions."""
    chain: bool = True
    """The features of few values together, backing off one by one."""
    pairs: bool = True
    """The identity together with each feature of few values."""
    forgetting: bool = True
    """Tables of the identity and of features with many values that forget."""
    regression: bool = True
    """Softmax regressions on all features and on pairs of them."""
    boosting: bool = True
    """Of these, the one that corrects what the tables say."""
    stacking: bool = True
    """Weights of tables and regressions that learn."""
    logistic: bool = True
    """Weights of the combination of forecasts that learn."""
    same_labels: bool = True
    """The prior that an outcome is what its proxy says, where both have a label of the same name."""
    buckets: int = 2**20
    """The maximum number of rows of a table, and of weights of a regression; what has more values is hashed."""
    low_strength: float = 8.0
    high_strength: float = 3.0
    memory: float = 30_000.0
    share: float = 0.01

    def __post_init__(self) -> None:
        whole("buckets", self.buckets, 64)
        for name in ("low_strength", "high_strength", "memory"):
            strength(name, getattr(self, name))
        between("share", self.share, 0.0, 1.0)


PARTS = SWITCHES
"""The settings that leave a part out."""


class RowPlaces(NamedTuple):
    """Where the rows of an instance lie, for compiled loops; columns are symbols, then numbers, coarse and fine."""

    symbols: int
    numbers: int
    columns: Array  # int32 [T, W]: the columns that name a row of each table; -1 past the last
    sizes: Array  # int64 [T, W]: how many values each has
    first: Array  # int64 [T]: the first row of each table among those of all
    rows: Array  # int64 [T]: how many it has
    hashes: Array  # bool [T]: whether the row is a hash
    memory: Array  # float32 [T]: after how many rows it forgets; 0: never
    last: Array  # int64 [T]: the first row among those of forgetting tables
    term_columns: Array  # int32 [F, 2]: the same of the terms of regressions
    term_sizes: Array
    term_first: Array
    term_rows: Array
    term_hashes: Array
    slot_first: Array  # int64 [slots of sets]: the first row of weights of each
    slot_rows: Array
    linear_first: int  # the row of weights of the first number
    table: Array  # int32 [C]: the table of each context
    parent: Array  # int32 [C]: the context it backs off to; -1: the whole
    strength: Array  # float32 [C]
    identity: int  # the context that is the identity alone
    context: Array  # int64 [T]: a context of each table
    spoken: Array  # int64 [R]: the estimates that are forecasts on their own: 0 the whole, 1 + c of context c
    kept: Array  # int64: the inputs that a memo keeps: contexts that are there twice once, then the regressions
    kept_at: Array  # int64 [K]: where among them each input is


class Heads(NamedTuple):
    """What is estimated: h(z|x), g(y|x,z) for each z, and p(y|x).

    The symbols of all heads lie side by side in lanes, so that loops run over many at once; lanes and heads are padded
    to a multiple of 8. A row of a table is a count for each lane, then the sum of each head.
    """

    symbols: Array  # int64 [H]
    first: Array  # int64 [H]: the first lane of each
    begin: Array  # int64 [H]: the same rounded down, and the lane past the last rounded up, to whole blocks
    end: Array  # int64 [H]
    of_lane: Array  # int64 [lanes]: the head of each lane; 0 for padding
    kept: Array  # int64: the lanes that a memo keeps: all but the last of each head
    prior: Array  # float32 [lanes]: pseudo-counts of the whole
    prior_sums: Array  # float32 [padded heads]
    lanes: int
    padded: int


class Switches(NamedTuple):
    """The parts that are switched on, and the rates, for compiled loops."""

    regression: bool
    boosting: bool
    stacking: bool
    logistic: bool
    share: float


class ContextTable(NamedTuple):
    """A table: the columns that name its rows, and after how many rows it forgets."""

    columns: tuple[int, ...]
    memory: float


class Context(NamedTuple):
    """A table that backs off to another context."""

    name: str
    table: int
    parent: int
    strength: float


@dataclass(frozen=True)
class ContextLayout:
    """All that is fixed about a default forecaster.

    Args:
        spaces: the instances, proxies and outcomes.
        settings: which parts there are.
        same: the outcome that has the same label as each proxy; -1 where none has.
        groups: symbol columns that are contexts too, each backing off to the one before.
    """

    spaces: Spaces
    settings: ContextSettings
    same: tuple[int, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def column_sizes(self) -> tuple[int, ...]:
        """How many values each column has; 0 stands for what is not known."""
        features = self.spaces.features
        return (
            *(room_for(size) + 1 for size in features.symbols),
            *[COARSE + 1] * features.dense,
            *[FINE] * features.dense,
        )

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """What stands for a column in the name of a context: x0, x1 and so on, d0 and d0' for a number."""
        features = self.spaces.features
        numbers = [f"d{place}" for place in range(features.dense)]
        return (*(f"x{place}" for place in range(len(features.symbols))), *numbers, *(f"{name}'" for name in numbers))

    @cached_property
    def low(self) -> tuple[int, ...]:
        """The columns of few values, and the coarse resolution of numbers."""
        features = self.spaces.features
        low = [place for place, size in enumerate(features.symbols) if place and room_for(size) < HIGH]
        return (*low, *range(len(features.symbols), len(features.symbols) + features.dense))[:MOST_LOW]

    @cached_property
    def high(self) -> tuple[int, ...]:
        """The identity, and the columns of many values."""
        symbols = self.spaces.features.symbols
        return tuple(place for place, size in enumerate(symbols) if not place or room_for(size) >= HIGH)[:MOST_HIGH]

    @property
    def has_features(self) -> bool:
        """Whether anything is known of an instance besides its identity."""
        return bool(self.low or self.high[1:] or self.spaces.features.sets)

    @cached_property
    def _built(self) -> tuple[tuple[ContextTable, ...], tuple[Context, ...]]:
        tables: dict[ContextTable, int] = {}
        contexts: list[Context] = []
        settings, names = self.settings, self.column_names

        def add(name: str, columns: Sequence[int], parent: int, strength: float, memory: float = 0.0) -> int:
            table = tables.setdefault(ContextTable(tuple(columns), memory), len(tables))
            contexts.append(Context(name, table, parent, strength))
            return len(contexts) - 1

        features = self.spaces.features
        if settings.low:
            for column in self.low:
                place = add(names[column], (column,), -1, settings.low_strength)
                if column >= len(features.symbols):
                    add(names[column + features.dense], (column + features.dense,), place, settings.low_strength)
        top = -1
        if settings.chain:
            for columns in self._chain:
                top = add("*".join(names[column] for column in columns), columns, top, settings.low_strength)
        parent = -1
        for group in self.groups:
            parent = add("*".join(names[column] for column in group), group, parent, settings.low_strength)
        identity = -1
        for column in self.high:
            alone = add(names[column], (column,), -1, settings.high_strength)
            identity = alone if identity < 0 else identity
            for over in sorted({top, parent} - {-1}):
                add(f"{names[column]}|{contexts[over].name}", (column,), over, settings.high_strength)
        if settings.pairs and self.high:
            for column in self.low[:MOST_PAIRED]:
                pair = self.high[0], column
                add("*".join(names[each] for each in pair), pair, identity, settings.low_strength)
        if settings.forgetting:
            for column in self.high:
                add(f"{names[column]}~", (column,), top, settings.high_strength, settings.memory)
        return tuple(tables), tuple(contexts)

    @property
    def _chain(self) -> list[tuple[int, ...]]:
        """The first four low columns, one alone, then one more each time.

        Their order is that of the task: by size it would change as new values come.
        """
        first = self.low[:4]
        steps = [first[:count] for count in range(1, len(first) + 1)]
        return steps if len(steps) > 1 else []

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The contexts, each after the one it backs off to."""
        return self._built[1]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of what a stack weighs: the contexts, then the regressions."""
        return (*(context.name for context in self.contexts), "regression", "boosting")

    @cached_property
    def places(self) -> RowPlaces:
        """Where rows lie."""
        tables, contexts = self._built
        features, sizes = self.spaces.features, self.column_sizes
        most, tables_of = self.settings.buckets, [context.table for context in contexts]
        rooms = [_room([sizes[column] for column in table.columns], self._most(table.columns)) for table in tables]
        terms: list[tuple[int, ...]] = [(column,) for column in range(len(sizes))]
        terms += list(combinations(self.low[:MOST_PAIRED], 2)) if self.settings.regression else []
        share = max(64, most // max(len(terms) + len(features.sets), 1))
        term_rooms = [_room([sizes[column] for column in term], share) for term in terms]
        set_rows = [min(room_for(of.size), share) for of in features.sets]
        ends = np.cumsum([0, *(room for room, _ in term_rooms), *set_rows, features.dense])
        slots = [place for place, of in enumerate(features.sets) for _ in range(of.slots)]
        forgets = [room if table.memory else 0 for table, (room, _) in zip(tables, rooms, strict=True)]
        return RowPlaces(
            len(features.symbols),
            features.dense,
            *_padded([table.columns for table in tables], sizes),
            _starts([room for room, _ in rooms]),
            np.array([room for room, _ in rooms], np.int64),
            np.array([hashes for _, hashes in rooms], np.bool_),
            np.array([table.memory for table in tables], np.float32),
            _starts(forgets),
            *_padded(terms, sizes),
            ends[: len(terms)].astype(np.int64),
            np.array([room for room, _ in term_rooms], np.int64),
            np.array([hashes for _, hashes in term_rooms], np.bool_),
            np.array([ends[len(terms) + place] for place in slots], np.int64),
            np.array([set_rows[place] for place in slots], np.int64),
            int(ends[-2]),
            np.array([context.table for context in contexts], np.int32),
            np.array([context.parent for context in contexts], np.int32),
            np.array([context.strength for context in contexts], np.float32),
            self._identity,
            np.array([tables_of.index(table) for table in range(len(tables))], np.int64),
            np.array(self._spoken, np.int64),
            *self._kept,
        )

    @cached_property
    def _identity(self) -> int:
        names = [context.name for context in self.contexts]
        return names.index(self.column_names[0]) if self.high else -1

    @cached_property
    def _spoken(self) -> list[int]:
        """The identity, the whole, what others back off to in the end, and all contexts of a column of many values."""
        tables, contexts = self._built
        many = {(column,) for column in self.high}
        chosen = {place for place, context in enumerate(contexts) if tables[context.table].columns in many}
        chosen |= {contexts[place].parent for place in chosen}
        return list(dict.fromkeys([1 + self._identity, 0, *(1 + place for place in sorted(chosen))]))

    @property
    def forecasts(self) -> int:
        """How many forecasts there are: the members, and those of further contexts."""
        return len(MEMBERS) - 1 + len(self._spoken)

    @property
    def _kept(self) -> tuple[Array, Array]:
        """The inputs that differ, and where among them each input is."""
        inputs = [*(context[1:] for context in self.contexts), "regression", "boosting"]
        kept = [place for place, each in enumerate(inputs) if each not in inputs[:place]]
        at = [kept.index(inputs.index(each)) for each in inputs]
        return np.array(kept, np.int64), np.array(at, np.int64)

    def _most(self, columns: tuple[int, ...]) -> int:
        """Rows of a table: a quarter of the bound for several columns together."""
        return max(64, self.settings.buckets // (4 if len(columns) > 1 else 1))

    @property
    def weight_rows(self) -> int:
        """Rows of weights of a regression."""
        return self.places.linear_first + self.spaces.features.dense

    @property
    def last_rows(self) -> int:
        """Rows of forgetting tables."""
        return int(sum(self.places.rows[self.places.memory > 0]))

    @cached_property
    def heads(self) -> Heads:
        """What is estimated, and in which lanes."""
        proxies, outcomes = self.spaces.proxies, self.spaces.outcomes
        symbols = np.array([proxies, *[outcomes] * proxies, outcomes], np.int64)
        first = _starts(symbols.tolist())
        lanes, padded = _whole_blocks(int(symbols.sum())), _whole_blocks(len(symbols))
        of_lane = np.zeros(lanes, np.int64)
        of_lane[: symbols.sum()] = np.repeat(np.arange(len(symbols)), symbols)
        prior = np.ones(lanes, np.float32)
        if self.settings.same_labels:
            for z, y in enumerate(self.same):
                if y >= 0:
                    prior[first[1 + z] : first[1 + z] + outcomes] = SPREAD
                    prior[first[1 + z] + y] = SPREAD + (1 - SPREAD) * outcomes
        sums = np.ones(padded, np.float32)
        sums[: len(symbols)] = np.add.reduceat(prior[: symbols.sum()], first)
        end = np.array([_whole_blocks(last) for last in (first + symbols).tolist()], np.int64)
        kept = np.setdiff1d(np.arange(symbols.sum()), first + symbols - 1).astype(np.int64)
        return Heads(symbols, first, first // BLOCK * BLOCK, end, of_lane, kept, prior, sums, lanes, padded)

    @property
    def switches(self) -> Switches:
        """The parts that loops can leave out."""
        parts = self.settings
        return Switches(
            parts.regression, parts.regression and parts.boosting, parts.stacking, parts.logistic, parts.share
        )

    @property
    def memo_width(self) -> int:
        """The bytes kept with a prediction: see `presage.forecasters.contexts.memos`."""
        heads, places = self.heads, self.places
        levels = -(-len(places.context) // LEVELS_IN_BYTE) * len(heads.symbols)
        inputs = -(-len(places.kept) * INPUT_BITS // 8) * len(heads.kept)
        return self.forecasts * self.spaces.outcomes + KNOWN_BYTES + levels + inputs


BLOCK = 8
"""Lanes and heads are padded to a multiple of it: as many float32 as fit into a vector register."""


MEMBER_CODE = 1 / 72
"""The resolution at which a memo keeps roots of log-probabilities of the members."""

KNOWN_BYTES, LEVELS_IN_BYTE, INPUT_BITS = 9, 3, 6
"""What a memo takes for how much is known of the whole log, and how it packs levels of tables and inputs of stacks."""


def from_codes(codes: Array) -> Array:
    """The log-probabilities that a memo keeps as bytes.

    >>> from_codes(np.array([0, 72], np.uint8)).tolist()
    [-0.0, -1.0]
    """
    return -np.square(MEMBER_CODE * codes.astype(np.float64))


def room_for(size: int) -> int:
    """How many values a column of `size` values has room for: one less than a power of two, so that it may grow.

    >>> [room_for(size) for size in (1, 2, 7, 8, 15)]
    [1, 3, 7, 15, 15]
    """
    return (1 << size.bit_length()) - 1


SPREAD = 0.4
"""The share of the prior of an outcome that does not follow the label of its proxy."""


def _room(sizes: Sequence[int], most: int) -> tuple[int, bool]:
    """How many rows a table by columns of these sizes has, and whether its rows are hashes."""
    needed = math.prod(sizes)
    return min(needed, most), needed > most


def _whole_blocks(count: int) -> int:
    """At least so many, in whole blocks."""
    return -(-count // BLOCK) * BLOCK


def _starts(rooms: Sequence[int]) -> Array:
    return np.array([0, *np.cumsum(rooms)], np.int64)[:-1]


def _padded(each: Sequence[tuple[int, ...]], sizes: Sequence[int]) -> tuple[Array, Array]:
    """The columns of some tables, -1 past the last, and how many values each has."""
    width = max(2, *(len(columns) for columns in each)) if each else 2
    columns = np.full((len(each), width), -1, np.int32)
    counts = np.ones((len(each), width), np.int64)
    for place, own in enumerate(each):
        columns[place, : len(own)] = own
        counts[place, : len(own)] = [sizes[column] for column in own]
    return columns, counts
