from __future__ import annotations

import math

import numba
import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, strategies as st

from lsdt.kernel import special
from naive.worlds import coin_kl, kl_upper

SHARES = st.one_of(st.just(0.0), st.floats(1e-9, 1.0))
LEVELS = st.one_of(st.floats(1e-300, 50.0), st.sampled_from([1e-300, 1e-16, 1e-9, 700.0, 1e6]))


@numba.njit
def upper(mean, level):
    return special.bernoulli_upper(mean, level)


@numba.njit
def upper_of(family, mean, level, variance):
    return special.upper_mean(family, mean, level, variance)


@numba.njit
def kl(family, p, q, variance):
    return special.divergence(family, p, q, variance)


@numba.njit
def gamma(x):
    return special.log_gamma(x)


@given(st.floats(1e-3, 1e12))
def test_log_gamma_is_right_and_the_same_bits_in_the_interpreter(x):
    found, right = gamma(x), scipy.special.gammaln(x)
    assert found == pytest.approx(right, rel=2e-15, abs=2e-14)
    assert found == getattr(special.log_gamma, "py_func", special.log_gamma)(x)


@pytest.mark.parametrize("x", [0.0, -0.5, -1e308, -math.inf, math.nan])
def test_log_gamma_of_anything_else_ends(x):
    assert gamma(x) == math.inf


@given(SHARES, SHARES)
def test_divergence_of_coins_by_definition(p, q):
    assert kl(special.BERNOULLI, p, q, 1.0) == pytest.approx(coin_kl(p, q), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (0.0, 1.0, math.inf),
        (1.0, 0.0, math.inf),
        (0.5, 1.0, math.inf),
        (0.5, 0.0, math.inf),
        (0.0, 0.5, math.log(2.0)),
        (1.0, 0.25, math.log(4.0)),
        (-3.0, 0.5, math.log(2.0)),  # outside [0, 1]: the nearest end
        (0.5, 7.0, math.inf),
    ],
)
def test_divergence_at_the_ends(p, q, expected):
    assert kl(special.BERNOULLI, p, q, 1.0) == expected


def test_gaussian_divergence_and_its_inverse():
    assert kl(special.GAUSSIAN, 1.0, 4.0, 2.0) == 9.0 / 4.0
    assert upper_of(special.GAUSSIAN, 1.0, 9.0 / 4.0, 2.0) == 4.0
    assert upper_of(special.GAUSSIAN, -2.0, 0.0, 2.0) == -2.0


@given(SHARES, LEVELS)
def test_upper_is_what_bisection_finds(p, level):
    """To 1e-9, and what rounding of 1e-16 in the divergence moves q by: about that over sqrt(level)."""
    q = upper(p, level)
    assert p <= q <= 1.0
    rounding = min(1e-15 / math.sqrt(level), 3e-8)
    assert q == pytest.approx(kl_upper("bernoulli", p, level, 1.0), abs=1e-9 + rounding)


@given(st.floats(0.01, 0.9), st.floats(1e-3, 1.0))
def test_upper_spends_the_level(p, level):
    assert coin_kl(p, upper(p, level)) == pytest.approx(level, rel=1e-9)


@given(SHARES, st.floats(1e-4, 10.0), st.floats(1e-4, 10.0))
def test_upper_rises_with_the_level(p, one, other):
    low, high = sorted((one, other))
    assert upper(p, low) <= upper(p, high) + 1e-15


@pytest.mark.parametrize("level", [0.0, 1e-300, 0.3, 5.0, 1e3])
def test_upper_at_the_ends(level):
    """From 0 in closed form: -log(1 - q) = level. From 1 there is nowhere to go."""
    assert upper(0.0, level) == pytest.approx(-math.expm1(-level), abs=1e-15)
    assert upper(-0.5, level) == upper(0.0, level)
    assert upper(1.0, level) == upper(1.5, level) == 1.0


@pytest.mark.parametrize("p", [0.0, 0.2, 0.999999, 1.0])
def test_no_level_no_room(p):
    assert upper(p, 0.0) == p


@given(st.floats(1e-300, 1e-3), st.floats(0.0, 1e-3))
def test_newton_does_not_stall_near_zero(level, p):
    """With log(1 - q) instead of log1p(-q) such searches take tens of thousands of steps, or never end."""
    q = upper(p, level)
    assert p <= q <= p + math.sqrt(level / 2)
    assert coin_kl(p, q) <= 1.001 * level + 1e-15


SHAPES = [1.0, 2.0, 3.5, 10.0, 57.0, 300.0, 2500.0, 1e4]
PROBABILITIES = [1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1 - 1e-4]


@numba.njit
def quantile(share, a, b):
    return special.beta_quantile(share, a, b)


@numba.njit
def cdf(x, a, b):
    return special.beta_cdf(x, a, b)


@pytest.mark.parametrize("a", SHAPES)
def test_quantiles_are_scipys(a):
    for b in SHAPES:
        ours = [quantile(share, a, b) for share in PROBABILITIES]
        expected = scipy.stats.beta.ppf(PROBABILITIES, a, b)
        np.testing.assert_allclose(ours, expected, rtol=1e-9, err_msg=f"{a}, {b}")
        assert ours == sorted(ours), b


@given(st.floats(1e-4, 1 - 1e-4), st.floats(1.0, 1e4), st.floats(1.0, 1e4))
def test_any_shapes(share, a, b):
    assert quantile(share, a, b) == pytest.approx(scipy.stats.beta.ppf(share, a, b), rel=1e-9)


@given(st.floats(0.0, 1.0), st.floats(1.0, 1e4), st.floats(1.0, 1e4))
def test_distribution_function_is_scipys(x, a, b):
    assert cdf(x, a, b) == pytest.approx(scipy.stats.beta.cdf(x, a, b), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("share", PROBABILITIES)
def test_closed_forms(share):
    """Beta(1, 1) is uniform; Beta(a, 1) has the distribution function x**a."""
    assert quantile(share, 1.0, 1.0) == pytest.approx(share, rel=1e-13)
    assert quantile(share, 4.0, 1.0) == pytest.approx(share**0.25, rel=1e-13)
    assert quantile(share, 1.0, 4.0) == pytest.approx(1 - (1 - share) ** 0.25, rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_are_reached(share):
    """lsdt_ts_psi with a horizon of 1 asks for them."""
    assert quantile(share, 3.0, 2.0) == pytest.approx(share, abs=1e-4)


TAILS = [1e-300, 1e-100, 1e-30, 1e-22, 1e-16, 1e-10, 1e-5, 1e-3, 0.01, 0.1, 0.3, 0.49, 0.5]


@numba.njit
def normal_above(share):
    return special.normal_isf(share)


@numba.njit
def beta_above(share, a, b):
    return special.beta_isf(share, a, b)


@numba.njit
def beta_low(share, a, b):
    return special.beta_low_quantile(share, a, b)


@numba.njit
def is_above(share, a, b, other):
    return special.beta_exceeds(share, a, b, other)


@pytest.mark.parametrize("share", TAILS)
def test_the_normal_tail_is_scipys(share):
    """To a few units of rounding, however far out; the other side is the mirror image."""
    assert normal_above(share) == pytest.approx(scipy.stats.norm.isf(share), rel=5e-15, abs=1e-15)
    other = 1.0 - share
    assert normal_above(other) == pytest.approx(-normal_above(1.0 - other), abs=1e-15)


def test_the_ends_of_the_tails():
    assert normal_above(0.0) == math.inf
    assert normal_above(1.0) == -math.inf
    assert [beta_above(share, 3.0, 2.0) for share in (0.0, 1.0)] == [1.0, 0.0]


@given(st.floats(1e-300, 1.0, exclude_max=True))
def test_any_normal_tail(share):
    assert normal_above(share) == pytest.approx(scipy.stats.norm.isf(share), rel=1e-13, abs=1e-15)


WHOLE = [1.0, 2.0, 3.0, 5.0, 10.0, 57.0, 300.0, 2500.0, 1e4, 1e5]


@pytest.mark.parametrize("a", WHOLE)
def test_the_beta_tails_are_scipys(a):
    """Both tails to 11 digits at least, the upper one to 12; scipy gives up beyond 1e-22."""
    for b in WHOLE:
        for share in TAILS[3:]:
            is_middle = a == b and share == 0.5  # where SciPy 1.14.0 returns NaN
            expected = 0.5 if is_middle else scipy.stats.beta.ppf(share, a, b)
            assert beta_low(share, a, b) == pytest.approx(expected, rel=1e-11, abs=0.0), (b, share)
            expected = 0.5 if is_middle else scipy.stats.beta.isf(share, a, b)
            assert beta_above(share, a, b) == pytest.approx(expected, rel=1e-12, abs=1e-15), (b, share)


@given(st.floats(1e-22, 1.0, exclude_max=True), st.integers(1, 10**5), st.integers(1, 10**5))
def test_any_beta_tail(share, a, b):
    assert beta_above(share, a, b) == pytest.approx(scipy.stats.beta.isf(share, a, b), rel=1e-11, abs=1e-14)


@given(st.floats(1e-22, 1.0), st.integers(1, 3000), st.integers(1, 3000), st.floats(0.0, 1.0))
def test_a_tail_is_compared_without_inverting_it(share, a, b, other):
    """Unless the two agree to 12 digits."""
    value = scipy.stats.beta.isf(share, a, b)
    if abs(value - other) > 1e-12:
        assert is_above(share, float(a), float(b), other) == (value > other)
