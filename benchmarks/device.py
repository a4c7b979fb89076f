"""Training steps of the residual network in 200 trials on whatever device JAX has: no torch, no rival."""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import jax
import numpy as np

from benchmarks.blocks import Spread, Tell, alternate, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from benchmarks.github import GITHUB, Run, run_of
from presage import Replay, residual_network
from presage.drivers.trial_losses import Losses
from presage.drivers.xla.episodes import prepared
from presage.drivers.xla.timetable import lay_out_episode

GPU_STEPS = 1_000_000
GPU_ROUNDS, CPU_ROUNDS = 4_000, 400


def figures(tell: Tell) -> Iterator[Figure]:
    """Steps a second with four predictions each, and with one; and where the time goes."""
    rounds = CPU_ROUNDS if jax.default_backend() == "cpu" else GPU_ROUNDS
    default = run_of(residual_network(GITHUB), rounds)
    pure = run_of(residual_network(GITHUB, replay=Replay(every=1)), rounds)
    first = {"every-4": seconds(default.play), "every-1": seconds(pure.play)}
    tell(f"device: compiled for {_device()}")
    took = alternate({"every-4": lambda: seconds(default.play), "every-1": lambda: seconds(pure.play)}, tell, "device")
    yield from _programs(default, pure, tell)
    yield from _steps(default, pure, took["every-4"], took["every-1"])
    for name, run in (("every-4", default), ("every-1", pure)):
        yield from _split(f"device/{name}", run, first[name], took[name])


def _programs(default: Run, pure: Run, tell: Tell) -> Iterator[Figure]:
    """The compiled programs alone, all trials at once and their arrays on the device already."""
    target = None if jax.default_backend() == "cpu" else Target(GPU_STEPS)
    programs = {"every-4": prepared(*default[:2], 0), "every-1": prepared(*pure[:2], 0)}
    blocks = {name: partial(seconds, partial(_waited_for, program)) for name, program in programs.items()}
    for compiling in blocks.values():
        compiling()
    took = alternate(blocks, tell, "device/program")
    rates = [default.steps / t for t in took["every-4"]], [pure.steps / t for t in took["every-1"]]
    on = f"on {_device()}: the program alone, "
    yield Figure("device/program", spread(rates[1]), "steps/s", f"{on}1 prediction a step", target=target)
    yield Figure("device/program-every-4", spread(rates[0]), "steps/s", f"{on}4 predictions a step")


def _waited_for(program: Callable[[], Losses]) -> None:
    np.asarray(program().own)


def _steps(default: Run, pure: Run, took: list[float], took_pure: list[float]) -> Iterator[Figure]:
    rates, pure_rates = [default.steps / t for t in took], [pure.steps / t for t in took_pure]
    on = f"on {_device()}, {short(default.steps)} steps a block, 4 predictions each, checks and transfers included"
    yield Figure("device/steps", spread(rates), "steps/s", on)
    against = f"4 predictions a step, {short(median(rates))} steps/s; here 1 (every=1)"
    yield Figure("device/pure", spread(pure_rates), "steps/s", against, ratios(pure_rates, rates))


def _split(name: str, run: Run, first: float, took: list[float]) -> Iterator[Figure]:
    """The seconds of compiling and of a run, and of laying out episodes on the host, which is part of a run."""
    compiled = max(0.0, first - median(took))
    yield Figure(f"{name}/compile", Spread(compiled, compiled, compiled), "s", "or loading from the compile cache")
    yield Figure(f"{name}/run", spread(took), "s", f"{short(run.steps)} steps, transfers included")
    forecaster = run.forecaster
    dealt = [seconds(lambda: lay_out_episode(forecaster.spaces, forecaster.replay, run.trials)) for _ in took]
    yield Figure(f"{name}/deal", spread(dealt), "s", "checking and laying out the episodes, part of the run")


def _device() -> str:
    return str(jax.devices()[0].device_kind)
