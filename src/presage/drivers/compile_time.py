"""How long compilers have worked, as JAX and numba report it; and numba started without what loops do not use."""

import importlib
import sys
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


def start_numba_without_blas() -> None:
    """Start numba without BLAS, which it looks for in scipy: a quarter of a second that our loops have no use for.

    For commands, whose process is their own: loops of others that multiply matrices could no longer be compiled.
    """
    modules: dict[str, Any] = sys.modules
    blas = "scipy.linalg.cython_blas"
    if blas not in modules:
        modules[blas] = None  # for the time of one import it is not to be found
        try:
            importlib.import_module("numba.np.arraymath")
        finally:
            del modules[blas]
