from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import lsdt
from lsdt.environments.rewards import checked_rewards
from lsdt.errors import InvalidInput
from lsdt.kernel.streams import new_stream
from lsdt.simulation.drawing_kernel import draw_one

LAWS = {
    "gaussian": (lsdt.environments.gaussian(2.0), stats.norm(0.3, 2.0)),
    "student_t": (lsdt.environments.student_t(3.0, scale=0.5), stats.t(3.0, 0.3, 0.5)),
    "student_t heavy": (lsdt.environments.student_t(1.5), stats.t(1.5, 0.3)),
    "pareto": (lsdt.environments.pareto(1.5, scale=0.5), stats.pareto(1.5, 0.3 - 0.5 * 3.0, 0.5)),
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
    values = sample(lsdt.environments.bernoulli(), 20_000)
    assert set(values) == {0.0, 1.0}
    assert abs(values.mean() - 0.3) < 5 * math.sqrt(0.21 / 20_000)
    assert set(sample(lsdt.environments.bernoulli(), 100, 0.0)) == {0.0}
    assert set(sample(lsdt.environments.bernoulli(), 100, 1.0)) == {1.0}


def test_heavy_tails_keep_their_mean():
    assert LAWS["pareto"][1].mean() == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lsdt.environments.gaussian(0), "sigma must be finite and above 0"),
        (lambda: lsdt.environments.gaussian("1"), "sigma must be a number"),
        (lambda: lsdt.environments.student_t(1.0), "degrees must be finite and above 1"),
        (lambda: lsdt.environments.pareto(0.5), "exponent must be finite and above 1"),
        (lambda: lsdt.environments.pareto(2.0, scale=math.inf), "scale must be finite"),
        (lambda: lsdt.environments.callable(3), "draw must be a function"),
        (lambda: lsdt.environments.callable(print, family="poisson"), "family must be one of"),
        (lambda: checked_rewards("gausian"), "did you mean 'gaussian'"),
        (lambda: checked_rewards(None), "rewards must be"),
    ],
)
def test_bad_laws(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
