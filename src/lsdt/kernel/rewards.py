"""Reward laws as compiled code draws them: a number for the law, its scale, and one shape parameter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsdt._html import fields_card
from lsdt.kernel.jit import Array, compiled, inlined
from lsdt.kernel.random import below, gamma, normal, uniform
from lsdt.kernel.safe_math import safe_log, safe_pow, safe_sqrt

GAUSSIAN_LAW = 0
BERNOULLI_LAW = 1
STUDENT_T_LAW = 2
PARETO_LAW = 3
LAPLACE_LAW = 4
EXPONENTIAL_LAW = 5
RECORDED_LAW = 6


class Tail(NamedTuple):
    """How far rewards stray from their mean: two promises, for light and for heavy tails.

    Sub-exponential: E exp(x (X - mean)) <= exp(nu^2 x^2 / 2) for all |x| < 1 / b; b = 0 is sub-Gaussian.
    Moments: E |X - mean|^order <= moment, for an order above 1 and up to 2.
    """

    nu: float
    b: float
    order: float
    moment: float


class RewardModel(NamedTuple):
    """What a policy knows about the rewards: family, sub-Gaussian parameter sigma, tail where it is known."""

    family: str
    sigma: float
    tail: Tail | None = None

    @property
    def tails(self) -> Tail:
        """The tail; without one, what follows from sigma."""
        return Tail(self.sigma, 0.0, 2.0, self.sigma**2) if self.tail is None else self.tail

    def _repr_html_(self) -> str:
        return fields_card(self)


class Records(NamedTuple):
    """Rewards that were recorded: those of arm i are ``values[starts[i]:starts[i + 1]]``."""

    starts: Array
    values: Array

    def means(self) -> Array:
        """Return the mean of the recorded rewards of every arm."""
        means: Array = np.add.reduceat(self.values, self.starts[:-1]) / np.diff(self.starts)
        return means


@inlined
def draw_recorded(starts: Array, values: Array, arm: int, stream: Array) -> float:
    """Return one of the recorded rewards of an arm, each as likely as any other."""
    return float(values[starts[arm] + below(stream, starts[arm + 1] - starts[arm])])


@compiled
def _draw_unusual(law: int, mean: float, scale: float, shape: float, stream: Array) -> float:
    """Return a reward of the other laws, which are not merged into the rounds of every policy."""
    if law == STUDENT_T_LAW:
        return mean + scale * normal(stream) / safe_sqrt(gamma(stream, 0.5 * shape) / (0.5 * shape))
    if law == LAPLACE_LAW:  # the difference of two exponentials
        return mean + scale * safe_log((1.0 - uniform(stream)) / (1.0 - uniform(stream)))
    if law == EXPONENTIAL_LAW:
        return mean - scale * (safe_log(1.0 - uniform(stream)) + 1.0)
    # Pareto with tail exponent `shape` above 1, moved so that its mean is `mean`.
    return mean + scale * (safe_pow(1.0 - uniform(stream), -1.0 / shape) - shape / (shape - 1.0))


@inlined
def draw_reward(law: int, mean: float, scale: float, shape: float, stream: Array) -> float:
    """Return a reward with the given mean."""
    if law == GAUSSIAN_LAW:
        return mean + scale * normal(stream)
    if law == BERNOULLI_LAW:
        return 1.0 if uniform(stream) < mean else 0.0
    return _draw_unusual(law, mean, scale, shape, stream)
