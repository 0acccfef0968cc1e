"""Theorems 2 and 6: by hand, and above the regret that is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lsdt
from lsdt.errors import InvalidInput, Unsupported
from lsdt.theory import graves_lai_constant, lower_bound_constant, upper_bound_csi, upper_bound_psi

CONNECTED = [0.0, 0.2, 1.0, 1.9, 2.0, 2.6], 1.5
APART = [0.0, 0.4, 0.8, 3.0, 3.4], 0.5
COMPLETE = [0.0, 0.5, 1.0], 2.0


def side_of(means, epsilon):
    return lsdt.from_means(means, epsilon)


def test_theorem_2_by_hand():
    """Classes {0} and {2, 3}; gaps 1, .2 within the best class, .8 between the classes."""
    means = [0.0, 0.4, 0.8, 1.0]
    bound = upper_bound_csi(side_of(means, 0.7), means, 1000)
    assert bound.leading == pytest.approx((32 * 1.0 / 0.8**2 + 32 / 0.2) * math.log(1000))
    tail = math.pi**2 / 3
    assert bound.constant == pytest.approx(1.0 * (1 + tail) + 0.2 * (1 + tail))
    assert float(bound) == bound.value == bound.leading + bound.constant
    assert bound.vacuous
    assert not upper_bound_csi(side_of(means, 0.7), means, 10_000).vacuous


def test_constants_scale_with_alpha_and_sigma():
    means, epsilon = APART
    side = side_of(means, epsilon)
    plain = upper_bound_csi(side, means, 100)
    assert upper_bound_csi(side, means, 100, sigma=0.5).leading == pytest.approx(plain.leading / 4)
    assert upper_bound_csi(side, means, 100, alpha=16.0).leading == pytest.approx(plain.leading * 2)
    short = upper_bound_csi(side, means, 100, alpha=6.0)
    assert short.value == math.inf
    assert short.vacuous
    assert "alpha above 6 sigma^2 = 6; got 6" in short.note


def test_horizons_and_curves():
    means, epsilon = CONNECTED
    bound = upper_bound_csi(side_of(means, epsilon), means, [10, 100, 1000])
    assert bound.value.shape == bound.leading.shape == bound.vacuous.shape == (3,)
    np.testing.assert_allclose(bound.value, bound([10, 100, 1000]))
    assert (np.diff(bound.value) > 0).all()
    assert repr(bound) == "UpperBound(3 horizons)"


def test_one_arm_and_equal_arms_have_no_regret():
    for means in ([1.0], [1.0, 1.0]):
        assert upper_bound_csi(side_of(means, 1.0), means, 10).value == 0.0


def test_drawn_beside_regret():
    means, epsilon = CONNECTED
    side = side_of(means, epsilon)
    result = lsdt.simulate(lsdt.problems.given(means, side), ["lsdt_csi"], horizon=200, replications=3)
    bound = upper_bound_csi(side, means, 200)
    axes = lsdt.plotting.plot_regret(result, bounds={"Theorem 2": bound, "again": bound(result.checkpoints)})
    first, second = (axes.lines[at].get_ydata() for at in (-2, -1))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("means", "epsilon"), [CONNECTED, APART, COMPLETE])
def test_measured_regret_lies_between_the_bounds(means, epsilon):
    """The mean below Theorem 2 by far; growth per log t not below the exact constant, 4 standard errors."""
    side = side_of(means, epsilon)
    horizon = 30_000
    result = lsdt.simulate(
        lsdt.problems.given(means, side), ["lsdt_csi"], horizon=horizon, replications=100, seed=4
    )
    regret, rounds = result.regret("lsdt_csi"), result.checkpoints
    error = regret.std(axis=0, ddof=1) / 10
    assert (regret.mean(axis=0) + 4 * error <= upper_bound_csi(side, means, horizon)(rounds)).all()
    start = int(np.searchsorted(rounds, 1000))
    slope = (regret[:, -1] - regret[:, start]) / math.log(rounds[-1] / rounds[start])
    exact = graves_lai_constant(side, means)
    assert lower_bound_constant(side, means) <= exact.value + exact.gap
    assert slope.mean() + 4 * slope.std(ddof=1) / 10 >= exact.value


def test_theorem_6_by_hand():
    """No dissimilar pair known: all three are candidates. Arms 0 and 1 similar, 10 and 9.5 below arm 2."""
    side = lsdt.SideInformation(3, similar=[(0, 1)], epsilon=1.0)
    bound = upper_bound_psi(side, [0.0, 0.5, 10.0], horizon=100_000)
    z = lsdt.theory.fractional_domination(side).z
    assert z[0] + z[1] == pytest.approx(1.0)
    leading = (10 * z[0] + 9.5 * z[1]) * 32 * math.log(1e5 * 6.5**2) / 6.5**2
    assert bound.leading == pytest.approx(leading)
    lost = 2 * (4**5 - 1) / 3 * 2 * 10  # m_f = 4
    epochs = [next(m for m in range(9) if 2.0**-m < 0.5 * (gap - 3) / 4) for gap in (10, 9.5)]
    kept = 2 * (10 * 4 ** epochs[0] + 9.5 * 4 ** epochs[1])
    assert bound.constant == pytest.approx(lost + kept + 19.5)
    assert not bound.vacuous


def test_theorem_6_near_arms_and_the_last_epoch():
    """Gap 1 with epsilon .9: 16 / .9 is rounded up to 2^5, so that epochs play 1.8^2 times what is stated."""
    side = lsdt.SideInformation(2, epsilon=0.9)
    args = side, [0.0, 1.0]
    stated = upper_bound_psi(*args, 10**6)
    assert stated.leading == pytest.approx(32 * math.log(1e6 * 0.81) / 0.81)
    proven = upper_bound_psi(*args, 10**6, version="proof")
    assert proven.leading == pytest.approx(0.125 * 4**5 * math.log(1e6 / 4**5))
    assert 1 < proven.leading / stated.leading < 4


def test_theorem_6_needs_long_horizons():
    means = np.linspace(0, 1, 21)
    side = side_of(means, 0.1).reveal(0.5, 0.5, seed=1)
    bound = upper_bound_psi(side, means, [1000, 10**6])
    assert bound.constant[0] == math.inf
    assert math.isfinite(bound.constant[1])
    assert bound.vacuous.all()
    assert "at least e 4^8 = 178,145 rounds" in bound.note


def test_measured_regret_of_lsdt_psi_is_below_theorem_6():
    means = np.concatenate([np.arange(0, 3, 0.3), 9.0 + np.arange(0, 1.5, 0.5)])
    side = side_of(means, 1.0).reveal(0.6, 0.6, seed=3)
    rewards = lsdt.rewards.gaussian(0.5)
    horizon = 50_000
    result = lsdt.simulate(
        lsdt.problems.given(means, side, rewards), ["lsdt_psi"], horizon=horizon, replications=20, seed=1
    )
    regret = result.regret("lsdt_psi")[:, -1]
    for version in ("paper", "proof"):
        bound = upper_bound_psi(side, means, horizon, version=version)
        assert not bound.vacuous
        assert regret.mean() + 4 * regret.std(ddof=1) / math.sqrt(20) <= bound.value


def test_bad_input():
    means, epsilon = CONNECTED
    side = side_of(means, epsilon)
    with pytest.raises(InvalidInput, match="horizon must be a whole number of rounds"):
        upper_bound_csi(side, means, 0)
    with pytest.raises(InvalidInput, match="alpha must be a number above 0 .*; got -1"):
        upper_bound_csi(side, means, 10, alpha=-1)
    with pytest.raises(Unsupported, match="there is upper_bound_psi"):
        upper_bound_csi(side.reveal(0.5, 0.5), means, 10)
    with pytest.raises(InvalidInput, match="version must be one of 'paper', 'proof'; got 'mine'"):
        upper_bound_psi(side, means, 10, version="mine")
    with pytest.raises(InvalidInput, match="beta must be at least 2 sigma"):
        upper_bound_psi(side, means, 10, beta=0.1)
    with pytest.raises(InvalidInput, match="are similar, .* not less than epsilon=0.5"):
        upper_bound_psi(lsdt.SideInformation(6, [(1, 2)], epsilon=0.5), means, 10)
    with pytest.raises(Unsupported, match="give the side information an epsilon"):
        upper_bound_psi(lsdt.SideInformation(2), [0.0, 1.0], 10)
