"""The core that serves the default forecaster: rows predicted and learnt in microseconds."""

from typing import Any

import numpy as np

from presage.drivers.lessons import BatchPredictions, Lessons
from presage.forecasters.contexts.kernels import ContextState, scratch_for, start_state
from presage.forecasters.contexts.layout import HEDGES, MEMBERS, ContextLayout
from presage.forecasters.contexts.loops import learn_rows, nowcast_rows, predict_rows
from presage.forecasters.contract import State
from presage.spaces import Array, Instance


class ContextFunctions:
    """The functions of a default forecaster over batches of rows."""

    def __init__(self, layout: ContextLayout) -> None:
        self.layout = layout
        self._fixed = layout.places, layout.heads, layout.switches
        self._room = scratch_for(layout)

    def start(self) -> ContextState:
        """What is known before anything is learnt."""
        return start_state(self.layout)

    def predict(self, state: ContextState, x: Instance, memos: bool = True) -> BatchPredictions:
        """What is said of instances [N, ...]."""
        count = len(x.symbols)
        said = np.empty((count, self.layout.spaces.outcomes), np.float32)
        memo = np.zeros((count, self.layout.memo_width if memos else 0), np.uint8)
        predict_rows(*self._fixed, state, scratch_for(self.layout), x.symbols, x.dense, said, memo)
        return BatchPredictions(said, memo)

    def nowcast(self, state: ContextState, x: Instance, z: Array) -> Array:  # float32 [N, Y]
        """The log-probabilities of instances [N, ...] whose proxies are known."""
        said = np.empty((len(z), self.layout.spaces.outcomes), np.float32)
        nowcast_rows(*self._fixed, state, scratch_for(self.layout), x.symbols, x.dense, z.astype(np.int32), said)
        return said

    def learn(self, state: ContextState, proxies: Lessons, outcomes: Lessons) -> None:
        """Learn from a batch, in place: the proxies in order, then the outcomes."""
        for of_outcomes, rows in ((False, proxies), (True, outcomes)):
            if len(rows.z):
                parts = rows.x.symbols, rows.x.dense, rows.z, rows.y, rows.memo, of_outcomes
                learn_rows(*self._fixed, state, self._room, *parts)

    def moved(self, state: ContextState, other: "ContextFunctions") -> ContextState | None:
        """The same state laid out for larger spaces; None if a category grew so that it is treated otherwise."""
        if self.layout.inputs != other.layout.inputs:
            return None
        ours, theirs, found = self.layout.places, other.layout.places, start_state(other.layout)
        heads = self.layout.heads
        cells, weights = heads.lanes + heads.padded, 2 * heads.lanes
        for table in range(len(ours.first)):
            rows = moved_rows(ours.columns[table], ours.sizes[table], int(ours.rows[table]), theirs.sizes[table])
            rows = rows if not ours.hashes[table] else np.arange(int(ours.rows[table]))
            if theirs.hashes[table] != ours.hashes[table]:
                return None
            pairs = [(ours.first[table], theirs.first[table], state.counts, found.counts, cells)]
            if ours.memory[table] > 0:
                pairs.append((ours.last[table], theirs.last[table], state.last, found.last, heads.padded))
            for first, place, old, new, width in pairs:
                part = old[int(first) * width : (int(first) + len(rows)) * width].reshape(-1, width)
                new.reshape(-1, width)[int(place) + rows] = part
        for old, new in ((state.weights, found.weights), (state.squares, found.squares)):
            if old.size:
                self._move_terms(other, old.reshape(-1, weights), new.reshape(-1, weights))
        kept = ("whole", "stacks", "combination", "slopes", "curvature", "scores", "known", "sample", "edges")
        return found._replace(**{name: getattr(state, name).copy() for name in kept})

    def _move_terms(self, other: "ContextFunctions", old: Array, new: Array) -> None:
        """The weights of each term, those of sets and those of numbers, to where the other layout has them."""
        ours, theirs = self.layout.places, other.layout.places
        for term in range(len(ours.term_first)):
            count = int(ours.term_rows[term])
            rows = moved_rows(ours.term_columns[term], ours.term_sizes[term], count, theirs.term_sizes[term])
            rows = rows % theirs.term_rows[term] if not ours.term_hashes[term] else np.arange(count)
            first = int(ours.term_first[term])
            new[int(theirs.term_first[term]) + rows] = old[first : first + count]
        for slot in range(len(ours.slot_first)):
            count, first = int(ours.slot_rows[slot]), int(ours.slot_first[slot])
            new[int(theirs.slot_first[slot]) + np.arange(count)] = old[first : first + count]
        count, first = ours.numbers, ours.linear_first
        new[theirs.linear_first : theirs.linear_first + count] = old[first : first + count]

    def weights(self, state: ContextState) -> dict[str, float]:
        """The weight of each member by name, as the hedges have it that are not kept by level."""
        scores = state.scores[[place for place, (_, by_level) in enumerate(HEDGES) if not by_level], 0]
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        share = self.layout.settings.share
        each = (1 - share) * powers / powers.sum(axis=1, keepdims=True) + share / len(MEMBERS)
        return dict(zip([name for name, _ in MEMBERS], each.mean(axis=0).tolist(), strict=True))


class ContextLearning:
    """What a default forecaster has learnt."""

    def __init__(self, functions: ContextFunctions) -> None:
        self.predictions = 0
        self._functions, self._state = functions, start_state(functions.layout)

    @property
    def state(self) -> State:
        """The state of the forecaster itself; a copy."""
        return ContextState(*(part.copy() for part in self._state))

    def learn(self, proxies: Lessons, outcomes: Lessons, predictions: int) -> None:
        """Learn from a batch."""
        self._functions.learn(self._state, proxies, outcomes)
        self.predictions = predictions

    def parameters(self) -> tuple[Array, ...]:
        """All that has been learnt."""
        return self._state

    def tensors(self) -> dict[str, Array]:
        """The same by name."""
        return self._state._asdict()

    def restore(self, tensors: dict[str, Array], predictions: int) -> None:
        """Continue from what was saved."""
        self._state = ContextState(*(tensors[name].copy() for name in ContextState._fields))
        self.predictions = predictions


def moved_rows(columns: Array, sizes: Array, rows: int, wanted: Array) -> Array:
    """Where rows that columns of these sizes name lie once the columns have the sizes `wanted`: int64 [rows].

    >>> moved_rows(np.array([0, 1]), np.array([2, 2]), 4, np.array([3, 4])).tolist()
    [0, 1, 4, 5]
    """
    left, found, radix = np.arange(rows), np.zeros(rows, np.int64), 1
    for place in reversed(range(len(columns))):
        if columns[place] >= 0:
            left, value = np.divmod(left, sizes[place])
            found += radix * value
            radix *= int(wanted[place])
    return found


def warm_up(functions: ContextFunctions) -> None:
    """Compile the loops: one row is predicted and learnt, and forgotten."""
    state, features = start_state(functions.layout), functions.layout.spaces.features
    x = Instance(np.zeros((1, features.slots), np.int32), np.zeros((1, features.dense), np.float32))
    first = np.zeros(1, np.int32)
    lesson: Any = Lessons(x, first, first, functions.predict(state, x).memo, np.zeros(1, np.int64))
    functions.nowcast(state, x, first)
    functions.learn(state, lesson, lesson)
