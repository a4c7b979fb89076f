"""The default forecaster beside the paper's networks, on the same trials of the GitHub and marketplace experiments.

`python -m benchmarks beside github|marketplace [--data FOLDER] [--seeds 0-11] [--trials 200] [--networks 20]`: regret,
and on GitHub the weeks to recover after the switch. The default plays all trials, the networks and their mixture the
first `--networks` of each seed, none with 0. Trials of several seeds are pooled; ratios are of the same trials.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from presage.cli.experiment_data import commit_sources, market_sources
from presage.cli.output import Seeds
from presage.drivers.batched.episodes import block_experts
from presage.drivers.play import play_trials
from presage.experiments.claims import MIXTURE, Measure
from presage.experiments.github.claims import SHARES, recovery_weeks
from presage.experiments.github.moments import find_moments
from presage.experiments.github.problem import BIN, ask, oracle_losses
from presage.experiments.github.problem import spaces_of as github_spaces
from presage.experiments.github.settings import PAPER
from presage.experiments.marketplace.problem import BINS_A_DAY, acquire
from presage.experiments.marketplace.problem import spaces_of as marketplace_spaces
from presage.experiments.marketplace.schedules import SCHEDULES
from presage.experiments.marketplace.settings import TUNED
from presage.experiments.networks import NAMES, NetworkSettings
from presage.experiments.random_streams import RandomStream, stream
from presage.experiments.report import binned
from presage.experiments.resumable_parts import PART
from presage.forecasters.contexts.context_mixture import context_mixture
from presage.forecasters.contract import Forecaster
from presage.metrics.intervals import Interval, mean_interval, ratio_interval
from presage.spaces import Array
from presage.timeline.episode import Episode

RESAMPLES = 300
SINGLES = NAMES[:3]

Asked = Callable[[Array], tuple[Episode, Array]]
"""The episodes of some trials, by number, and what the truth loses on them, [trials, rounds]."""


class Played(NamedTuple):
    """Mean losses of bins of rounds; networks only have those trials that they played."""

    default: Array  # [trials, bins]
    truth: Array  # [trials, bins]
    paired: Array  # bool [trials]: networks played it, too
    networks: dict[str, Array]  # [paired trials, bins]
    size: int  # rounds of a bin

    def regrets(self, first: int) -> dict[str, Array]:
        """The regret from a bin on, of the default on all trials and of each forecaster on those of networks."""
        truth = self.truth[self.paired]
        own = {"default": self.default - self.truth, "default, the same trials": self.default[self.paired] - truth}
        found = own | {name: losses - truth for name, losses in self.networks.items()}
        return {name: self.size * gap[:, first:].sum(axis=1, dtype=np.float64) for name, gap in found.items()}


def report(arguments: list[str]) -> Iterator[str]:
    """The tables of an experiment, line by line."""
    given = _read(arguments)
    if given.experiment == "github":
        played = _github(given)
        yield from _regret_table("github: regret to the trained oracles", played)
        yield from _recovery_table(played)
        return
    for schedule in SCHEDULES:
        played = _marketplace(given, schedule)
        starts = {"all days": 0, "from day 7": 7 * BINS_A_DAY, "last third": 2 * played.default.shape[1] // 3}
        for words, first in starts.items():
            yield from _regret_table(f"{schedule}: regret, {words}", played, first)


def _read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks beside")
    parser.add_argument("experiment", choices=("github", "marketplace"))
    parser.add_argument("--data", type=Path, help="a folder of real data; without it, embedded worlds")
    parser.add_argument("--seeds", default="0", help="such as 0-11")
    parser.add_argument("--trials", type=int, default=200, help="that the default plays, for each seed")
    parser.add_argument("--networks", type=int, default=PART, help="that the networks play, for each seed")
    given = parser.parse_args(arguments)
    given.seeds = Seeds().convert(given.seeds, None, None)
    return given


def _github(given: argparse.Namespace) -> Played:
    source, runs = commit_sources(given.data, ()), []
    for seed in given.seeds:
        settings = replace(PAPER, trials=given.trials, seed=seed)
        moments = find_moments(source(seed)[0], settings)
        spaces = github_spaces(settings, moments["A"])
        oracle = oracle_losses(settings, spaces, moments)

        def asked(trials: Array, settings: Any = settings, of: Any = (moments, oracle)) -> tuple[Episode, Array]:
            found = ask(settings, of[0], of[1], trials)
            return found.episode, found.oracle

        runs.append(_play_seed(given, settings, context_mixture(spaces), asked, BIN))
    return _pooled(runs)


def _marketplace(given: argparse.Namespace, schedule: str) -> Played:
    """Proxies and outcomes are the same kinds of engagement, and a task file would tell the default so."""
    source, runs = market_sources(given.data, (), max(TUNED.launches, TUNED.items)), []
    for seed in given.seeds:
        settings, market = replace(TUNED, trials=given.trials, seed=seed), source(seed)[0]
        spaces = marketplace_spaces(settings, schedule)

        def asked(trials: Array, settings: Any = settings, market: Any = market) -> tuple[Episode, Array]:
            found = acquire(market, settings, schedule, trials)
            return found.episode, found.true_loss

        default = context_mixture(spaces, same=tuple(range(spaces.proxies)))
        runs.append(_play_seed(given, settings, default, asked, TUNED.rounds_a_day // BINS_A_DAY))
    return _pooled(runs)


def _play_seed(
    given: argparse.Namespace, settings: NetworkSettings, default: Forecaster, asked: Asked, size: int
) -> Played:
    """The trials of a seed, part by part."""
    networks, parts = settings.networks(default.spaces), []
    seconds = np.zeros(2)
    for first in range(0, given.trials, PART):
        trials = np.arange(first, min(first + PART, given.trials))
        episode, truth = asked(trials)
        started = time.perf_counter()
        own = play_trials(default, episode, 0)
        seconds[0] += time.perf_counter() - started
        paired, each = trials < given.networks, {}
        if paired.any():
            some = asked(trials[paired])[0]
            started = time.perf_counter()
            losses = block_experts(networks, some, settings.seed, None, first)
            assert losses.experts is not None
            each = dict(zip(NAMES, (*losses.experts.swapaxes(0, 1), losses.own), strict=True))
            seconds[1] += time.perf_counter() - started
        parts.append(
            Played(binned(own, size), binned(truth, size), paired, {k: binned(v, size) for k, v in each.items()}, size)
        )
        took = f"the default {seconds[0]:.1f} s, networks {seconds[1]:.1f} s"
        print(f"{given.experiment}: seed {settings.seed}, {trials[-1] + 1} trials, {took}", file=sys.stderr, flush=True)
    return _pooled(parts)


def _pooled(runs: list[Played]) -> Played:
    """The trials of several as those of one."""
    default, truth, paired = (np.concatenate(part) for part in list(zip(*runs, strict=True))[:3])
    with_networks = [run.networks for run in runs if run.networks]
    networks = {name: np.concatenate([each[name] for each in with_networks]) for name in NAMES if with_networks}
    return Played(default, truth, paired, networks, runs[0].size)


def _regret_table(title: str, played: Played, first: int = 0) -> Iterator[str]:
    """The regret of each forecaster from a bin on, and its ratio to that of the best single network."""
    regrets = played.regrets(first)
    yield f"\n{title}\n\n| forecaster | trials | regret | over the best single network | at most {MIXTURE} |"
    yield "|---|---|---|---|---|"
    best = min(SINGLES, key=lambda name: float(regrets[name].mean())) if played.networks else ""
    for name, regret in regrets.items():
        compared = "|"
        if best and name != "default":
            ratio = Measure(name, ratio_interval(regret, regrets[best]), most=MIXTURE)
            compared = f"{ratio.interval} | {'' if name in SINGLES else ratio.verdict.value}"
        if len(regret) > 1:
            yield f"| {name} | {len(regret)} | {mean_interval(regret)} | {compared} |"


def _recovery_table(played: Played) -> Iterator[str]:
    """The weeks that each forecaster takes to make up a share of what the switch cost, by its mean losses."""
    shares = " | ".join(f"{share:.0%}" for share in SHARES)
    yield f"\ngithub: weeks to recover after the switch\n\n| forecaster | {shares} |\n|---|{'---|' * len(SHARES)}"
    for name, losses in ({"default": played.default} | played.networks).items():
        yield f"| {name} | {' | '.join(str(_weeks(losses, share)) for share in SHARES)} |"


def _weeks(losses: Array, share: float) -> Interval:
    """The weeks with an interval over trials drawn again."""
    draw, trials = stream(PAPER.seed, RandomStream.RESAMPLE, 2), len(losses)
    weights = draw.multinomial(trials, np.full(trials, 1 / trials), RESAMPLES) / trials
    low, high = np.percentile([recovery_weeks(PAPER, mean, share) for mean in weights @ losses], [2.5, 97.5])
    return Interval(recovery_weeks(PAPER, losses.mean(axis=0), share), float(low), float(high))
