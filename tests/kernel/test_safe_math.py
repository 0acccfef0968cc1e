"""Kernels compute the same bits in both tiers, whatever their arguments, without exceptions and warnings."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from lsdt.kernel import jit, safe_math, special
from lsdt.policies.graph import ckl_ucb
from lsdt.policies.parts import (
    closure_costs,
    equal_posteriors,
    evidence_tangents,
    light_tails,
    mixture_evidence,
    tallies,
)
from lsdt.theory.lower_bounds import lower_bound_kernel
from tiers import compiled, interpreted

WILD = st.one_of(
    st.floats(allow_nan=False),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-300, 1e300, math.inf, -math.inf, 710.0, 2.0**53]),
    st.floats(-2.0, 2.0),
)
MEANS = st.one_of(
    st.sampled_from([0.0, 1.0, 5e-324, 1e-200, 1.0 - 2.0**-53, -0.25, 1.25]), st.floats(0.0, 1.0)
)
SPREADS = st.sampled_from([1e-200, 0.25, 1.0, 1e200])  # sigma lies from 1e-100 to 1e100
LEVELS = st.one_of(st.sampled_from([0.0, 5e-324, 1e-16, 700.0, 1e300, math.inf]), st.floats(0.0, 50.0))
COUNTS = st.one_of(st.integers(1, 50), st.sampled_from([10**6, 2**53]))
SHAPES = st.one_of(st.sampled_from([-1.0, 0.0, 1.0, 2.0, 9e15, 2.0**53]), st.floats(1.0, 1e4))
SHARES = st.one_of(st.sampled_from([0.0, 5e-324, 1e-300, 0.5, 1.0 - 2.0**-53, 1.0]), st.floats(0.0, 1.0))
FAMILY = st.sampled_from([special.GAUSSIAN, special.BERNOULLI])
ENDS = st.one_of(st.sampled_from([-math.inf, math.inf, 0.0, 1.0, 1e-200]), st.floats(-2.0, 2.0))


def words(found):
    """The bits of a result; all NaN are one."""
    values = np.atleast_1d(np.array(found, np.float64))
    return np.where(np.isnan(values), math.nan, values).tobytes()


def same_in_both_tiers(function, *arguments):
    """Call a function compiled, and interpreted with floats of Python and of NumPy."""
    expected, plain = words(compiled(function)(*arguments)), interpreted(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert words(plain(*arguments)) == expected
    with np.errstate(all="ignore"):  # NumPy warns of every overflow, and of inf - inf, which is right
        scalars = [np.float64(each) if isinstance(each, float) else np.int64(each) for each in arguments]
        assert words(plain(*scalars)) == expected


@pytest.mark.parametrize("name", ["safe_log", "safe_log1p", "safe_exp", "safe_expm1", "safe_sqrt"])
@given(x=st.one_of(WILD, st.just(math.nan)))
def test_functions_of_one_number(name, x):
    same_in_both_tiers(getattr(safe_math, name), x)


@pytest.mark.parametrize("name", ["whole_below", "whole_above"])
@given(x=st.one_of(WILD, st.just(math.nan), st.floats(-1e20, 1e20)))
def test_whole_numbers(name, x):
    same_in_both_tiers(getattr(safe_math, name), x)
    found = interpreted(getattr(safe_math, name))(x)
    if math.isfinite(x):
        assert found == (math.floor(x) if name == "whole_below" else math.ceil(x))


@given(WILD, WILD)
@example(1.0, -0.0)
@example(0.0, 0.0)
def test_ratios_are_those_of_ieee(top, bottom):
    same_in_both_tiers(safe_math.ratio, top, bottom)
    with np.errstate(all="ignore"):
        right = np.float64(top) / np.float64(bottom)
    assert words(interpreted(safe_math.ratio)(top, bottom)) == words(right)


@given(st.one_of(WILD.filter(lambda x: x >= 0.0), st.just(math.nan)), st.one_of(WILD, st.just(math.nan)))
@example(1.0000001, 1e12)
@example(-0.0, -1.0)
def test_powers(x, y):
    same_in_both_tiers(safe_math.safe_pow, x, y)
    with np.errstate(all="ignore"):
        right = float(np.power(abs(x), y))  # -0.0 is 0
    found = interpreted(safe_math.safe_pow)(x, y)
    assert found == pytest.approx(right, rel=1e-12, nan_ok=True) or right > 1e307


@given(WILD, st.sampled_from([2.0**-40, 2.0**-36, 1.0]))
@example(3e8, 2.0**-40)
@example(2.0**52 + 1.0, 1.0)
@example(np.nextafter(0.5, 0.0), 1.0)
def test_nearest_multiples(x, step):
    same_in_both_tiers(safe_math.nearest_multiple, x, step)
    found = interpreted(safe_math.nearest_multiple)(x, step)
    assert found == x or abs(found - x) <= 0.5 * step


@given(FAMILY, MEANS, MEANS, SPREADS, LEVELS)
def test_divergences_and_their_inverses(family, p, q, variance, level):
    same_in_both_tiers(special.divergence, family, p, q, variance)
    same_in_both_tiers(special.upper_mean, family, p, level, variance)


@given(SHARES, SHAPES, SHAPES, MEANS)
@example(0.3, 2.0**53, 1.0, 0.5)  # the mean rounds to 1
def test_laws(share, a, b, x):
    same_in_both_tiers(special.log_gamma, a)
    same_in_both_tiers(special.beta_cdf, x, a, b)
    same_in_both_tiers(special.beta_quantile, share, a, b)
    same_in_both_tiers(special.normal_isf, share)
    if a >= 1.0 and b >= 1.0:
        same_in_both_tiers(special.beta_isf, share, a, b)
        same_in_both_tiers(special.beta_exceeds, share, a, b, x)


@given(FAMILY, SPREADS, COUNTS, MEANS, ENDS, ENDS)
def test_terms_of_costs(family, variance, count, mean, low, high):
    mean = min(max(mean, 0.0), 1.0)
    for function in (closure_costs.term_cost, closure_costs.term_slope, closure_costs.term_bend):
        same_in_both_tiers(function, family, variance, count, mean, min(low, high), max(low, high))
    same_in_both_tiers(closure_costs.entropy, mean)


@given(WILD, WILD, WILD, ENDS, ENDS)
def test_newton_steps(q, slope, bend, low, high):
    same_in_both_tiers(closure_costs.newton_step, q, slope, bend, min(low, high), max(low, high))


@jit.compiled
def evidence(family, variance, count, mean, low, high):
    base = mixture_evidence.base_term(family, count, mean)
    seen = mixture_evidence.Seen(count, mean, base, mean, base)
    return mixture_evidence.evidence_term(
        mixture_evidence.TermLaw(family, variance, 0.3, -0.7), seen, low, high
    )


@given(FAMILY, SPREADS, COUNTS, MEANS, ENDS, ENDS)
def test_terms_of_evidence(family, variance, count, mean, low, high):
    mean = min(max(mean, 0.0), 1.0)
    same_in_both_tiers(mixture_evidence.own_log_m, family, count, mean, 0.5)
    same_in_both_tiers(evidence, family, variance, count, mean, min(low, high), max(low, high))


@given(WILD)
@example(5e8)
def test_rounded_evidence(value):
    same_in_both_tiers(evidence_tangents.rounded, value)


@given(FAMILY, MEANS, COUNTS, LEVELS, SPREADS, MEANS)
def test_indices(family, mean, count, level, variance, other):
    same_in_both_tiers(tallies.kl_index, family, mean, count, level, variance)
    same_in_both_tiers(tallies.surely_below, family, mean, count, level, variance, other)
    same_in_both_tiers(light_tails.light_width, variance, other, level, 1.0 / math.sqrt(count))
    same_in_both_tiers(equal_posteriors.whole_shape, float(count))
    same_in_both_tiers(ckl_ucb.term_slope, family, variance, count, mean, other)


@given(MEANS, MEANS, st.integers(-1, 3), LEVELS, MEANS)
def test_prices_of_rates(gap, distance, best, cost, far):
    same_in_both_tiers(lower_bound_kernel.keep_cheaper, gap, distance, 1, best, cost, far)
