"""How long an experiment takes, compilation apart."""

import time
from collections.abc import Callable
from typing import Any

import jax.monitoring
from numba.core import event as numba_events

from presage.experiments.report import Seconds

_compiling = [0.0]


def _traced(event: str, duration_secs: float, **_: str | int) -> None:
    if event.startswith("/jax/core/compile/"):
        _compiling[0] += duration_secs


jax.monitoring.register_event_duration_secs_listener(_traced)
_timer: Callable[[], Any] = numba_events.TimingListener
_listen: Callable[[str, Any], None] = numba_events.register
_numba = _timer()
_listen("numba:compile", _numba)


class Stopwatch:
    """Starts when it is made; what JAX and numba report as tracing and compiling counts as compilation."""

    def __init__(self) -> None:
        self._started, self._compiled = time.perf_counter(), _compiled()

    def seconds(self) -> Seconds:
        """The seconds so far."""
        total = time.perf_counter() - self._started
        compiling = min(_compiled() - self._compiled, total)
        return Seconds(compiling, total - compiling)


def _compiled() -> float:
    return _compiling[0] + float(_numba.duration if _numba.done else 0.0)
