"""Special functions against SciPy's, and against closed forms."""

import math

import numpy as np
import pytest
import scipy.special

from presage.metrics import special

ARGUMENTS = np.geomspace(1e-12, 1e12, 10_001)
SHARES = (1e-6, 0.01, 0.1, 0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0, 50.0)


def test_log_gamma_and_digamma_are_those_of_scipy() -> None:
    for ours, theirs in ((special.log_gamma, scipy.special.gammaln), (special.digamma, scipy.special.psi)):
        np.testing.assert_allclose(ours(ARGUMENTS), theirs(ARGUMENTS), rtol=1e-13, atol=1e-13)


def test_a_product_with_zero_is_zero_and_the_logarithm_of_zero_is_infinite() -> None:
    x, y = np.array([0.0, 0.0, 2.0, 1.0]), np.array([0.0, 3.0, 3.0, 0.0])
    assert special.x_log_y(x, y).tolist() == scipy.special.xlogy(x, y).tolist()


@pytest.mark.parametrize("freedom", [1, 2, 7.5, 40, 1000])
def test_tails_of_chi_square_are_those_of_scipy(freedom: float) -> None:
    for share in SHARES:
        expected = scipy.special.chdtrc(freedom, share * freedom)
        assert special.chi_square_tail(freedom, share * freedom) == pytest.approx(expected, rel=1e-11, abs=1e-290)


@pytest.mark.parametrize("freedom", [1, 2, 7, 40, 1000])
@pytest.mark.parametrize("within", [1, 2.5, 30, 1e3, 1e5])
def test_tails_of_f_are_those_of_scipy(freedom: int, within: float) -> None:
    for value in SHARES:
        expected = scipy.special.fdtrc(freedom, within, value)
        assert special.f_tail(freedom, within, value) == pytest.approx(expected, rel=1e-9, abs=1e-290)


def test_nothing_lies_below_zero() -> None:
    assert special.chi_square_tail(3, -1e-12) == special.f_tail(3, 4, -1e-12) == 1.0


def test_students_quantile_has_its_closed_forms_and_goes_over_into_the_normal() -> None:
    assert special.student_975(1) == pytest.approx(math.tan(0.475 * math.pi), rel=1e-13)
    assert special.student_975(2) == pytest.approx(0.95 / math.sqrt(2 * 0.975 * 0.025), rel=1e-13)
    for freedom in (3, 4, 10, 511, 10**4):
        assert special.student_975(freedom) == pytest.approx(scipy.special.stdtrit(freedom, 0.975), rel=1e-11)
    assert special.student_975(10**8) == pytest.approx(special.NORMAL_975, rel=1e-7)
