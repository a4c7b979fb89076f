"""The marketplace experiment played: a market and settings in, losses over time out."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import jax
import numpy as np

from presage.arrays import log_softmax
from presage.drivers.batched.episodes import block_experts
from presage.experiments.marketplace.schedules import SCHEDULES, chances, draw_items
from presage.experiments.marketplace.settings import MarketplaceRunSettings
from presage.experiments.networks import NAMES, train_oracles
from presage.experiments.random_streams import RandomStream, stream
from presage.experiments.report import Stopwatch, binned
from presage.experiments.resumable_parts import Curves, forget_parts, play_parts
from presage.experiments.tuning import TuningScore
from presage.forecasters.towers import Tower
from presage.metrics.losses import log_loss
from presage.spaces import Array, Spaces
from presage.timeline.episode import Delays, Episode
from presage.worlds.marketplace import ENGAGEMENTS, Market

BINS_A_DAY = 24

ORACLE_ROWS = 20_000
"""Acquisitions of a half day that its oracle is trained on."""

Progress = Callable[[int], None]


class Acquired(NamedTuple):
    """The acquisitions of some trials, and what a forecaster that knew every item loses on them."""

    episode: Episode
    true_loss: Array  # [R, T]
    schedule: Array  # [2 days, items], of the first of them
    truth: Array  # [items, Y]: p(y|item), of the first


class ScheduleRun(NamedTuple):
    """What was measured on one schedule."""

    losses: dict[str, Array]  # by forecaster, [trials, bins]; "truth" too
    schedule: Array  # [2 days, items], of the first trial
    oracle: Array | None  # [bins]: the losses of the trained oracles on the first trial, if they were trained
    oracle_seconds: float = 0.0


def play_marketplace(
    market: Market, settings: MarketplaceRunSettings, source: str, progress: Progress, *, oracles: bool = True
) -> dict[str, ScheduleRun]:
    """Both schedules on a market; `source` names it, for parts that were finished before.

    Training the `oracles` takes minutes.
    """
    for schedule in SCHEDULES:  # too few items are found out before anything is played
        draw_items(market, settings, schedule, np.random.default_rng(0))
    runs = {schedule: _play(market, settings, schedule, source, progress) for schedule in SCHEDULES}
    return {name: _with_oracles(market, settings, name, run) for name, run in runs.items()} if oracles else runs


def parts_of(settings: MarketplaceRunSettings, source: str, schedule: str) -> dict[str, Any]:
    """What a run in parts depends on."""
    return {"experiment": "marketplace", "schedule": schedule, "settings": asdict(settings), "source": source}


def score_marketplace(market: Market, source: str, settings: MarketplaceRunSettings) -> TuningScore:
    """The mean loss of each forecaster over both schedules, and how regret compares with direct's on each."""
    runs = play_marketplace(market, settings, source, lambda _: None, oracles=False)
    for schedule in SCHEDULES:
        forget_parts(parts_of(settings, source, schedule))
    losses = {name: float(np.mean([run.losses[name].mean() for run in runs.values()])) for name in NAMES}
    known = settings.outcome_days * BINS_A_DAY
    figures = {}
    for schedule, run in runs.items():
        since = {name: (run.losses[name] - run.losses["truth"])[:, known:].mean() for name in NAMES}
        for name in NAMES[1:3]:
            figures[f"{schedule}: {name} / direct"] = float(since[name] / since["direct"])
    return TuningScore(losses, figures)


def _play(
    market: Market, settings: MarketplaceRunSettings, schedule: str, source: str, progress: Progress
) -> ScheduleRun:
    forecaster, size = settings.networks(spaces_of(settings, schedule)), settings.rounds_a_day // BINS_A_DAY

    def play(trials: Array) -> Curves:
        acquired = acquire(market, settings, schedule, trials)
        losses = block_experts(forecaster, acquired.episode, settings.seed, progress, int(trials[0]))
        assert losses.experts is not None
        each = (*losses.experts.swapaxes(0, 1), losses.own, acquired.true_loss)
        return {name: binned(loss, size) for name, loss in zip((*NAMES, "truth"), each, strict=True)}

    losses = play_parts(parts_of(settings, source, schedule), settings.trials, play, progress)
    return ScheduleRun(losses, acquire(market, settings, schedule, np.arange(1)).schedule, None)


def _with_oracles(market: Market, settings: MarketplaceRunSettings, schedule: str, run: ScheduleRun) -> ScheduleRun:
    watch = Stopwatch()
    first = acquire(market, settings, schedule, np.arange(1))
    oracle = oracle_losses(settings, spaces_of(settings, schedule), first)
    size = settings.rounds_a_day // BINS_A_DAY
    return run._replace(oracle=binned(oracle[None], size)[0], oracle_seconds=watch.seconds().run)


def spaces_of(settings: MarketplaceRunSettings, schedule: str) -> Spaces:
    """Instances are the items of a schedule; proxies and outcomes are kinds of engagement."""
    items = settings.launches if schedule == "staggered" else settings.items
    return Spaces(items, len(ENGAGEMENTS), len(ENGAGEMENTS))


def acquire(market: Market, settings: MarketplaceRunSettings, schedule: str, trials: Array) -> Acquired:
    """Trials of a run; each draws items and acquisitions of its own."""
    each = [_acquire_one(market, settings, schedule, int(trial)) for trial in trials]
    x, z, y, losses, shares, truth = zip(*each, strict=True)
    delays = Delays(settings.proxy_days * settings.rounds_a_day, settings.outcome_days * settings.rounds_a_day)
    return Acquired(Episode.fixed(np.stack(x), np.stack(z), np.stack(y), delays), np.stack(losses), shares[0], truth[0])


def _acquire_one(market: Market, settings: MarketplaceRunSettings, schedule: str, trial: int) -> tuple[Array, ...]:
    draw = stream(settings.seed, RandomStream.TRIAL, SCHEDULES.index(schedule), trial)
    items = draw_items(market, settings, schedule, draw)
    shares = chances(market, settings, schedule, items)
    half = np.repeat(np.arange(2 * settings.days), settings.rounds_a_day // 2)
    x = _choose(shares[half], draw)
    z = _choose(market.proxies[items[x]], draw)
    y = _choose(market.outcomes[items[x], z], draw)
    truth = np.einsum("iz,izy->iy", market.proxies[items], market.outcomes[items])
    return x, z, y, -np.log(truth[x, y]), shares, truth


def _choose(chance: Array, draw: np.random.Generator) -> Array:
    """A symbol for each row of probabilities."""
    reached = chance.cumsum(axis=-1)
    reached /= reached[..., -1:]  # rounding must not leave a gap at the top
    return (reached < draw.random((*chance.shape[:-1], 1))).sum(axis=-1).astype(np.int32)


def oracle_losses(settings: MarketplaceRunSettings, spaces: Spaces, first: Acquired) -> Array:
    """What networks trained on each half day alone lose on the first trial, [T]."""
    draw = stream(settings.seed, RandomStream.ORACLE)
    x = np.stack([_choose(np.broadcast_to(row, (ORACLE_ROWS, len(row))), draw) for row in first.schedule])
    y = _choose(first.truth[x], draw)
    everything = spaces.encode(np.arange(len(first.truth), dtype=np.int32))
    plan, towers = train_oracles(settings, spaces, spaces.encode(x), y)
    said = [log_softmax(plan.logits(_one_of(towers, half), everything)) for half in range(len(first.schedule))]
    half = np.repeat(np.arange(2 * settings.days), settings.rounds_a_day // 2)
    return log_loss(np.stack(said)[half, first.episode.x[0]], first.episode.y[0])


def _one_of(towers: Tower, number: int) -> Tower:
    one: Tower = jax.tree.map(lambda part: part[number], towers)
    return one
