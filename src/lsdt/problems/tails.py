"""The tails of the reward laws: what policies for light and for heavy tails are told.

Light tails: b is twice the scale, a common choice, and nu the smallest number that goes with it. For both
laws log E exp(x (X - mean)) / x^2 rises with x > 0, so nu is read at the end x = 1 / b.

Heavy tails with exponent a: the moment of order min(2, 1 + 3 (a - 1) / 4). Moments near a are huge, moments
near 1 make wide bounds. In between, three quarters of the way costs at most half as many plays again as the
best order to separate two arms a scale apart, for exponents from 1.3 on; closer to 1, set order and bound.
"""

from __future__ import annotations

import math

from lsdt.kernel.rewards import Tail


def laplace_tail(scale: float) -> Tail:
    """E exp(x (X - mean)) = 1 / (1 - scale^2 x^2)."""
    return Tail(scale * math.sqrt(8.0 * math.log(4.0 / 3.0)), 2.0 * scale, 2.0, 2.0 * scale**2)


def exponential_tail(scale: float) -> Tail:
    """E exp(x (X - mean)) = exp(-scale x) / (1 - scale x)."""
    return Tail(scale * math.sqrt(8.0 * (math.log(2.0) - 0.5)), 2.0 * scale, 2.0, scale**2)


def student_t_tail(degrees: float, scale: float, sigma: float) -> Tail:
    """The moment in closed form. No nu is right: policies are told sigma, as others are."""
    order = _order(degrees)
    logs = (
        math.lgamma((order + 1.0) / 2.0) + math.lgamma((degrees - order) / 2.0) - math.lgamma(degrees / 2.0)
    )
    moment = math.pow(scale * math.sqrt(degrees), order) * math.exp(logs) / math.sqrt(math.pi)
    return Tail(sigma, 0.0, order, moment)


def pareto_tail(exponent: float, scale: float, sigma: float) -> Tail:
    """The part above the mean in closed form; below it, rewards are at most ``below * scale`` away."""
    order, below = _order(exponent), 1.0 / (exponent - 1.0)
    logs = math.lgamma(order + 1.0) + math.lgamma(exponent - order) - math.lgamma(exponent)
    above = math.pow(1.0 + below, order - exponent) * math.exp(logs)
    share = 1.0 - math.pow(1.0 + below, -exponent)
    return Tail(sigma, 0.0, order, math.pow(scale, order) * (above + math.pow(below, order) * share))


def _order(exponent: float) -> float:
    return min(2.0, 1.0 + 0.75 * (exponent - 1.0))
