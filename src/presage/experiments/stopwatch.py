"""How long an experiment takes, compilation apart."""

import time
from typing import NamedTuple

from presage.drivers.compile_time import compiling_seconds


class Seconds(NamedTuple):
    """How long something took, compilation apart."""

    compile: float
    run: float


class Stopwatch:
    """Starts when it is made; what JAX and numba report as tracing and compiling counts as compilation."""

    def __init__(self) -> None:
        self._started, self._compiled = time.perf_counter(), compiling_seconds()

    def seconds(self) -> Seconds:
        """The seconds so far."""
        total = time.perf_counter() - self._started
        compiling = min(compiling_seconds() - self._compiled, total)
        return Seconds(compiling, total - compiling)
