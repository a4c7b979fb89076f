"""The special functions that estimates and tests need: the few for which SciPy would be installed.

They agree with SciPy's to 13 digits; tail probabilities with millions of degrees of freedom to 7.

Formulas are those of Abramowitz and Stegun: 6.1.40 and 6.3.18 (log-gamma and digamma), 6.5.29 and 6.5.31 (incomplete
gamma), 26.5.8 (incomplete beta).
"""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from presage.spaces import Array

NORMAL_975 = 1.959963984540054
"""The upper end of the central 95 % of a normal distribution."""

SHIFT = 10
"""By recurrence arguments are moved up by this much, to where the asymptotic series have all their digits."""

LOG_GAMMA_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)

EPSILON = float(np.finfo(np.float64).eps)
TINY = 1e-300
"""Stands in for 0 in a denominator (Lentz's method)."""


def x_log_y(x: Array, y: Array) -> Array:
    """The product x ln y, and 0 where x is 0."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    with np.errstate(divide="ignore"):  # ln 0 is minus infinity
        return x * np.log(np.where(x == 0, 1.0, y))


def log_gamma(x: Array) -> Array:
    """The logarithm of Gamma(x) for x > 0.

    >>> round(float(np.exp(log_gamma(5.0))), 12)
    24.0
    """
    high, product, _ = _shifted(x)
    series = _horner(LOG_GAMMA_SERIES, 1 / high**2) / high
    return (high - 0.5) * np.log(high) - high + 0.5 * math.log(2 * math.pi) + series - np.log(product)


def digamma(x: Array) -> Array:
    """The derivative of ln Gamma at x > 0.

    >>> round(float(digamma(1.0)), 12)  # less Euler's constant
    -0.577215664902
    """
    high, product, slope = _shifted(x)
    return np.log(high) - 0.5 / high - _horner(DIGAMMA_SERIES, 1 / high**2) / high**2 - slope / product


def chi_square_tail(freedom: float, value: float) -> float:
    """The probability that a chi-square with `freedom` exceeds `value`.

    >>> round(chi_square_tail(2, 2 * math.log(20)), 12)
    0.05
    """
    a, x = float(freedom) / 2, float(value) / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        return 1 - front * _gamma_series(a, x)
    return front / _lentz(x + 1 - a, ((-k * (k - a), x + 2 * k + 1 - a) for k in _from_one()))


def f_tail(freedom: float, freedom_within: float, value: float) -> float:
    """The probability that an F with these degrees of freedom exceeds `value`.

    >>> round(f_tail(2, 2, 19.0), 12)
    0.05
    """
    if value <= 0:
        return 1.0
    between, within = float(freedom) * float(value), float(freedom_within)
    total = between + within
    return _beta_share(within / 2, float(freedom) / 2, within / total, between / total)


@cache
def student_975(freedom: int) -> float:
    """The upper end of the central 95 % of Student's distribution.

    >>> round(student_975(1), 3), round(student_975(10**6), 3)
    (12.706, 1.96)
    """
    # Above the mean the distribution function is concave: from below, Newton's steps never pass the root.
    front = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    end, step = NORMAL_975, 1.0
    while step > 4 * EPSILON * end:
        density = front * math.exp(-(freedom + 1) / 2 * math.log1p(end**2 / freedom))
        step = (f_tail(1, freedom, end**2) / 2 - 0.025) / density
        end += step
    return end


def _shifted(x: Array) -> tuple[Array, Array, Array]:
    """Where x + SHIFT lies, and the product x (x + 1) ... (x + SHIFT - 1) with its derivative."""
    high = np.array(x, np.float64)
    product, slope = np.ones_like(high), np.zeros_like(high)
    for _ in range(SHIFT):
        slope *= high
        slope += product
        product *= high
        high += 1
    return high, product, slope


def _horner(coefficients: tuple[float, ...], x: Array) -> Array:
    """c_0 + c_1 x + c_2 x^2 + ..."""
    found = np.zeros_like(x)
    for coefficient in reversed(coefficients):
        found *= x
        found += coefficient
    return found


def _gamma_series(a: float, x: float) -> float:
    """The sum of x^k / (a (a + 1) ... (a + k))."""
    term = total = 1 / a
    for k in _from_one():
        term *= x / (a + k)
        total += term
        if term < EPSILON * total:
            break
    return total


def _beta_share(a: float, b: float, x: float, rest: float) -> float:
    """The incomplete beta function I_x(a, b), where rest = 1 - x."""
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on one side only
        return 1 - _beta_share(b, a, rest, x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest))

    def parts() -> Iterator[tuple[float, float]]:
        yield 1.0, 1.0
        for m in _from_one():
            yield -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1)), 1.0
            yield m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), 1.0

    return front * _lentz(0.0, parts()) / a


def _lentz(first: float, parts: Iterator[tuple[float, float]]) -> float:
    """The continued fraction first + a_1 / (b_1 + a_2 / (b_2 + ...)) of parts (a, b)."""
    found = upper = first or TINY
    lower = 0.0
    for above, below in parts:
        lower = 1 / (below + above * lower or TINY)
        upper = below + above / upper or TINY
        found *= upper * lower
        if abs(upper * lower - 1) < EPSILON:
            break
    return found


def _from_one() -> Iterator[int]:
    return iter(range(1, 10**7))
