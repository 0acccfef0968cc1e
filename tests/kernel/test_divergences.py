from __future__ import annotations

import math

import numba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsdt.kernel import divergences
from naive.worlds import coin_kl, kl_upper

SHARES = st.one_of(st.just(0.0), st.floats(1e-9, 1.0))
LEVELS = st.one_of(st.floats(1e-300, 50.0), st.sampled_from([1e-300, 1e-16, 1e-9, 700.0, 1e6]))


@numba.njit
def upper(mean, level):
    return divergences.bernoulli_upper(mean, level)


@numba.njit
def upper_of(family, mean, level, variance):
    return divergences.upper_mean(family, mean, level, variance)


@numba.njit
def kl(family, p, q, variance):
    return divergences.divergence(family, p, q, variance)


@given(SHARES, SHARES)
def test_divergence_of_coins_by_definition(p, q):
    assert kl(divergences.BERNOULLI, p, q, 1.0) == pytest.approx(coin_kl(p, q), rel=1e-12, abs=1e-15)


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
    assert kl(divergences.BERNOULLI, p, q, 1.0) == expected


def test_gaussian_divergence_and_its_inverse():
    assert kl(divergences.GAUSSIAN, 1.0, 4.0, 2.0) == 9.0 / 4.0
    assert upper_of(divergences.GAUSSIAN, 1.0, 9.0 / 4.0, 2.0) == 4.0
    assert upper_of(divergences.GAUSSIAN, -2.0, 0.0, 2.0) == -2.0


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
