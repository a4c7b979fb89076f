"""Training steps of the residual network in 200 trials, against eager PyTorch and NumPy's matrix products."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from statistics import median
from typing import IO, Any

import numpy as np

from benchmarks.blocks import Tell, alternate, ratios, seconds, spread
from benchmarks.figures import Figure, Target, short
from benchmarks.github import GITHUB, OPERATIONS, TRIALS, Product, products, run_of
from presage import residual_network

ROUNDS = 600
PROCESSES = 2
TORCH_TRIALS = 2  # of each process in a block


def figures(tell: Tell) -> Iterator[Figure]:
    """The driver's steps a second."""
    run = run_of(residual_network(GITHUB), ROUNDS)
    matmul = NumpyProducts()
    blocks: dict[str, Callable[[], float]] = {
        "driver": lambda: run.steps / seconds(run.play),
        "numpy": lambda: TRIALS * matmul.passes / seconds(matmul),
    }
    with ExitStack() as stack:
        if find_spec("torch"):
            each = run.steps // TRIALS
            play = stack.enter_context(torch_processes("benchmarks.torch_worker", str(each)))
            blocks["torch"] = lambda: PROCESSES * TORCH_TRIALS * each / seconds(lambda: play(TORCH_TRIALS))
        else:
            tell("steps/torch: torch is missing, so this ratio is skipped; pip install torch==2.13.0")
        rates = alternate(blocks, tell, "steps")
    driver = spread(rates["driver"])
    if "torch" in rates:
        against = f"{PROCESSES} one-thread PyTorch processes, {short(median(rates['torch']))} steps/s"
        yield Figure("steps/torch", driver, "steps/s", against, ratios(rates["driver"], rates["torch"]), Target(4, 10))
    billions = OPERATIONS / 1e9
    cores = median(matmul.cores)
    against = f"NumPy's matmul on {cores:.1f} cores, {short(median(rates['numpy']) * billions)} GFLOP/s"
    speed = spread([rate * billions for rate in rates["driver"]])
    yield Figure("steps/numpy", speed, "GFLOP/s", against, ratios(rates["driver"], rates["numpy"]), Target(0.45, 0.8))


class NumpyProducts:
    """The matrix products of a training step of all trials, and nothing else."""

    passes = 8

    def __init__(self) -> None:
        self.cores: list[float] = []  # used by each call
        generator = np.random.default_rng(0)
        self._operands = [_operands(generator, product) for product in products()]

    def __call__(self) -> None:
        """Compute them some times over."""
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(self.passes):
            for left, right, out in self._operands:
                np.matmul(left, right, out=out)
        self.cores.append((time.process_time() - processor) / (time.perf_counter() - wall))


def _operands(generator: np.random.Generator, product: Product) -> list[Any]:
    rows, inner, columns = product
    left, right = (generator.standard_normal((TRIALS, *s), np.float32) for s in ((rows, inner), (inner, columns)))
    return [left, right, np.empty((TRIALS, rows, columns), np.float32)]


@contextmanager
def torch_processes(module: str, *arguments: str) -> Iterator[Callable[[int], None]]:
    """A function that has each process play so many trials, all at the same time."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", module, str(seed), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for seed in range(PROCESSES)
    ]

    def play(trials: int) -> None:
        for worker in workers:
            _pipe(worker.stdin).write(f"{trials}\n")
            _pipe(worker.stdin).flush()
        for worker in workers:
            if not _pipe(worker.stdout).readline():
                raise RuntimeError("a PyTorch process ended early; its error is above")

    try:
        yield play
    finally:
        for worker in workers:
            worker.communicate()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe
    return pipe
