"""The mixture: experts weighted online, so you need not know in advance which is best. The safe default."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from presage.arrays import jax, jnp, log_sum_exp, namespace
from presage.errors import SettingError
from presage.forecasters.contract import Forecast, Forecaster, Memo, Rows, State
from presage.forecasters.direct_table import direct_table
from presage.forecasters.expert_weights import EarlyWeights, OutcomeWeights, Scores, weights
from presage.forecasters.factored_table import factored_table
from presage.forecasters.random_keys import Key
from presage.forecasters.residual_table import residual_table
from presage.settings import between, one_of
from presage.spaces import Array, Instance, Spaces

RULES: dict[str, EarlyWeights | OutcomeWeights] = {"early": EarlyWeights(), "outcomes": OutcomeWeights()}
"""The ways to weigh experts, by name."""


class Mixture(NamedTuple):
    """The states of the experts and their scores."""

    experts: tuple[State, ...]
    scores: Scores


class MixtureMemo(NamedTuple):
    """What each expert predicted, and wants back."""

    log_probabilities: Array  # [K, Y]
    experts: tuple[Memo, ...]


def mixture(
    spaces: Spaces,
    experts: Sequence[Forecaster] | None = None,
    *,
    weighting: Literal["early", "outcomes"] | EarlyWeights | OutcomeWeights = "early",
    share: float = 0.01,
) -> Forecaster:
    """A forecaster that weights experts by their recent losses, using proxies before outcomes arrive.

    Args:
        spaces: the instances, proxies and outcomes.
        experts: the forecasters to mix; direct, factored and residual table if left out. Early weights
            need a residual expert: its now-cast stands in for outcomes.
        weighting: "early", or "outcomes" for Bayes' rule as outcomes arrive (no regret without shifts, but slow after
            one); or either with its own settings.
        share: the minimum weight of an expert.

    >>> from presage import Delays, Episode, play
    >>> episode = Episode.fixed([0] * 9, [1] * 9, [1] * 9, Delays(proxy=0, outcome=2))
    >>> loss = play(mixture(Spaces(1, 2, 2)), episode, key=0)
    >>> bool(loss[8] < loss[0])
    True
    """
    if experts is None:
        experts = (direct_table(spaces), factored_table(spaces), residual_table(spaces))
    rule = RULES[one_of("weighting", weighting, tuple(RULES))] if isinstance(weighting, str) else weighting
    pool = tuple(experts)
    _check_pool(spaces, pool)
    between("share", share, 0.0, 1.0 / len(pool))
    mixed = Pool(pool, _judge(pool, rule), rule, share)
    settings = (
        ("experts", tuple((expert.name, expert.settings) for expert in pool)),
        ("weighting", (type(rule).__name__, *asdict(rule).items())),
        ("share", share),
    )
    replay = next((expert.replay for expert in pool if expert.replay), None)
    return Forecaster(
        "mixture",
        spaces,
        settings,
        replay,
        mixed.init,
        mixed.predict,
        mixed.nowcast,
        mixed.learn,
        mixed.rehearse,
        family="mixture",
        structure=mixed,
    )


@dataclass(frozen=True)
class Pool:
    """Experts, which of them now-casts, and how they are weighted: the functions of their mixture."""

    experts: tuple[Forecaster, ...]
    judge: int
    rule: EarlyWeights | OutcomeWeights
    share: float

    def init(self, key: Key) -> Mixture:
        """Experts that know nothing, all of one weight."""
        states = tuple(expert.init(jax.random.fold_in(key, k)) for k, expert in enumerate(self.experts))
        zeros = jnp.zeros(len(self.experts))
        return Mixture(states, Scores(zeros, jnp.zeros(()), zeros, jnp.zeros(())))

    def predict(self, state: Mixture, x: Instance) -> Forecast:
        """The weighted mean of what the experts predict."""
        forecasts = [expert.predict(own, x) for expert, own in zip(self.experts, state.experts, strict=True)]
        xp = namespace(state.scores.expected)
        each = xp.stack([forecast.log_probabilities for forecast in forecasts])  # [K, Y]
        log_weights = xp.log(weights(state.scores, self.share))
        log_probabilities = log_sum_exp(log_weights[:, None] + each, axis=0)
        return Forecast(log_probabilities, MixtureMemo(each, tuple(forecast.memo for forecast in forecasts)))

    def nowcast(self, state: Mixture, x: Instance, z: Array) -> Array:
        """The judge's now-cast once the proxy is known."""
        return self.experts[self.judge].nowcast(state.experts[self.judge], x, z)

    def learn(self, state: Mixture, proxies: Rows, outcomes: Rows) -> Mixture:
        """The experts and their scores after these rows, one at a time."""
        return _fold(self._learn_outcome, _fold(self._learn_proxy, state, proxies), outcomes)

    def rehearse(self, state: Mixture, proxies: Rows, outcomes: Rows) -> Mixture:
        """The experts after a training step each."""
        each = zip(self.experts, state.experts, strict=True)
        return state._replace(experts=tuple(expert.rehearse(own, proxies, outcomes) for expert, own in each))

    def _learn_proxy(self, state: Mixture, row: Rows) -> Mixture:
        each = self._each(state, _first(row.x))
        # The experts' tables are written only after they have been read.
        learnt = self._experts_learn(state, row._replace(weight=_after(row.weight, each)), _none_of(row))
        scores = self.rule.proxy(state.scores, self._expected_losses(learnt, row, each))
        return learnt._replace(scores=_choose((row.weight > 0) & (row.y < 0), scores, state.scores))

    def _learn_outcome(self, state: Mixture, row: Rows) -> Mixture:
        y = jnp.maximum(row.y[0], 0)
        each = row.memo.log_probabilities[0]  # [K, Y]
        losses = -each[:, y]  # [K]
        expected = self._expected_losses(state, row, each)
        alone = self.rule.outcome_alone(state.scores, losses)
        scores = _choose(row.z >= 0, self.rule.outcome(state.scores, losses, expected), alone)
        # As above, and after the now-cast of the proxy learnt in the same round.
        outcome = row._replace(weight=_after(row.weight, expected + state.scores.expected))
        learnt = self._experts_learn(state, _none_of(row), outcome)
        return learnt._replace(scores=_choose(row.weight > 0, scores, state.scores))

    def _experts_learn(self, state: Mixture, proxies: Rows, outcomes: Rows) -> Mixture:
        return state._replace(
            experts=tuple(
                expert.learn(own, _memos_of(k, proxies), _memos_of(k, outcomes))
                for k, (expert, own) in enumerate(zip(self.experts, state.experts, strict=True))
            )
        )

    def _each(self, state: Mixture, x: Instance) -> Array:  # [K, Y]
        pool = zip(self.experts, state.experts, strict=True)
        return jnp.stack([expert.predict(own, x).log_probabilities for expert, own in pool])

    def _expected_losses(self, state: Mixture, row: Rows, each: Array) -> Array:  # [K]
        likely = jnp.exp(self.nowcast(state, _first(row.x), jnp.maximum(row.z[0], 0)))  # [Y]
        return -(each * likely).sum(-1)


def experts_of(forecaster: Forecaster) -> tuple[Forecaster, ...]:
    """The experts of a mixture, or the forecaster alone."""
    return forecaster.structure.experts if isinstance(forecaster.structure, Pool) else (forecaster,)


def pool_of(forecaster: Forecaster) -> Pool:
    """The pool of a mixture; any other forecaster is refused."""
    if not isinstance(forecaster.structure, Pool):
        raise SettingError("only a mixture has expert weights", forecaster.name, "use a mixture")
    return forecaster.structure


def revisions_of(forecaster: Forecaster) -> dict[str, int]:
    """The revisions of a forecaster and of its experts, by name.

    >>> revisions_of(mixture(Spaces(1, 2, 2)))
    {'direct-table': 1, 'factored-table': 1, 'residual-table': 1, 'mixture': 1}
    """
    experts = forecaster.structure.experts if isinstance(forecaster.structure, Pool) else ()
    found = {name: revision for expert in experts for name, revision in revisions_of(expert).items()}
    return found | {forecaster.name: forecaster.revision}


def _check_pool(spaces: Spaces, pool: tuple[Forecaster, ...]) -> None:
    if not pool:
        raise SettingError("a mixture needs experts", pool, "give at least one forecaster, or leave experts out")
    others = [expert.name for expert in pool if expert.spaces != spaces]
    if others:
        raise SettingError("experts must share the spaces of the mixture", others, "build them with the same Spaces")
    if len({expert.replay for expert in pool if expert.replay}) > 1:
        found = [expert.replay for expert in pool if expert.replay]
        raise SettingError("experts have different replay settings", found, "give them the same Replay")


def _judge(pool: tuple[Forecaster, ...], rule: EarlyWeights | OutcomeWeights) -> int:
    """Which expert now-casts: the last residual one."""
    residual = [k for k, expert in enumerate(pool) if expert.family == "residual"]
    if not residual and isinstance(rule, EarlyWeights):
        found = [expert.name for expert in pool]
        remedy = 'add a residual table or network, or choose weighting="outcomes"'
        raise SettingError("early weights need a residual expert", found, remedy)
    return residual[-1] if residual else len(pool) - 1


def _fold(step: Callable[[Mixture, Rows], Mixture], state: Mixture, rows: Rows) -> Mixture:
    """The state after `step` with each row in turn, a row at a time."""
    if rows.weight.shape[0] == 1:
        return step(state, rows)
    one_by_one = jax.tree.map(lambda part: part[:, None], rows)
    last: Mixture = jax.lax.scan(lambda state, row: (step(state, row), None), state, one_by_one)[0]
    return last


def _choose(condition: Array, then: Scores, otherwise: Scores) -> Scores:
    return Scores(*(jnp.where(condition[0], *both) for both in zip(then, otherwise, strict=True)))


def _after(value: Array, read: Array) -> Array:
    """`value`, not to be used before `read` is computed.

    XLA copies a whole table that is read and then written in one step, unless the write depends on what was read.
    """
    return value + (0 * read.sum()).astype(value.dtype)


def _first(x: Instance) -> Instance:
    return Instance(x.symbols[0], x.dense[0])


def _memos_of(expert: int, rows: Rows) -> Rows:
    return rows._replace(memo=rows.memo.experts[expert])


def _none_of(rows: Rows) -> Any:
    return jax.tree.map(lambda part: part[:0], rows)
