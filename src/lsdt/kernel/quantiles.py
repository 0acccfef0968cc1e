"""Quantiles of the beta distribution for compiled code."""

from __future__ import annotations

import math

from lsdt.kernel.jit import inlined

_TINY = 1e-300


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
