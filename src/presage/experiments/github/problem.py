"""The GitHub experiment played: a commit history and settings in, losses over time out."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from presage.arrays import log_softmax
from presage.drivers.batched.episodes import block_experts
from presage.experiments.github.moments import Moments, find_moments
from presage.experiments.github.settings import GithubSettings
from presage.experiments.networks import NAMES, train_oracles
from presage.experiments.random_streams import RandomStream, stream
from presage.experiments.report import Stopwatch, binned
from presage.experiments.resumable_parts import Curves, forget_parts, play_parts
from presage.experiments.tuning import TuningScore
from presage.metrics.losses import log_loss
from presage.spaces import Array, Features, Instance, Spaces
from presage.timeline.episode import Delays, Episode
from presage.worlds.repositories import CommitHistory

BIN = 5
"""Rounds whose losses are averaged: the paper's five consecutive data points."""

OUTCOMES = 2

ORACLE_ROWS = 250_000
"""The most moments of a mode that its oracle is trained on."""

Progress = Callable[[int], None]


class AskedMoments(NamedTuple):
    """What is asked in some trials, and what the oracle of the mode loses on it."""

    episode: Episode
    oracle: Array  # [R, T]


class GithubRun(NamedTuple):
    """What was measured: losses by forecaster, [trials, bins], the oracle's too; and the modes themselves."""

    losses: dict[str, Array]
    modes: dict[str, Array]  # of each mode, how often each proxy and outcome: counts [repositories, Z, Y]
    oracle_seconds: float


def spaces_of(settings: GithubSettings, moments: Moments) -> Spaces:
    """Instances are flags and counts; proxies are what the edges divide, outcomes quiet or active."""
    return Spaces(Features(dense=moments.features.shape[1]), len(settings.proxy_edges) + 1, OUTCOMES)


def play_github(history: CommitHistory, settings: GithubSettings, source: str, progress: Progress) -> GithubRun:
    """The experiment on a history; `source` names it, for parts that were finished before."""
    by_mode = find_moments(history, settings)
    spaces = spaces_of(settings, by_mode["A"])
    watch = Stopwatch()
    oracle = oracle_losses(settings, spaces, by_mode)
    oracle_seconds = watch.seconds().run
    forecaster = settings.networks(spaces)

    def play(trials: Array) -> Curves:
        asked = ask(settings, by_mode, oracle, trials)
        losses = block_experts(forecaster, asked.episode, settings.seed, progress, int(trials[0]))
        assert losses.experts is not None
        each = (*losses.experts.swapaxes(0, 1), losses.own, asked.oracle)
        return {name: binned(loss, BIN) for name, loss in zip((*NAMES, "oracle"), each, strict=True)}

    losses = play_parts(parts_of(settings, source), settings.trials, play, progress)
    return GithubRun(
        losses, {mode: _counts(history, spaces, moments) for mode, moments in by_mode.items()}, oracle_seconds
    )


def parts_of(settings: GithubSettings, source: str) -> dict[str, Any]:
    """What a run in parts depends on."""
    return {"experiment": "github", "settings": asdict(settings), "source": source}


def score_github(history: CommitHistory, source: str, settings: GithubSettings) -> TuningScore:
    """The mean loss of each forecaster under some settings."""
    settings = replace(settings, oracle_steps=1)
    run = play_github(history, settings, source, lambda _: None)
    forget_parts(parts_of(settings, source))
    return TuningScore({name: float(run.losses[name].mean()) for name in NAMES}, {})


def ask(settings: GithubSettings, by_mode: dict[str, Moments], oracle: dict[str, Array], trials: Array) -> AskedMoments:
    """Trials of a run: moments of the first mode up to the switch, then of the second; each trial draws its own."""
    lengths = settings.switch, settings.rounds - settings.switch
    parts = []
    for place, (mode, rounds) in enumerate(zip(settings.modes, lengths, strict=True)):
        moments, sizes = by_mode[mode], (len(by_mode[mode].z), rounds)
        drawn = np.stack([stream(settings.seed, RandomStream.TRIAL, place, int(t)).integers(0, *sizes) for t in trials])
        parts.append((moments.features[drawn], moments.z[drawn], moments.y[drawn], oracle[mode][drawn]))
    dense, z, y, losses = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    a_day = settings.rounds_a_week // 7
    delays = Delays(settings.proxy_days * a_day, settings.outcome_days * a_day)
    return AskedMoments(Episode.fixed(_instances(dense), z, y, delays), losses)


def oracle_losses(settings: GithubSettings, spaces: Spaces, by_mode: dict[str, Moments]) -> dict[str, Array]:
    """What a network trained on each mode alone loses at each of its moments."""
    sizes = [len(moments.z) for moments in by_mode.values()]
    size = min(ORACLE_ROWS, max(sizes))
    draw = stream(settings.seed, RandomStream.ORACLE)
    drawn = [draw.choice(rows, size, replace=rows < size) for rows in sizes]
    each = list(zip(by_mode.values(), drawn, strict=True))
    x = _instances(np.stack([moments.features[rows] for moments, rows in each]))
    plan, towers = train_oracles(settings, spaces, x, np.stack([moments.y[rows] for moments, rows in each]))
    found = {}
    for number, (mode, moments) in enumerate(by_mode.items()):
        tower = jax.tree.map(lambda part, number=number: part[number], towers)
        found[mode] = log_loss(log_softmax(plan.logits(tower, _instances(moments.features))), moments.y)
    return found


def _instances(dense: Array) -> Instance:
    return Instance(np.zeros((*dense.shape[:-1], 0), np.int32), dense)


def _counts(history: CommitHistory, spaces: Spaces, moments: Moments) -> Array:
    counts = np.zeros((len(history.repositories), spaces.proxies, spaces.outcomes), np.int64)
    np.add.at(counts, (moments.repository, moments.z, moments.y), 1)
    return counts
