from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import lsdt
from lsdt.errors import InvalidInput
from lsdt.kernel.random import new_stream
from lsdt.problems.rewards import checked_rewards
from lsdt.simulation.single_reward_kernel import draw_one

LAWS = {
    "gaussian": (lsdt.rewards.gaussian(2.0), stats.norm(0.3, 2.0)),
    "student_t": (lsdt.rewards.student_t(3.0, scale=0.5), stats.t(3.0, 0.3, 0.5)),
    "student_t heavy": (lsdt.rewards.student_t(1.5), stats.t(1.5, 0.3)),
    "laplace": (lsdt.rewards.laplace(0.5), stats.laplace(0.3, 0.5)),
    "exponential": (lsdt.rewards.exponential(2.0), stats.expon(0.3 - 2.0, 2.0)),
    "pareto": (lsdt.rewards.pareto(1.5, scale=0.5), stats.pareto(1.5, 0.3 - 0.5 * 3.0, 0.5)),
}


def sample(law, count, mean=0.3):
    stream = new_stream(11)
    return np.array([draw_one(law.law, mean, law.scale, law.shape, stream) for _ in range(count)])


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_what_they_are_called(name):
    """Kolmogorov-Smirnov at a fixed seed; a wrong scale or shift gives a p-value of 0."""
    law, expected = LAWS[name]
    assert stats.kstest(sample(law, 20_000), expected.cdf).pvalue > 0.001


def test_bernoulli_pays_0_or_1_with_its_mean():
    values = sample(lsdt.rewards.bernoulli(), 20_000)
    assert set(values) == {0.0, 1.0}
    assert abs(values.mean() - 0.3) < 5 * math.sqrt(0.21 / 20_000)
    assert set(sample(lsdt.rewards.bernoulli(), 100, 0.0)) == {0.0}
    assert set(sample(lsdt.rewards.bernoulli(), 100, 1.0)) == {1.0}


def test_heavy_tails_keep_their_mean():
    assert LAWS["pareto"][1].mean() == pytest.approx(0.3)


LIGHT = {
    "laplace": (lsdt.rewards.laplace(0.5), lambda x: -np.log1p(-((0.5 * x) ** 2))),
    "exponential": (lsdt.rewards.exponential(0.5), lambda x: -0.5 * x - np.log1p(-0.5 * x)),
}


@pytest.mark.parametrize("name", LIGHT)
def test_light_tails_keep_their_promise_and_no_smaller_nu_does(name):
    """log E exp(x (X - mean)) <= nu^2 x^2 / 2 for |x| < 1 / b, equal at one end; the closed form, and nu."""
    law, log_mgf = LIGHT[name]
    nu, b, order, moment = law.model.tails
    x = np.linspace(-1.0, 1.0, 2001) / b
    at = x != 0.0
    needed = np.sqrt(2.0 * log_mgf(x[at])) / np.abs(x[at])
    assert needed.max() == pytest.approx(nu)
    assert (order, moment) == (2.0, pytest.approx(LAWS_OF_SCALE_HALF[name].var()))
    assert law.sigma == pytest.approx(LAWS_OF_SCALE_HALF[name].std())
    quantiles = LAWS_OF_SCALE_HALF[name].ppf((np.arange(10**6) + 0.5) / 10**6)
    assert np.log(np.exp(quantiles * x[-1] / 2).mean()) == pytest.approx(log_mgf(x[-1] / 2), rel=1e-3)


LAWS_OF_SCALE_HALF = {"laplace": stats.laplace(0.0, 0.5), "exponential": stats.expon(-0.5, 0.5)}


@pytest.mark.parametrize("shape", [1.2, 1.5, 2.0, 2.2, 3.0, 400.0])
@pytest.mark.parametrize("name", ["student_t", "pareto"])
def test_heavy_tails_know_a_moment(name, shape):
    """Of an order below the tail exponent; integrating the tail: exact for t, an upper bound for Pareto."""
    law = getattr(lsdt.rewards, name)(shape, scale=0.5)
    tail = law.model.tails
    assert 1.0 < tail.order < shape
    assert tail.order <= 2.0
    known = (
        stats.t(shape, 0.0, 0.5)
        if name == "student_t"
        else stats.pareto(shape, -0.5 * shape / (shape - 1), 0.5)
    )
    # E |X|^p = integral of P(|X|^p > y) dy, with y = exp(z).
    z = np.linspace(-40.0, 400.0 if shape < 2.0 else 200.0, 400_001)
    x = np.exp(z / tail.order)
    moment = np.trapezoid((known.sf(x) + known.cdf(-x)) * np.exp(z), z)
    assert moment <= tail.moment * (1 + 1e-4)
    assert tail.moment <= moment * (1 + 1e-3 if name == "student_t" else 2.0)


def test_rewards_without_a_tail_have_the_one_of_their_sigma():
    assert lsdt.rewards.gaussian(2.0).model.tails == (2.0, 0.0, 2.0, 4.0)
    assert lsdt.rewards.bernoulli().model.tail is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lsdt.rewards.gaussian(0), "sigma must be a number above 0"),
        (lambda: lsdt.rewards.gaussian("1"), "sigma must be a number"),
        (lambda: lsdt.rewards.student_t(1.0), "degrees must be a number above 1"),
        (lambda: lsdt.rewards.pareto(0.5), "exponent must be a number above 1"),
        (lambda: lsdt.rewards.pareto(2.0, scale=math.inf), "scale must be a number above 0"),
        (lambda: lsdt.rewards.laplace(-1.0), "scale must be a number above 0"),
        (lambda: lsdt.rewards.exponential(1.0, sigma=0), "sigma must be a number above 0"),
        (lambda: lsdt.rewards.callable(3), "draw must be a function"),
        (lambda: lsdt.rewards.callable(print, family="poisson"), "family must be one of"),
        (lambda: checked_rewards("gausian"), "did you mean 'gaussian'"),
        (lambda: checked_rewards(None), "rewards must be"),
    ],
)
def test_bad_laws(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
