"""How the loops of the default forecaster are compiled, and exponentials and logarithms that become vector code."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

Function = Callable[..., Any]
njit: Function = numba.njit  # its stubs lack some options
compiled: Callable[[Function], Function] = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
inlined: Callable[[Function], Function] = njit(
    nogil=True, error_model="numpy", _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
"""Into the loops of `presage.forecasters.contexts.loops`, which alone can be called from Python. Nothing in them makes
an array, and without `_nrt` numba would count references at every call, which takes half of the time."""

POSITIVE = np.int64((1 << 62) - 1)
"""Masked with it, a place is known not to be negative: otherwise every index is checked, and loops stay scalar."""
ZERO, ONE, MAGIC = np.float32(0), np.float32(1), np.float32(3 * 2.0**22)
"""A float32 added to the last is rounded to a whole number, in its lowest bits."""
ONE_BITS, HALF_BITS, MANTISSA = np.int32(0x3F800000), np.int32(0x3F3504F3), np.int32(23)
LOG2E, LN2_HIGH, LN2_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
MOST_EXP = np.float32(87)


@inlined
def exp32(value: Any) -> Any:
    """The exponential of a float32 within 2 units of its last place, at the nearest of -87 and 87.

    Unlike those of the library, it and `log32` compile to vector code, and are the same on every machine.
    """
    value = min(max(value, -MOST_EXP), MOST_EXP)
    shifted = value * LOG2E + MAGIC
    doublings = shifted - MAGIC
    rest = value - doublings * LN2_HIGH
    rest = rest - doublings * LN2_LOW
    power = np.float32(1.9875691500e-4) * rest + np.float32(1.3981999507e-3)
    power = power * rest + np.float32(8.3334519073e-3)
    power = power * rest + np.float32(4.1665795894e-2)
    power = power * rest + np.float32(1.6666665459e-1)
    power = power * rest + np.float32(5.0000001201e-1)
    power = power * (rest * rest) + rest + ONE
    return power * np.int32(np.int32(np.float32(shifted).view(np.int32) << MANTISSA) + ONE_BITS).view(np.float32)


@inlined
def log32(value: np.float32) -> np.float32:
    """The logarithm of a float32 within 2 units of its last place; the value is above 1e-37 and finite."""
    bits = np.float32(value).view(np.int32)
    doublings = np.int32(np.int32(bits - HALF_BITS) >> MANTISSA)
    rest = np.int32(bits - np.int32(doublings << MANTISSA)).view(np.float32) - ONE
    power = np.float32(7.0376836292e-2) * rest + np.float32(-1.1514610310e-1)
    power = power * rest + np.float32(1.1676998740e-1)
    power = power * rest + np.float32(-1.2420140846e-1)
    power = power * rest + np.float32(1.4249322787e-1)
    power = power * rest + np.float32(-1.6668057665e-1)
    power = power * rest + np.float32(2.0000714765e-1)
    power = power * rest + np.float32(-2.4999993993e-1)
    power = power * rest + np.float32(3.3333331174e-1)
    square, count = rest * rest, np.float32(doublings)
    power = power * (rest * square) + count * LN2_LOW - np.float32(0.5) * square
    return (rest + power) + count * LN2_HIGH
