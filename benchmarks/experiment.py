"""The experiments as `presage reproduce` plays them, against an eager PyTorch loop of the same work."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from statistics import median
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.blocks import Tell, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from benchmarks.steps import PROCESSES, torch_processes
from presage.drivers.batched.episodes import block_experts, prepared_blocks
from presage.experiments.github.moments import find_moments
from presage.experiments.github.problem import ask, spaces_of
from presage.experiments.github.settings import PAPER
from presage.experiments.marketplace.problem import acquire
from presage.experiments.marketplace.settings import TUNED
from presage.forecasters.contract import Forecaster
from presage.spaces import Spaces
from presage.timeline.episode import Episode
from presage.worlds.marketplace import MarketplaceSettings
from presage.worlds.repositories import RepositorySettings

TRIALS = 200
TURNS = 3
EACH = 40  # trials of the driver in a turn on CPUs
TORCH_TRIALS = 2  # of each process in a turn
GPU_SECONDS = 5.0


def figures(tell: Tell) -> Iterator[Figure]:
    """Trials a second, compilation and oracles apart."""
    trials = EACH if jax.default_backend() == "cpu" else TRIALS
    if jax.default_backend() != "cpu":
        yield from _on_device(github(trials))
        return
    for experiment in (github(trials), marketplace(trials)):
        yield from _against_torch(experiment, tell)


class Experiment(NamedTuple):
    """Some trials of an experiment."""

    name: str
    settings: Any
    forecaster: Forecaster
    asked: Episode
    a_day: int  # rounds

    def rate(self) -> float:
        """Trials a second."""
        return len(self.asked.z) / seconds(lambda: block_experts(self.forecaster, self.asked, 0))


def github(trials: int) -> Experiment:
    """The networks and some trials of the GitHub experiment, on the embedded world."""
    moments = find_moments(RepositorySettings().deal(0), PAPER)
    oracle = {mode: np.zeros(len(found.z), np.float32) for mode, found in moments.items()}
    asked = ask(replace(PAPER, trials=trials), moments, oracle, np.arange(trials)).episode
    networks = PAPER.networks(spaces_of(PAPER, moments["A"]))
    return Experiment("github", PAPER, networks, asked, PAPER.rounds_a_week // 7)


def marketplace(trials: int) -> Experiment:
    """The networks and some trials of the Staggered schedule, on the embedded market."""
    acquired = acquire(MarketplaceSettings().deal(0), TUNED, "staggered", np.arange(trials))
    networks = TUNED.networks(Spaces(TUNED.launches, 4, 4))
    return Experiment("marketplace", TUNED, networks, acquired.episode, TUNED.rounds_a_day)


def _against_torch(experiment: Experiment, tell: Tell) -> Iterator[Figure]:
    name = f"experiment/{experiment.name}"
    tell(f"{name}: compiling")
    experiment.rate()
    if not find_spec("torch"):
        tell(f"{name}: torch is missing, so the ratio is skipped; pip install torch==2.13.0")
        yield Figure(name, spread([experiment.rate() for _ in range(TURNS)]), "trials/s")
        return
    mine, theirs = [], []
    with torch_processes("benchmarks.torch_experiment", json.dumps(_shape(experiment))) as play:
        for turn in range(TURNS):
            mine.append(experiment.rate())
            theirs.append(PROCESSES * TORCH_TRIALS / seconds(lambda: play(TORCH_TRIALS)))
            tell(f"{name}: turn {turn + 1} of {TURNS}")
    rate, played = short(median(theirs)), PROCESSES * TORCH_TRIALS * TURNS
    against = f"{PROCESSES} one-thread PyTorch processes, {rate} trials/s over {played} trials"
    yield Figure(name, spread(mine), "trials/s", against, ratios(mine, theirs), Target(4, 10))


def _shape(experiment: Experiment) -> dict[str, Any]:
    settings, a_day, spaces = experiment.settings, experiment.a_day, experiment.forecaster.spaces
    return {
        "inputs": spaces.features.dense or spaces.features.symbols[0],
        "proxies": spaces.proxies,
        "outcomes": spaces.outcomes,
        "hidden": settings.hidden,
        "window": settings.buffer,
        "every": settings.every,
        "steps": settings.steps,
        "blocks": experiment.asked.rounds // settings.every,
        "proxies_from": settings.proxy_days * a_day // settings.every,
        "outcomes_from": settings.outcome_days * a_day // settings.every,
        "rate": settings.learning_rate,
        "proxy_rate": settings.proxy_rate,
    }


def _on_device(experiment: Experiment) -> Iterator[Figure]:
    """The whole, and where its time goes: the program, and what the host does before and after it."""
    experiment.rate()
    rates = [experiment.rate() for _ in range(TURNS)]
    program = prepared_blocks(experiment.forecaster, experiment.asked, 0)
    wait: Callable[[object], object] = jax.block_until_ready
    wait(program())
    took = [seconds(lambda: wait(program())) for _ in range(TURNS)]
    copied = [seconds(lambda: jax.tree.map(np.asarray, program())) for _ in range(TURNS)]
    on = f"on {jax.devices()[0].device_kind}, {TRIALS} trials"
    yield Figure("experiment/github", spread(rates), "trials/s", on, target=Target(TRIALS / GPU_SECONDS))
    yield Figure("experiment/whole", spread([TRIALS / rate for rate in rates]), "s", on)
    yield Figure("experiment/program", spread(took), "s", f"{on}: the program alone")
    yield Figure("experiment/copied", spread(copied), "s", f"{on}: with what it said copied to the host")
