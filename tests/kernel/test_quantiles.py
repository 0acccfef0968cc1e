from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from lsdt.kernel import quantiles

SHAPES = [1.0, 2.0, 3.5, 10.0, 57.0, 300.0, 2500.0, 1e4]
SHARES = [1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1 - 1e-4]


@numba.njit
def quantile(share, a, b):
    return quantiles.beta_quantile(share, a, b)


@numba.njit
def cdf(x, a, b):
    return quantiles.beta_cdf(x, a, b)


@pytest.mark.parametrize("a", SHAPES)
def test_quantiles_are_scipys(a):
    for b in SHAPES:
        ours = [quantile(share, a, b) for share in SHARES]
        np.testing.assert_allclose(ours, scipy.stats.beta.ppf(SHARES, a, b), rtol=1e-9, err_msg=f"{a}, {b}")
        assert ours == sorted(ours), b


@given(st.floats(1e-4, 1 - 1e-4), st.floats(1.0, 1e4), st.floats(1.0, 1e4))
def test_any_shapes(share, a, b):
    assert quantile(share, a, b) == pytest.approx(scipy.stats.beta.ppf(share, a, b), rel=1e-9)


@given(st.floats(0.0, 1.0), st.floats(1.0, 1e4), st.floats(1.0, 1e4))
def test_distribution_function_is_scipys(x, a, b):
    assert cdf(x, a, b) == pytest.approx(scipy.stats.beta.cdf(x, a, b), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("share", SHARES)
def test_closed_forms(share):
    """Beta(1, 1) is uniform; Beta(a, 1) has the distribution function x**a."""
    assert quantile(share, 1.0, 1.0) == pytest.approx(share, rel=1e-13)
    assert quantile(share, 4.0, 1.0) == pytest.approx(share**0.25, rel=1e-13)
    assert quantile(share, 1.0, 4.0) == pytest.approx(1 - (1 - share) ** 0.25, rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_are_reached(share):
    """lsdt_ts_psi with a horizon of 1 asks for them."""
    assert quantile(share, 3.0, 2.0) == pytest.approx(share, abs=1e-4)
