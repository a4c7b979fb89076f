"""How long compilers have worked, as JAX and numba report it."""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba.core import event as numba_events

_traced = [0.0]

_timer: Callable[[], Any] = numba_events.TimingListener
_listen: Callable[[str, Any], None] = numba_events.register
_numba = _timer()
_listen("numba:compile", _numba)


def compiling_seconds() -> float:
    """The seconds spent on tracing and compiling so far."""
    return _traced[0] + float(_numba.duration if _numba.done else 0.0)


@cache
def listen_to_jax(register: Callable[..., None]) -> None:
    """Have JAX's compilation counted from now on, given the function that registers listeners."""

    def traced(event: str, duration_secs: float, **_: str | int) -> None:
        if event.startswith("/jax/core/compile/"):
            _traced[0] += duration_secs

    register(traced)
