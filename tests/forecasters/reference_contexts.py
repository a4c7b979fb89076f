"""The default forecaster written once more, in plain Python with numbers of its own: slow, and apart from its kernels.

It keeps tables as dictionaries by the values that name a row, so that it shares nothing of how rows are laid out, and
counts in float64. What it takes from a layout is which contexts there are, and what each backs off to.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from presage.forecasters.contexts.arithmetic import Function, njit
from presage.forecasters.contexts.layout import ContextLayout
from presage.spaces import Array

uncached: Callable[[Function], Function] = njit(error_model="numpy", _nrt=False)
"""Compiles a function of a test; numba's cache would keep kernels as they were when it was compiled."""

BOUNDS = (0.3, 3, 10, 40, 200)
"""A context is known a little better from each of these on; up to the first one, it counts as unknown."""
MATURE, SHARE = 200, 0.75
HEDGES = ((0.99, False), (0.999, False), (1.0, False), (0.999, True), (1.0, True))
FRESH, EARLY = 6, 7
FLOOR = 1e-5
LEAST = {"stack": 200.0, "level": 1000.0, "combination": 200.0}
LEADS = (0, 0, -4, 0, -4, -1)
RATES = 0.03, 0.02


class Memo(NamedTuple):
    """What was said of a row, as coarsely as a memo keeps it."""

    forecasts: Array  # [1 + F, Y]: the combination, then what it combines; the first six are the members
    known: tuple[int, int]
    level: int
    levels: dict[int, list[int]]  # by head: of each input, then of the identity
    inputs: dict[int, Array]  # by head: [K, S]


def softmax(sums: Array, floor: float = FLOOR) -> Array:
    powers = np.exp(sums - sums.max())
    return np.asarray((1 - floor * len(sums)) * powers / powers.sum() + floor)


class ReferenceContexts:
    """Learns and predicts one row at a time."""

    def __init__(self, layout: ContextLayout) -> None:
        self.layout, spaces = layout, layout.spaces
        self.proxies, self.outcomes = spaces.proxies, spaces.outcomes
        self.last = 1 + self.proxies
        self.sizes = [self.proxies, *[self.outcomes] * self.last]
        self.whole = [np.zeros(size) for size in self.sizes]
        self.prior = [np.ones(size) for size in self.sizes]
        for z, y in enumerate(layout.same):
            if y >= 0:
                self.prior[1 + z] = 0.4 + 0.6 * self.outcomes * (np.arange(self.outcomes) == y)
        self.counts: dict[Any, Array] = {}
        self.since: dict[Any, int] = {}
        self.weights: tuple[dict[Any, Array], ...] = ({}, {})
        self.squares: tuple[dict[Any, Array], ...] = ({}, {})
        inputs, contexts = len(layout.contexts) + 2, len(layout.contexts)
        self.stacks = np.zeros((4, len(self.sizes), inputs, 6))
        self.stacks[0, :, :contexts], self.stacks[0, :, contexts:] = 1 / contexts, 0.25
        self.spoken = layout.places.spoken.tolist()
        combined = 4 + len(self.spoken)
        self.combination, self.slopes = np.zeros((8, combined)), np.zeros((8, combined))
        self.combination[:, [0, 2]] = 0.5
        self.curvature = np.zeros((8, combined, combined))
        self.taught, self.block = 0, 0
        self.scores = np.zeros((5, 8, 6)) + LEADS
        self.known = [0, 0]
        self.sample: list[Array] = []
        self.identity = [context.name for context in layout.contexts].index("x0")
        names = [columns[columns >= 0].tolist() for columns in layout.places.columns]
        self.tables = list(zip(names, layout.places.memory.tolist(), strict=True))

    def _values(self, symbols: Array, dense: Array) -> list[int]:
        """The columns that name rows: symbols, coarse bins, fine bins."""
        plain = len(self.layout.spaces.features.symbols)
        coarse = [0] * len(dense)
        if len(self.sample) == 500:
            coarse = [1 + int((self._edges(place) <= value).sum()) for place, value in enumerate(dense)]
        return [*symbols[:plain].tolist(), *coarse, *map(_fine, dense.tolist())]

    def _edges(self, place: int) -> Array:
        values = np.sort(np.array(self.sample)[:, place])
        low, high = values[0], values[-1]
        width = (high - low) / 4
        doubled = width * (2.0 ** np.arange(1, 11) - 1)
        return np.concatenate([low - doubled, values[[500 * eighth // 8 for eighth in range(1, 8)]], high + doubled])

    def _terms(self, symbols: Array, dense: Array) -> list[tuple[Any, float]]:
        """What the regressions have weights for, and its value."""
        values, features = self._values(symbols, dense), self.layout.spaces.features
        found: list[tuple[Any, float]] = [((place, value), 1.0) for place, value in enumerate(values)]
        low = self.layout.low[:6]
        for place, one in enumerate(low):
            found += [((one, other, values[one], values[other]), 1.0) for other in low[place + 1 :]]
        slot = len(features.symbols)
        for which, each in enumerate(features.sets):
            held = symbols[slot : slot + each.slots]
            found += [(("set", which, int(symbol)), 1.0) for symbol in held if symbol >= 0]
            slot += each.slots
        for place, value in enumerate(dense.tolist()):
            scaled = 0.0
            if len(self.sample) == 500:
                sample = np.sort(np.array(self.sample)[:, place])
                scaled = float(np.clip((value - sample[250]) / (sample[375] - sample[125]), -3, 3))
            found.append((("number", place), scaled))
        return found

    def _estimate(self, head: int, symbols: Array, dense: Array) -> tuple[Array, list[Array], Array, list[int]]:
        """What the whole and the contexts say, the inputs of the stack, and the levels."""
        values, size, clock = self._values(symbols, dense), self.sizes[head], self.known[1 if head else 0]
        base = self.whole[head] + self.prior[head]
        base = base / base.sum()
        said: list[Array] = []
        inputs, levels = [], []
        for context in self.layout.contexts:
            columns, memory = self.tables[context.table]
            key = (context.table, head, *(values[column] for column in columns))
            counts = self.counts.get(key, np.zeros(size))
            if memory:
                counts = counts * np.exp((self.since.get(key, 0) - clock) / memory)
            before = base if context.parent < 0 else said[context.parent]
            seen = counts.sum()
            now = (counts + context.strength * before) / (seen + context.strength) if seen > BOUNDS[0] else before
            said.append(now)
            inputs.append(np.log(now / before))
            levels.append(int(seen > BOUNDS[0]) + sum(seen >= bound for bound in BOUNDS[1:]))
        for weights in self.weights:
            terms = self._terms(symbols, dense)
            inputs.append(sum((v * weights.get((head, t), np.zeros(size)) for t, v in terms), np.zeros(size)))
        centred = np.array(inputs) - np.array(inputs).mean(1, keepdims=True)
        return base, said, centred, [*levels, 0, 0, levels[self.identity]]

    def _stack(self, head: int, base: Array, inputs: Array, levels: list[int]) -> Array:
        own = self.stacks[0, head, np.arange(len(inputs)), levels[:-1]] + self.stacks[1, head, :, levels[-1]]
        return softmax(np.log(base) + own @ inputs)

    def predict(self, symbols: Array, dense: Array) -> tuple[Array, Memo]:
        heads = [self._estimate(head, symbols, dense) for head in range(1 + self.last)]
        stacked = [self._stack(head, base, *rest[1:]) for head, (base, *rest) in enumerate(heads)]
        alone = [softmax(np.log(base) + inputs[-2]) for base, _, inputs, _ in heads]
        estimates = [[base, *said] for base, said, _, _ in heads]
        contexts = [self._through([each[place] for each in estimates]) for place in self.spoken]
        combined = np.log([self._through(stacked), stacked[-1], self._through(alone), alone[-1], *contexts])
        level = heads[-1][3][-1] or (FRESH if heads[0][3][-1] else 0)
        if self.known[1] < MATURE:
            level = EARLY
        forecasts = np.concatenate([np.log(softmax(self.combination[level] @ combined))[None], combined])
        heard = []
        for hedge, (_, by_level) in enumerate(HEDGES):
            weights = softmax(self.scores[hedge, level if by_level else 0], 0.01 / 6)
            heard.append(np.log(weights @ np.exp(forecasts[:6])))
        memo = Memo(
            -((np.rint(72 * np.sqrt(-forecasts)) / 72) ** 2),
            (self.known[0], self.known[1]),
            level,
            {head: each[3] for head, each in enumerate(heads)},
            {head: _kept(each[2]) for head, each in enumerate(heads)},
        )
        return np.log(softmax(np.mean(heard, axis=0))), memo

    def _through(self, heads: list[Array]) -> Array:
        return np.maximum(
            sum((heads[0][z] * heads[1 + z] for z in range(self.proxies)), np.zeros(self.outcomes)), FLOOR
        )

    def learn_proxy(self, symbols: Array, dense: Array, z: int, y: int, memo: Memo) -> None:
        """`y` is -1 unless the outcome was learnt before."""
        if len(self.sample) < 500:
            self.sample.append(dense)
        self._teach((0, z, 0), symbols, dense, memo)
        if y >= 0:
            self._teach((1 + z, y, 1), symbols, dense, memo)
        self.known[0] += 1

    def learn_outcome(self, symbols: Array, dense: Array, z: int, y: int, memo: Memo) -> None:
        """`z` is -1 unless the proxy is learnt by now."""
        for hedge, (gamma, by_level) in enumerate(HEDGES):
            scores = self.scores[hedge, memo.level if by_level else 0]
            scores[:] = gamma * scores + memo.forecasts[:6, y]
            scores -= scores.max()
        if memo.known[1] >= MATURE and memo.known[1] >= SHARE * self.known[1]:
            self._teach_combination(memo.level, memo.forecasts[1:], y)
        self._teach((self.last, y, 1), symbols, dense, memo)
        if z >= 0:
            self._teach((1 + z, y, 1), symbols, dense, memo)
        self.known[1] += 1

    def _teach_combination(self, level: int, combined: Array, y: int) -> None:
        said = softmax(self.combination[level] @ combined)
        self.slopes[level] += combined @ said - combined[:, y]
        self.curvature[level] += combined @ (np.diag(said) - np.outer(said, said)) @ combined.T
        self.taught, self.block = self.taught + 1, self.block + 1
        if self.block < min(max(16, self.taught // 20), 500):
            return
        self.block = 0
        ridge = LEAST["combination"] * np.eye(self.slopes.shape[1])
        for place, (slopes, curvature) in enumerate(zip(self.slopes, self.curvature, strict=True)):
            step = np.linalg.solve(curvature + ridge, slopes)
            self.combination[place] -= step * min(1, 0.5 / max(np.abs(step).max(), 1e-9))
        self.slopes[:] = 0

    def _teach(self, lesson: tuple[int, int, int], symbols: Array, dense: Array, memo: Memo) -> None:
        """A symbol for a head, of the proxy (0) or of the outcome (1)."""
        head, target, signal = lesson
        base, _, inputs, levels = self._estimate(head, symbols, dense)
        stacked = self._stack(head, base, inputs, levels)
        then = memo.known[signal]
        if then >= MATURE and then >= SHARE * self.known[signal]:
            asked = memo.inputs[head], memo.levels[head]
            self._teach_stack(head, target, *asked, self._stack(head, base, *asked))
        else:
            self._teach_stack(head, target, inputs, levels, stacked)
        alone = softmax(np.log(base) + inputs[-2], 0.0)
        for which, said in enumerate((alone, stacked)):
            self._teach_regression(which, head, said - (np.arange(len(said)) == target), symbols, dense)
        self._count(head, target, self._values(symbols, dense))

    def _teach_stack(self, head: int, target: int, inputs: Array, levels: list[int], said: Array) -> None:
        mean = inputs @ said
        spread, slope = inputs**2 @ said - mean**2, mean - inputs[:, target]
        for which, each, ridge in ((0, levels[:-1], "stack"), (1, [levels[-1]] * len(inputs), "level")):
            for place, level in enumerate(each):
                self.stacks[2 + which, head, place, level] += spread[place]
                step = slope[place] / (self.stacks[2 + which, head, place, level] + LEAST[ridge])
                self.stacks[which, head, place, level] -= step

    def _teach_regression(self, which: int, head: int, slope: Array, symbols: Array, dense: Array) -> None:
        for term, value in self._terms(symbols, dense):
            key = head, term
            self.squares[which][key] = self.squares[which].get(key, 0) + (slope * value) ** 2
            step = RATES[which] * slope * value / np.sqrt(1 + self.squares[which][key])
            self.weights[which][key] = self.weights[which].get(key, 0) - step

    def _count(self, head: int, target: int, values: list[int]) -> None:
        clock, one = self.known[1 if head else 0], np.arange(self.sizes[head]) == target
        self.whole[head] += one
        for table, (columns, memory) in enumerate(self.tables):
            key = (table, head, *(values[column] for column in columns))
            counts = self.counts.get(key, np.zeros(self.sizes[head]))
            if memory:
                counts = counts * np.exp((self.since.get(key, 0) - clock) / memory)
                self.since[key] = clock
            self.counts[key] = counts + one


def _kept(inputs: Array) -> Array:
    """Inputs as a memo keeps them: in steps that grow, and the last symbol's by the others, with which it sums to 0."""
    first = inputs[:, :-1]
    steps = np.clip(np.rint(10 * first / (1 + np.abs(first) / 5)), -31, 31)
    first = 5 * steps / (50 - np.abs(steps))
    return np.column_stack([first, -first.sum(1)])


def _fine(value: float) -> int:
    """The bin of a number by its size, 16 for each doubling."""
    if value == 0:
        return 0
    step = int(np.floor(16 * np.log2(abs(value)) + 1e-6))
    return (step if value > 0 else step + 7919) % 4095 + 1


def play_reference(learner: ReferenceContexts, episode: Any) -> Array:  # [T, Y]
    """What is said in each round; feedback is learnt at the end of the round in which it is seen, proxies first."""
    proxies, outcomes = defaultdict(list), defaultdict(list)
    for row in range(episode.rounds):
        proxies[int(episode.proxy_seen[row])].append(row)
        outcomes[int(episode.outcome_seen[row])].append(row)
    said: list[Array] = []
    memos: list[Memo] = []
    for now in range(episode.rounds):
        for row in proxies[now - 1] if now else ():
            before = 0 <= episode.outcome_seen[row] < episode.proxy_seen[row]
            other = int(episode.y[row]) if before else -1
            learner.learn_proxy(*_row(episode, row), int(episode.z[row]), other, memos[row])
        for row in outcomes[now - 1] if now else ():
            before = 0 <= episode.proxy_seen[row] <= episode.outcome_seen[row]
            other = int(episode.z[row]) if before else -1
            learner.learn_outcome(*_row(episode, row), other, int(episode.y[row]), memos[row])
        answer, memo = learner.predict(*_row(episode, now))
        said.append(answer)
        memos.append(memo)
    return np.array(said)


def _row(episode: Any, row: int) -> tuple[Array, Array]:
    return episode.x.symbols[row], episode.x.dense[row].astype(np.float64)
