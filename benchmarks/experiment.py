"""The GitHub experiment as `presage reproduce github` plays it, against an eager PyTorch loop of the same work."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from statistics import median

import jax
import numpy as np

from benchmarks.blocks import Tell, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from benchmarks.steps import PROCESSES, torch_processes
from presage.drivers.blocks import block_experts, prepared_blocks
from presage.experiments.github.moments import find_moments
from presage.experiments.github.problem import ask, spaces_of
from presage.experiments.github.settings import PAPER
from presage.forecasters.contract import Forecaster
from presage.timeline.episode import Episode
from presage.worlds.repositories import RepositorySettings

TRIALS = 200
TURNS = 3
EACH = 40  # trials of the driver in a turn on CPUs
TORCH_TRIALS = 2  # of each process in a turn
GPU_SECONDS = 5.0


def figures(tell: Tell) -> Iterator[Figure]:
    """Seconds for 200 trials, compilation and oracles apart."""
    moments = find_moments(RepositorySettings().deal(0), PAPER)
    oracle = {mode: np.zeros(len(found.z), np.float32) for mode, found in moments.items()}
    spaces = spaces_of(PAPER, moments["A"])
    forecaster = PAPER.networks(spaces)
    trials = EACH if jax.default_backend() == "cpu" else TRIALS
    asked = ask(replace(PAPER, trials=trials), moments, oracle, np.arange(trials)).episode

    def ours() -> float:
        return trials / seconds(lambda: block_experts(forecaster, asked, 0))

    tell("experiment: compiling")
    ours()
    if jax.default_backend() != "cpu":
        yield from _on_device(forecaster, asked, [ours() for _ in range(TURNS)])
        return
    if not find_spec("torch"):
        tell("experiment: torch is missing, so the ratio is skipped; pip install torch==2.13.0")
        yield Figure("experiment/github", spread([ours() for _ in range(TURNS)]), "trials/s")
        return
    a_day, every = PAPER.rounds_a_week // 7, PAPER.every
    feedback = [days * a_day // every for days in (PAPER.proxy_days, PAPER.outcome_days)]
    shape = (spaces.features.dense, PAPER.rounds // every, *feedback)
    mine, theirs = [], []
    with torch_processes("benchmarks.torch_github", *map(str, shape)) as play:
        for turn in range(TURNS):
            mine.append(ours())
            theirs.append(PROCESSES * TORCH_TRIALS / seconds(lambda: play(TORCH_TRIALS)))
            tell(f"experiment: turn {turn + 1} of {TURNS}")
    rate, played = short(median(theirs)), PROCESSES * TORCH_TRIALS * TURNS
    against = f"{PROCESSES} one-thread PyTorch processes, {rate} trials/s over {played} trials"
    yield Figure("experiment/github", spread(mine), "trials/s", against, ratios(mine, theirs), Target(4, 10))


def _on_device(forecaster: Forecaster, asked: Episode, rates: list[float]) -> Iterator[Figure]:
    """The whole, and where its time goes: the program, and what the host does before and after it."""
    program = prepared_blocks(forecaster, asked, 0)
    wait: Callable[[object], object] = jax.block_until_ready
    wait(program())
    took = [seconds(lambda: wait(program())) for _ in range(TURNS)]
    copied = [seconds(lambda: jax.tree.map(np.asarray, program())) for _ in range(TURNS)]
    on = f"on {jax.devices()[0].device_kind}, {TRIALS} trials"
    yield Figure("experiment/github", spread(rates), "trials/s", on, target=Target(TRIALS / GPU_SECONDS))
    yield Figure("experiment/whole", spread([TRIALS / rate for rate in rates]), "s", on)
    yield Figure("experiment/program", spread(took), "s", f"{on}: the program alone")
    yield Figure("experiment/copied", spread(copied), "s", f"{on}: with what it said copied to the host")
