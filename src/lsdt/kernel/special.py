"""Special functions for compiled code: divergences of the two reward families, quantiles of the beta law.

`GAUSSIAN` with known variance (also the bound for any sub-Gaussian reward), `BERNOULLI` for rewards in
[0, 1]. A mean outside [0, 1] counts as the nearest end for `BERNOULLI`.
"""

from __future__ import annotations

import math

from lsdt.kernel.jit import inlined

GAUSSIAN = 0
BERNOULLI = 1
_MOST_STEPS = 100  # a dozen are the most seen; what is left then is still right of the root
_TINY = 1e-300
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


@inlined
def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


@inlined
def _fraction(x: float, a: float, b: float) -> float:
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, 10_000):
        step = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / (1.0 + step * d)
        c = 1.0 + step / c
        value *= d * c
        step = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / (1.0 + step * d)
        c = 1.0 + step / c
        value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value


@inlined
def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the x with I_x(a, b) = share: Newton steps kept inside a shrinking bracket; a, b at least 1."""
    low, high = 0.0, 1.0
    x = a / (a + b)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(100):
        excess = beta_cdf(x, a, b) - share
        if excess > 0.0:
            high = x
        else:
            low = x
        log_density = scale + (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x)
        step = excess * math.exp(-log_density) if log_density > -600.0 else math.inf
        closer = x - step
        if not low < closer < high:
            closer = 0.5 * (low + high)
        if abs(closer - x) <= 1e-14 * x or not low < closer < high:
            return closer
        x = closer
    return x
