"""Tables, and mixtures of them, learnt batch after batch by counting: the same numbers, in microseconds.

What is learnt is one array of counts, each kept once however many experts read it, and the scores of the experts. Both
may lie in memory that processes share. Nothing here needs JAX.
"""

from typing import NamedTuple

import numpy as np

from presage.drivers.counted import can_count
from presage.drivers.kernels import Weighing
from presage.drivers.layout import lay_out
from presage.drivers.lessons import Lessons
from presage.drivers.tallying import outcomes_loop, proxies_loop, saying_loop, telling_loop
from presage.errors import SettingError
from presage.forecasters.contract import Forecaster
from presage.forecasters.expert_weights import EarlyWeights, Scores, weights
from presage.forecasters.mixture import Pool, experts_of
from presage.spaces import Array, Instance


class Counts(NamedTuple):
    """All that a tally has learnt."""

    counts: Array  # float64 [cells]
    scores: Array  # float64 [2 K + 2]: S, B, M and n of a mixture's weights; none of a single table


class Said(NamedTuple):
    """What was predicted of N rows."""

    log_probabilities: Array  # float32 [N, Y]
    memo: Array  # float32 [N, M]: what each expert said, to be given back with the outcome; none of a single table


class Tally:
    """A table or a mixture of tables, as functions over counts.

    >>> from presage import Spaces, mixture
    >>> tally = Tally(mixture(Spaces(instances=10, proxies=4, outcomes=2)))
    >>> x = tally.forecaster.spaces.encode([3])
    >>> np.exp(tally.predict(tally.start(), x).log_probabilities).round(3)
    array([[0.5, 0.5]], dtype=float32)
    """

    def __init__(self, forecaster: Forecaster) -> None:
        if not can_count(forecaster):
            raise SettingError("only tables can be tallied", forecaster.name, "use BatchLearner")
        self.forecaster = forecaster
        pool, experts = forecaster.made_of, experts_of(forecaster)
        self._pool = pool if isinstance(pool, Pool) else None
        self._judge = self._pool.judge if self._pool else 0
        self._through_proxies = experts[self._judge].made_of.h is not None
        self._laid = lay_out(experts, self._judge if self._through_proxies else None)
        self._symbols = forecaster.spaces.proxies, forecaster.spaces.outcomes
        self._experts = len(experts)
        rule = self._pool.rule if self._pool else None
        self._weighing = Weighing(isinstance(rule, EarlyWeights), getattr(rule, "gamma", 1.0))

    @property
    def memo_width(self) -> int:
        """How many numbers are kept with a prediction."""
        return self._experts * self._symbols[1] if self._pool else 0

    def shapes(self) -> Counts:
        """The shapes of what is learnt."""
        return Counts((self._laid.sizes.cells,), (2 * self._experts + 2 if self._pool else 0,))

    def start(self) -> Counts:
        """What is known before anything is learnt."""
        return Counts(*(np.zeros(shape) for shape in self.shapes()))

    def predict(self, learnt: Counts, x: Instance) -> Said:
        """What is said of instances [N, ...]."""
        said = self._each(learnt, x)
        if self._pool is None:
            return Said(said[:, 0], np.zeros((len(said), 0), np.float32))
        mixed = np.einsum("k,nky->ny", self.weights(learnt), np.exp(said))
        return Said(np.log(mixed).astype(np.float32), said.reshape(len(said), -1))

    def weights(self, learnt: Counts) -> Array:  # float64 [K]
        """The weight of each expert of a mixture."""
        assert self._pool is not None
        of, scores = self._experts, learnt.scores
        return weights(Scores(scores[:of], scores[2 * of], scores[of : 2 * of], scores[2 * of + 1]), self._pool.share)

    def nowcast(self, learnt: Counts, x: Instance, z: Array) -> Array:  # float32 [N, Y]
        """The log-probabilities of the outcomes of instances [N, ...] whose proxies are known."""
        if not self._through_proxies:
            return self._each(learnt, x)[:, self._judge]
        told = np.empty((len(z), self._symbols[1]))
        loop = telling_loop(*self._symbols)
        loop(self._laid.shape, self._laid.sizes, learnt.counts, self._rows(x), z.astype(np.int64), told)
        return np.log(told).astype(np.float32)

    def learn(self, learnt: Counts, proxies: Lessons, outcomes: Lessons) -> None:
        """Learn from a batch, in place: the proxies in order, then the outcomes."""
        shared = self._laid.shape, self._laid.sizes, learnt.counts
        if len(proxies.z):
            loop = proxies_loop(*self._symbols)
            loop(*shared, self._rows(proxies.x), proxies.z, proxies.y, self._weighing, learnt.scores)
        if len(outcomes.y):
            loop, memo = outcomes_loop(*self._symbols), outcomes.memo.reshape(len(outcomes.y), -1, self._symbols[1])
            loop(*shared, self._rows(outcomes.x), outcomes.z, outcomes.y, self._weighing, learnt.scores, memo)

    def _each(self, learnt: Counts, x: Instance) -> Array:  # float32 [N, K, Y]
        said = np.empty((1, len(x.symbols), self._experts, self._symbols[1]), np.float32)
        saying_loop(*self._symbols)(self._laid.shape, self._laid.sizes, learnt.counts, self._rows(x), said)
        return np.log(said[0])

    def _rows(self, x: Instance) -> Array:  # int32 [tables, 1, N]
        return self._laid.rows(x.symbols)[:, None]
