"""Kullback-Leibler divergences of the two reward families, and the largest mean within a divergence.

`GAUSSIAN` with known variance (also the bound for any sub-Gaussian reward), `BERNOULLI` for rewards in
[0, 1]. A mean outside [0, 1] counts as the nearest end for `BERNOULLI`.
"""

from __future__ import annotations

import math

from lsdt.kernel.jit import inlined

GAUSSIAN = 0
BERNOULLI = 1
_MOST_STEPS = 100  # a dozen are the most seen; what is left then is still right of the root
FAMILIES = {"gaussian": GAUSSIAN, "bernoulli": BERNOULLI}


@inlined
def bernoulli_divergence(p: float, q: float) -> float:
    """Return KL(p, q) of two coins; infinite where q excludes what p allows."""
    p = min(max(p, 0.0), 1.0)
    q = min(max(q, 0.0), 1.0)
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return max(total, 0.0)


@inlined
def divergence(family: int, p: float, q: float, variance: float) -> float:
    """Return KL(p, q), p and q the means of two rewards of one family."""
    if family == BERNOULLI:
        return bernoulli_divergence(p, q)
    return (p - q) * (p - q) / (2.0 * variance)


@inlined
def upper_mean(family: int, mean: float, level: float, variance: float) -> float:
    """Return the largest q with KL(mean, q) <= level, level >= 0."""
    if family == BERNOULLI:
        return bernoulli_upper(mean, level)
    return mean + math.sqrt(2.0 * variance * level)


@inlined
def bernoulli_upper(mean: float, level: float) -> float:
    """Return the largest q in [0, 1] with KL(mean, q) <= level, by Newton steps from above.

    KL is convex in q, so Newton's method started right of the root comes down to it without overshooting. Two
    starting points are known to lie right of it: Pinsker's, and one that drops ``mean log(1/q) >= 0``.
    """
    p = min(max(mean, 0.0), 1.0)
    if p >= 1.0 or level <= 0.0:
        return p
    constant = (1.0 - p) * math.log1p(-p)
    if p > 0.0:
        constant += p * math.log(p)
    q = min(p + math.sqrt(0.5 * level), -math.expm1((constant - level) / (1.0 - p)))
    if q <= p:
        return p
    for _ in range(_MOST_STEPS):
        if q >= 1.0:
            break
        excess = constant - level - (1.0 - p) * math.log1p(-q)
        if p > 0.0:
            excess -= p * math.log(q)
        if excess <= 0.0:
            break
        lower = q - excess * q * (1.0 - q) / (q - p)
        if lower >= q or lower <= p:
            break
        q = lower
    return q
