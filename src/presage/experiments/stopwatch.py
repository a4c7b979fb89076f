"""How long an experiment takes, compilation apart."""

import time

import jax.monitoring

from presage.experiments.report import Seconds

_compiling = [0.0]


def _listen(event: str, duration_secs: float, **_: str | int) -> None:
    if event.startswith("/jax/core/compile/"):
        _compiling[0] += duration_secs


jax.monitoring.register_event_duration_secs_listener(_listen)


class Stopwatch:
    """Starts when it is made; what JAX reports as tracing and compiling counts as compilation."""

    def __init__(self) -> None:
        self._started, self._compiled = time.perf_counter(), _compiling[0]

    def seconds(self) -> Seconds:
        """The seconds so far."""
        total = time.perf_counter() - self._started
        compiling = min(_compiling[0] - self._compiled, total)
        return Seconds(compiling, total - compiling)
