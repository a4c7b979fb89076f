"""The core that serves tables and mixtures of them: rows predicted and learnt by counting, in microseconds."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from presage.drivers.counting.episodes import can_count
from presage.drivers.counting.kernels import (
    OUTCOMES,
    PAIRS,
    PROXIES,
    SOURCE,
    Function,
    TableShape,
    TableSizes,
    Weighing,
    compiled,
    count_symbol,
    locate_rows,
    nowcast_judge,
    predict_experts,
    weigh_outcome,
    weigh_proxy,
)
from presage.drivers.counting.layout import lay_out, table_parts
from presage.drivers.lessons import BatchPredictions, Lessons
from presage.errors import SettingError
from presage.forecasters.contract import Forecaster, State
from presage.forecasters.direct_table import DirectTable
from presage.forecasters.expert_weights import EarlyWeights, Scores, weights
from presage.forecasters.factored_table import FactoredTable
from presage.forecasters.mixture import Mixture, Pool, experts_of
from presage.spaces import Array, Instance


@lru_cache(maxsize=64)
def predicting_loop(proxies: int, outcomes: int) -> Function:
    """The loop over rows that predicts, for so many symbols."""
    kernels = SOURCE

    def say_rows(shape: TableShape, sizes: TableSizes, counts: Array, rows: Array, said: Array) -> None:
        """Writes into `said` [1, N, K, Y] what each expert says of instances; `rows` int32 [tables, 1, N]."""
        _ = kernels
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        mixed, symbols = np.empty(outcomes), (proxies, outcomes)
        for row in range(said.shape[1]):
            locate_rows(sizes, rows, 0, row, places)
            predict_experts(counts, shape, sizes.strengths, places, symbols, by_level, mixed, said, 0, row)

    return compiled(say_rows)


@lru_cache(maxsize=64)
def nowcasting_loop(proxies: int, outcomes: int) -> Function:
    """The loop over rows that now-casts, for so many symbols."""
    kernels = SOURCE

    def tell_rows(shape: TableShape, sizes: TableSizes, counts: Array, rows: Array, z: Array, told: Array) -> None:
        """Writes into `told` [N, Y] what the judge tells of instances with proxies z [N]."""
        _ = kernels
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        for row in range(len(z)):
            locate_rows(sizes, rows, 0, row, places)
            nowcast_judge(counts, shape, sizes.strengths, places, z[row], outcomes, by_level, told[row])

    return compiled(tell_rows)


@lru_cache(maxsize=64)
def proxy_learning_loop(proxies: int, outcomes: int) -> Function:
    """The loop over proxies that learns, for so many symbols."""
    kernels = SOURCE

    def learn_proxies(
        shape: TableShape,
        sizes: TableSizes,
        counts: Array,
        rows: Array,
        z: Array,
        y: Array,
        weighing: Weighing,
        scores: Array,
    ) -> None:
        """Learns proxies z [N] in order; y is known (not -1) where the outcome was learnt before.

        `scores` float64 [2 K + 2] are those of `presage.forecasters.expert_weights`: S, B, M and n. Without experts
        to weigh there are none.
        """
        _ = kernels
        experts = len(shape.g)
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        mixed, cast, symbols = np.empty(outcomes), np.empty(outcomes), (proxies, outcomes)
        now, expected = np.empty((1, 1, experts, outcomes)), np.empty(experts)
        for row in range(len(z)):
            locate_rows(sizes, rows, 0, row, places)
            weighs = len(scores) > 0 and weighing.early and y[row] < 0
            if weighs:
                predict_experts(counts, shape, sizes.strengths, places, symbols, by_level, mixed, now, 0, 0)
            count_symbol(counts, shape.kinds, places, PROXIES, 0, z[row], proxies)
            if y[row] >= 0:
                count_symbol(counts, shape.kinds, places, PAIRS, z[row], y[row], outcomes)
            if weighs:
                nowcast_judge(counts, shape, sizes.strengths, places, z[row], outcomes, by_level, cast)
                mean = 0.0
                for expert in range(experts):
                    loss = 0.0
                    for symbol in range(outcomes):
                        loss -= cast[symbol] * np.log(now[0, 0, expert, symbol])
                    expected[expert] = loss
                    mean += loss / experts
                weigh_proxy(scores, expected, mean, weighing.gamma)

    return compiled(learn_proxies)


@lru_cache(maxsize=64)
def outcome_learning_loop(proxies: int, outcomes: int) -> Function:
    """The loop over outcomes that learns, for so many symbols."""
    kernels = SOURCE

    def learn_outcomes(
        shape: TableShape, sizes: TableSizes, counts: Array, rows: Array, z: Array, y: Array, weighing: Weighing,
        scores: Array, memo: Array,
    ) -> None:  # fmt: skip
        """Learns outcomes y [N] in order; z is known (not -1) where the proxy is learnt by now.

        `memo` float32 [N, K, Y] are the log-probabilities that experts gave when the row was asked about.
        """
        _ = kernels
        experts = len(shape.g)
        places = np.empty(len(shape.kinds), np.int64)
        by_level = np.empty((len(shape.parents), proxies * max(proxies, outcomes)))
        cast, fresh = np.empty(outcomes), np.empty(experts)
        for row in range(len(y)):
            locate_rows(sizes, rows, 0, row, places)
            if len(scores):
                matures = weighing.early and z[row] >= 0
                if matures:
                    nowcast_judge(counts, shape, sizes.strengths, places, z[row], outcomes, by_level, cast)
                mean = 0.0
                for expert in range(experts):
                    loss = -memo[row, expert, y[row]]
                    if matures:
                        for symbol in range(outcomes):
                            loss += cast[symbol] * memo[row, expert, symbol]
                    fresh[expert] = loss
                    mean += loss / experts
                weigh_outcome(scores, fresh, mean, matures, weighing.gamma)
            count_symbol(counts, shape.kinds, places, OUTCOMES, 0, y[row], outcomes)
            if z[row] >= 0:
                count_symbol(counts, shape.kinds, places, PAIRS, z[row], y[row], outcomes)

    return compiled(learn_outcomes)


class LearntCounts(NamedTuple):
    """All that a tally has learnt."""

    counts: Array  # float64 [cells]
    scores: Array  # float64 [2 K + 2]: S, B, M and n of a mixture's weights; none of a single table


class TableFunctions:
    """A table or a mixture of tables, as functions over counts.

    >>> from presage import Spaces, mixture
    >>> tally = TableFunctions(mixture(Spaces(instances=10, proxies=4, outcomes=2)))
    >>> x = tally.forecaster.spaces.encode([3])
    >>> np.exp(tally.predict(tally.start(), x).log_probabilities).round(3)
    array([[0.5, 0.5]], dtype=float32)
    """

    def __init__(self, forecaster: Forecaster) -> None:
        if not can_count(forecaster):
            raise SettingError("only tables can be counted", forecaster.name, "use NetworkCore")
        self.forecaster = forecaster
        pool, experts = forecaster.structure, experts_of(forecaster)
        self._pool = pool if isinstance(pool, Pool) else None
        self._judge = self._pool.judge if self._pool else 0
        self._through_proxies = table_parts(experts[self._judge]).h is not None
        self._laid = lay_out(experts, self._judge if self._through_proxies else None)
        self._symbols = forecaster.spaces.proxies, forecaster.spaces.outcomes
        self._experts = len(experts)
        rule = self._pool.rule if self._pool else None
        self._weighing = Weighing(isinstance(rule, EarlyWeights), getattr(rule, "gamma", 1.0))

    @property
    def memo_width(self) -> int:
        """How many numbers are kept with a prediction."""
        return self._experts * self._symbols[1] if self._pool else 0

    def shapes(self) -> LearntCounts:
        """The shapes of what is learnt."""
        return LearntCounts((self._laid.sizes.cells,), (2 * self._experts + 2 if self._pool else 0,))

    def start(self) -> LearntCounts:
        """What is known before anything is learnt."""
        return LearntCounts(*(np.zeros(shape) for shape in self.shapes()))

    def moved(self, learnt: LearntCounts, other: "TableFunctions") -> LearntCounts:
        """The same counts and scores laid out for the same forecaster over larger spaces."""
        counts = np.zeros(other.shapes().counts[0])
        for table, ((ours, _), (theirs, _)) in enumerate(zip(self._laid.tables, other._laid.tables, strict=True)):
            width, first = int(self._laid.sizes.widths[table]), int(self._laid.sizes.first[table])
            there = int(other._laid.sizes.first[table])
            rows = learnt.counts[first : first + ours.rows * width].reshape(ours.rows, width)
            places = counts[there : there + theirs.rows * width].reshape(theirs.rows, width)
            np.add.at(places, ours.rows_in(theirs), rows)
        return LearntCounts(counts, learnt.scores.copy())

    def predict(self, learnt: LearntCounts, x: Instance) -> BatchPredictions:
        """What is said of instances [N, ...]."""
        said = self._each(learnt, x)
        if self._pool is None:
            return BatchPredictions(said[:, 0], np.zeros((len(said), 0), np.float32))
        mixed = np.einsum("k,nky->ny", self.weights(learnt), np.exp(said))
        return BatchPredictions(np.log(mixed).astype(np.float32), said.reshape(len(said), -1))

    def weights(self, learnt: LearntCounts) -> Array:  # float64 [K]
        """The weight of each expert of a mixture."""
        assert self._pool is not None
        return weights(self._scores(learnt), self._pool.share)

    def nowcast(self, learnt: LearntCounts, x: Instance, z: Array) -> Array:  # float32 [N, Y]
        """The log-probabilities of the outcomes of instances [N, ...] whose proxies are known."""
        if not self._through_proxies:
            return self._each(learnt, x)[:, self._judge]
        told = np.empty((len(z), self._symbols[1]))
        loop = nowcasting_loop(*self._symbols)
        loop(self._laid.shape, self._laid.sizes, learnt.counts, self._rows(x), z.astype(np.int64), told)
        return np.log(told).astype(np.float32)

    def learn(self, learnt: LearntCounts, proxies: Lessons, outcomes: Lessons) -> None:
        """Learn from a batch, in place: the proxies in order, then the outcomes."""
        shared = self._laid.shape, self._laid.sizes, learnt.counts
        if len(proxies.z):
            loop = proxy_learning_loop(*self._symbols)
            loop(*shared, self._rows(proxies.x), proxies.z, proxies.y, self._weighing, learnt.scores)
        if len(outcomes.y):
            loop, memo = (
                outcome_learning_loop(*self._symbols),
                outcomes.memo.reshape(len(outcomes.y), -1, self._symbols[1]),
            )
            loop(*shared, self._rows(outcomes.x), outcomes.z, outcomes.y, self._weighing, learnt.scores, memo)

    def state(self, learnt: LearntCounts) -> State:
        """The state of the forecaster itself, from the same counts and scores."""
        states = tuple(self._state_of(expert, learnt.counts) for expert in experts_of(self.forecaster))
        if self._pool is None:
            return states[0]
        return Mixture(states, Scores(*(np.asarray(part, np.float32) for part in self._scores(learnt))))

    def _state_of(self, expert: Forecaster, counts: Array) -> DirectTable | FactoredTable:
        h, g = table_parts(expert)
        if h is None:
            return DirectTable(self._laid.counts(counts, g, OUTCOMES))
        return FactoredTable(self._laid.counts(counts, h, PROXIES), self._laid.counts(counts, g, PAIRS))

    def _scores(self, learnt: LearntCounts) -> Scores:
        of, scores = self._experts, learnt.scores
        return Scores(scores[:of], scores[2 * of], scores[of : 2 * of], scores[2 * of + 1])

    def _each(self, learnt: LearntCounts, x: Instance) -> Array:  # float32 [N, K, Y]
        said = np.empty((1, len(x.symbols), self._experts, self._symbols[1]), np.float32)
        predicting_loop(*self._symbols)(self._laid.shape, self._laid.sizes, learnt.counts, self._rows(x), said)
        return np.log(said[0])

    def _rows(self, x: Instance) -> Array:  # int32 [tables, 1, N]
        return self._laid.rows(x.symbols)[:, None]
