"""A backtest: a log replayed in the order things became known, and scored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from presage.backtesting.families import stand_ins
from presage.backtesting.leak_check import LeakCheck, check_leaks
from presage.backtesting.outcome_rates import OutcomeRates, outcome_rates
from presage.backtesting.over_time import OverTime, TimeBlocks, ahead_since, block_means, losses_over_time, time_blocks
from presage.backtesting.proxy_gain import gain_of_proxy, gain_over_shuffled, known_from
from presage.backtesting.reliance import RestsOn, rests_on
from presage.backtesting.replay import Said, replay
from presage.backtesting.rival_verdict import RivalScore
from presage.backtesting.score_columns import score_json
from presage.backtesting.scores import Score, plain_json, score_log
from presage.backtesting.segments import Compared, Segment, score_segments, segments_json
from presage.backtesting.verdict import ProxyGain, loss_of, verdict
from presage.drivers.contexts.episodes import stretch_contexts
from presage.drivers.counting.episodes import can_count, stretch_mixture
from presage.drivers.threads import over_cores
from presage.errors import DataError
from presage.forecasters.catalogue import chosen_forecasters, facts_of, named_forecasters
from presage.forecasters.contexts.layout import MEMBERS, ContextLayout
from presage.forecasters.contract import Forecaster
from presage.forecasters.mixture import Pool, experts_of
from presage.logs.guards.leak_guards import LogWarning
from presage.logs.rows import LogRows, SignalRows
from presage.logs.signals import NEVER_AT
from presage.metrics.bootstrap import LEAST, bootstrap_mean
from presage.metrics.intervals import Interval
from presage.metrics.losses import log_loss
from presage.spaces import Array, Spaces
from presage.task.task import Task
from presage.timeline.arrivals import as_rounds
from presage.timeline.episode import NEVER, Episode


def to_episode(rows: LogRows, proxy: str | None = None) -> Episode:
    """The log as an episode with one of its proxies, or the first: each row is a round.

    In a log that a service exported a row sees what lay before the position of its model; otherwise what became known
    before it was shown.
    """
    revealed = rows.proxy(proxy)
    proxy_seen, outcome_seen = (rounds_seen(rows, signal) for signal in (revealed, rows.outcome))
    return Episode.varying(rows.instances, revealed.symbols, rows.outcome.symbols, proxy_seen, outcome_seen)


def rounds_seen(rows: LogRows, signal: SignalRows) -> Array:
    """The round at whose end each row of a signal is seen: int64 [N]."""
    if rows.models is None or signal.position is None:
        return seen(rows.shown_at, signal.known_at)
    return seen(rows.models, signal.position)


def seen(shown_at: Array, known_at: Array) -> Array:
    """The round at whose end feedback is seen, for each moment it becomes known: int64 [N].

    That is the last round shown no later, so rows of one instant do not see each other's feedback, nor does a row see
    what becomes known in its very instant. What becomes known after the last row is seen by none of them: it gets the
    round after the last, as in an episode with fixed delays, so that it still counts in the twin without delay. What
    never becomes known gets -1.

    >>> seen(np.array([10, 10, 20]), np.array([10, 15, 25]))
    array([1, 1, 3])
    """
    rounds: Array = np.searchsorted(shown_at, known_at, side="right") - 1
    rounds[known_at > shown_at[-1]] = len(shown_at)
    rounds[known_at == NEVER_AT] = NEVER
    return rounds


def new_rows(identity: Array, proxy_seen: Array, outcome_seen: Array) -> Array:  # bool [N]
    """Rows of an instance of which a proxy had been seen by then, and no outcome yet.

    >>> new_rows(np.zeros(4, int), np.array([0, 1, 2, 3]), np.array([2, 3, 4, 5])).tolist()
    [False, True, True, False]
    """
    rounds = np.arange(len(identity))
    first_proxy, first_outcome = (_first(identity, seen)[identity] for seen in (proxy_seen, outcome_seen))
    return (first_proxy < rounds) & (rounds <= first_outcome)


def _first(identity: Array, seen: Array) -> Array:
    """The round at whose end feedback of each instance is first seen."""
    first = np.full(int(identity.max(initial=0)) + 1, np.iinfo(np.int32).max, np.int64)
    np.minimum.at(first, identity, as_rounds(seen))
    return first


def family_weights(forecaster: Forecaster, episode: Episode, blocks: TimeBlocks) -> dict[str, Array] | None:
    """The mean weight [B] of each family of a mixture's experts in each block of time; None for other forecasters.

    The mixture must be of tables, or the default.
    """
    layout = forecaster.structure
    if isinstance(layout, ContextLayout):
        each_family = [family for _, family in MEMBERS]
        stretches = (part.weights.T for part in stretch_contexts(layout, episode, weights=True))
    elif isinstance(layout, Pool) and can_count(forecaster):
        each_family = [expert.family for expert in experts_of(forecaster)]
        stretches = (mixed.weights for mixed in stretch_mixture(forecaster, episode))
    else:
        return None
    families = list(dict.fromkeys(each_family))
    belongs = np.array([[own == family for own in each_family] for family in families], np.float32)  # [F, K]
    weights = np.concatenate([belongs @ part for part in stretches], axis=1)  # [F, N]
    return {family: block_means(each, blocks) for family, each in zip(families, weights, strict=True)}


def delay_costs(
    forecasters: dict[str, Forecaster], said: Said, episode: Episode, seed: int, tell: Callable[[str], None]
) -> dict[str, Interval]:
    """How much more each forecaster loses, row by row, than its twin that sees all feedback at the end of its round."""
    at_once = replay(forecasters, episode.without_delay(), seed, tell)

    def cost(name: str) -> Interval:
        return bootstrap_mean(log_loss(said[name], episode.y) - log_loss(at_once[name], episode.y))

    return dict(zip(forecasters, over_cores(cost, forecasters), strict=True))


DEFAULT = "mixture"
MARGINAL = "marginal"


class BacktestSeconds(NamedTuple):
    """How long a backtest took."""

    read: float
    compile: float
    run: float


@dataclass(frozen=True)
class Backtest:
    """The results of a backtest."""

    rows: int
    instances: int
    rates: OutcomeRates
    scores: dict[str, Score]
    proxy_gain: ProxyGain | None
    over_time: OverTime
    leak_check: LeakCheck
    said: Said
    compared: Compared
    segments: tuple[Segment, ...] = ()
    warnings: tuple[LogWarning, ...] = ()
    rivals: Mapping[str, RivalScore] = field(default_factory=dict)
    rests_on: RestsOn | None = None  # where it was asked for

    @property
    def best(self) -> str:
        """The forecaster with the least loss, in hindsight."""
        return self.compared.best

    @property
    def verdict(self) -> list[str]:
        """What it comes to, in plain words: warnings of the log first."""
        return [*(warning.words for warning in self.warnings), self.rates.sentence, *self.judged]

    @property
    def judged(self) -> list[str]:
        """The verdict without warnings and the base rate."""
        if self.rates.one_outcome:
            return [self.rates.one_outcome]
        note, warned = self.rates.seldom, bool(self.warnings)
        scores = {name: score for name, score in self.scores.items() if name not in self.rivals}
        said = verdict(scores, self.proxy_gain, self.leak_check, DEFAULT, warned=warned, note=note)
        rests = [self.rests_on.sentence] if self.rests_on and self.rests_on.sentence else []
        return [*said, *rests, *(score.sentence(name, DEFAULT) for name, score in self.rivals.items())]

    def as_json(self, seconds: BacktestSeconds) -> dict[str, Any]:
        """The results as JSON values."""
        gain = self.proxy_gain
        return {
            "rows": self.rows,
            "instances": self.instances,
            "seconds": {name: round(value, 3) for name, value in seconds._asdict().items()},
            "forecasters": {name: score_json(score) for name, score in self.scores.items()},
            "best": self.best,
            "default": DEFAULT,
            "leak_check": self.leak_check._asdict(),
            "verdict": self.verdict,
            "warnings": [warning.as_json() for warning in self.warnings],
            **self.rates.as_json(),
            "proxy_gain": gain and {"forecaster": gain.name, **plain_json(gain.over.as_json())},
            "gain_percent": gain and plain_json(gain.percent._asdict()),
            "gain_percent_over_shuffled": gain and plain_json(gain.shuffled_json()),
            "by": segments_json(self.segments, self.compared),
            "over_time": self.over_time.as_json(),
            **({"rivals": {name: score.as_json() for name, score in self.rivals.items()}} if self.rivals else {}),
            **({"rests_on": self.rests_on.as_json()} if self.rests_on else {}),
        }


def groups_of(task: Task) -> tuple[tuple[int, ...], ...]:
    """The symbol columns through which tables back off, coarse to fine."""
    return facts_of(task).groups


def table_names(task: Task) -> tuple[str, ...]:
    """The forecasters of a backtest that names none: all tables, and their mixture."""
    found = named_forecasters(groups_of(task)).items()
    return tuple(name for name, each in found if not each.network and not each.ablation)


def played_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The forecasters that are played when these are asked for: the marginal is, always."""
    return tuple(dict.fromkeys((MARGINAL, *names)))


def spaces_of(task: Task, rows: LogRows, proxy: str | None) -> Spaces:
    """The spaces of a log with one of its proxies."""
    return task.spaces_of(rows.features, proxy)


def run_backtest(
    task: Task,
    rows: LogRows,
    names: tuple[str, ...],
    seed: int,
    tell: Callable[[str], None],
    *,
    proxy: str | None = None,
    twins: bool = False,
    by: Mapping[str, str] | None = None,
) -> Backtest:
    """The forecasters of these names over the rows of a log; `tell` is told of each that is done.

    With `twins` each is played again without delays, which tells what waiting costs it. `by` are columns that were read
    beside those of the task, by the names that segments are told by.
    """
    episode = to_episode(rows, proxy)
    scored = rows.outcome.symbols >= 0
    known = int(scored.sum())
    if known < LEAST:
        remedy = f"give one with at least {LEAST} outcomes that are known, or a shorter horizon"
        raise DataError("too few rows of the log can be scored", known, remedy)
    spaces = spaces_of(task, rows, proxy)
    forecasters = chosen_forecasters(played_names(names), spaces, facts_of(task, proxy))
    said = replay(forecasters, episode, seed, tell)
    identity = rows.instances.symbols[:, 0]
    first = int(as_rounds(episode.outcome_seen).min()) + 1  # later than all rows if none saw an outcome
    new = new_rows(identity, episode.proxy_seen, episode.outcome_seen)
    scores = score_log(said, episode.y, new, rows.group, log_loss(said[MARGINAL], episode.y), first=first)
    if twins:
        costs = delay_costs(forecasters, said, episode, seed, tell)
        scores = {name: score.with_delay_cost(costs[name]) for name, score in scores.items()}
    blocks = time_blocks(rows.shown_at, scored, in_rows=task.in_rows)
    gain = gain_of_proxy(said, episode.y, new, first, scores)
    if gain:
        gain = gain_over_shuffled(gain, forecasters[gain.name], said, episode, new=new, first=first, seed=seed)
        lead = log_loss(said[gain.over.against], episode.y) - log_loss(said[gain.name], episode.y)
        since = ahead_since(lead, first)
        gain = gain._replace(since=None if since is None else blocks.told(int(rows.shown_at[since])))
    compared = _compared(scores, gain)
    columns = {name: (rows.extra or {})[column] for name, column in (by or {}).items()}
    return Backtest(
        len(identity),
        len(np.unique(identity)),
        outcome_rates(task, rows, proxy),
        scores,
        gain,
        losses_over_time(said, episode.y, new, blocks, first),
        check_leaks(forecasters, spaces, episode, seed),
        said,
        compared,
        tuple(score_segments(task, columns, said, known_from(first, episode.y), compared)),
        rows.warnings,
    )


def _compared(scores: dict[str, Score], gain: ProxyGain | None) -> Compared:
    """What segments are scored with."""
    best = min(scores, key=lambda name: loss_of(scores[name]))
    direct = gain.over.against if gain else stand_ins({name: loss_of(scores[name]) for name in scores}).get("direct")
    return Compared(DEFAULT if DEFAULT in scores else None, direct, best, gain.name if gain else None)


def default_rests_on(
    task: Task, rows: LogRows, found: Backtest, tell: Callable[[str], None], proxy: str | None
) -> RestsOn:
    """What the default rests on: the features without which it would lose most; none where it was not played."""
    if DEFAULT not in found.scores:
        return RestsOn((), task.instance[0].name, 0, found.rows)
    default = chosen_forecasters((DEFAULT,), spaces_of(task, rows, proxy), facts_of(task, proxy))[DEFAULT]
    return rests_on(task, default, to_episode(rows, proxy), found.said[DEFAULT], tell)


def default_weights(task: Task, rows: LogRows, found: Backtest, proxy: str | None) -> dict[str, Array] | None:
    """How much the default trusted each family of its experts over time; None where it was not played."""
    if DEFAULT not in found.scores:
        return None
    forecaster = chosen_forecasters((DEFAULT,), spaces_of(task, rows, proxy), facts_of(task, proxy))[DEFAULT]
    return family_weights(forecaster, to_episode(rows, proxy), found.over_time.blocks)
