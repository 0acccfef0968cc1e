"""Special functions for compiled code: divergences of the two reward families, quantiles of two laws.

`GAUSSIAN` with known variance (also the bound for any sub-Gaussian reward), `BERNOULLI` for rewards in
[0, 1]. A mean outside [0, 1] counts as the nearest end for `BERNOULLI`.
"""

from __future__ import annotations

import math

from lsdt.kernel.jit import compiled, inlined
from lsdt.kernel.safe_math import safe_exp, safe_expm1, safe_log, safe_log1p, safe_pow, safe_sqrt

GAUSSIAN = 0
BERNOULLI = 1
_MOST_STEPS = 100  # a dozen are the most seen; what is left then is still right of the root
_TINY = 1e-300  # stands for 0 as a divisor (Lentz)
_ROOT_TWO = math.sqrt(2.0)
_ROOT_TAU = math.sqrt(2.0 * math.pi)
_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
FAMILIES = {"gaussian": GAUSSIAN, "bernoulli": BERNOULLI}


@inlined
def bernoulli_divergence(p: float, q: float) -> float:
    """Return KL(p, q) of two coins; infinite where q excludes what p allows."""
    p = min(max(p, 0.0), 1.0)
    q = min(max(q, 0.0), 1.0)
    total = 0.0
    if p > 0.0:
        total += p * safe_log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        total += (1.0 - p) * safe_log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return max(total, 0.0)


@inlined
def divergence(family: int, p: float, q: float, variance: float) -> float:
    """Return KL(p, q), p and q the means of two rewards of one family."""
    if family == BERNOULLI:
        return bernoulli_divergence(p, q)
    apart = float(p - q)
    return apart * apart / (2.0 * float(variance))


@inlined
def upper_mean(family: int, mean: float, level: float, variance: float) -> float:
    """Return the largest q with KL(mean, q) <= level, level >= 0."""
    if family == BERNOULLI:
        return bernoulli_upper(mean, level)
    return mean + safe_sqrt(2.0 * variance * level)


@inlined
def bernoulli_upper(mean: float, level: float) -> float:
    """Return the largest q in [0, 1] with KL(mean, q) <= level, by Newton steps from above.

    KL is convex in q, so Newton's method started right of the root comes down to it without overshooting. Two
    starting points are known to lie right of it: Pinsker's, and one that drops ``mean log(1/q) >= 0``.
    """
    p = min(max(mean, 0.0), 1.0)
    if p >= 1.0 or level <= 0.0:
        return p
    constant = (1.0 - p) * safe_log1p(-p)
    if p > 0.0:
        constant += p * safe_log(p)
    q = min(p + safe_sqrt(0.5 * level), -safe_expm1((constant - level) / (1.0 - p)))
    if q <= p:
        return p
    for _ in range(_MOST_STEPS):
        if q >= 1.0:
            break
        excess = constant - level - (1.0 - p) * safe_log1p(-q)
        if p > 0.0:
            excess -= p * safe_log(q)
        if excess <= 0.0:
            break
        lower = q - excess * q * (1.0 - q) / (q - p)
        if lower >= q or lower <= p:
            break
        q = lower
    return q


@inlined
def _stirling_rest(x: float) -> float:
    """Return log Gamma(x) minus Stirling's formula; for x at least 8 the next term is below 1e-15."""
    square = 1.0 / (x * x)
    rest = 1.0 / 156.0 - square * (3617.0 / 122400.0)
    rest = 1.0 / 1188.0 - square * (691.0 / 360360.0 - square * rest)
    rest = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square * rest)
    return (1.0 / 12.0 - square * (1.0 / 360.0 - square * rest)) / x


@inlined
def log_gamma(x: float) -> float:
    """Return log Gamma(x) for positive x, to a few units in the last place of its largest term.

    `math.lgamma` is one function in the interpreter and another in compiled code: they differ in the last
    digit for two arguments in three. Here both compute the same. Gamma(x) = Gamma(x + 1) / x lifts a small x
    to where Stirling's series is exact. Other numbers, which a damaged state may hold, give infinity.
    """
    if not x > 0.0:
        return math.inf
    lifted = 1.0
    while x < 8.0:
        lifted *= x
        x += 1.0
    return (x - 0.5) * safe_log(x) - x + _HALF_LOG_TAU + _stirling_rest(x) - safe_log(lifted)


@inlined
def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if not (a > 0.0 and b > 0.0):  # which a damaged state may hold
        return math.nan
    front = safe_exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * safe_log(x) + b * safe_log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


@inlined
def _not_zero(x: float) -> float:
    return x if abs(x) > _TINY else _TINY


@inlined
def _fraction(x: float, a: float, b: float) -> float:
    c = 1.0
    d = 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 10_000):
        step = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / _not_zero(1.0 + step * d)
        c = _not_zero(1.0 + step / c)
        value *= d * c
        step = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / _not_zero(1.0 + step * d)
        c = _not_zero(1.0 + step / c)
        value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value


@inlined
def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the x with I_x(a, b) = share: Newton steps kept inside a shrinking bracket; a, b at least 1."""
    if not (a > 0.0 and b > 0.0):  # which a damaged state may hold: any number ends the searches
        return 0.5
    low, high = 0.0, 1.0
    x = a / (a + b)
    scale = log_gamma(a + b) - log_gamma(a) - log_gamma(b)
    for _ in range(100):
        excess = beta_cdf(x, a, b) - share
        if excess > 0.0:
            high = x
        else:
            low = x
        log_density = scale + (a - 1.0) * safe_log(x) + (b - 1.0) * safe_log1p(-x)
        step = excess * safe_exp(-log_density) if log_density > -600.0 else math.inf
        closer = x - step
        if not low < closer < high:
            closer = 0.5 * (low + high)
        if abs(closer - x) <= 1e-14 * x or not low < closer < high:
            return closer
        x = closer
    return x


@compiled
def normal_isf(share: float) -> float:
    """Return the z that a standard normal number exceeds with probability `share`.

    A rational start (Abramowitz and Stegun 26.2.23, off by less than 4.5e-4) and two steps of Halley's method
    on ``erfc``, which keeps its relative precision far out in the tail: the first leaves 1e-10, the second
    rounding.
    """
    if share > 0.5:
        return -_normal_upper(1.0 - share)
    return _normal_upper(share)


@inlined
def _normal_upper(share: float) -> float:
    if share <= 0.0:
        return math.inf
    t = safe_sqrt(-2.0 * safe_log(share))
    top = 2.515517 + t * (0.802853 + t * 0.010328)
    z = t - top / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    for _ in range(2):
        density = safe_exp(-0.5 * z * z) / _ROOT_TAU
        ratio = (normal_sf(z) - share) / density
        z += ratio / (1.0 - 0.5 * z * ratio)
    return z


@inlined
def normal_sf(z: float) -> float:
    """Return the probability that a standard normal number exceeds z."""
    return 0.5 * math.erfc(z / _ROOT_TWO)


@compiled
def beta_isf(share: float, a: float, b: float) -> float:
    """Return the x that a beta number exceeds with probability `share`; a, b at least 1.

    Of a small share the distance of x to 1 is found, of a large one that to 0, each to relative precision.
    """
    if share <= 0.0:
        return 1.0
    if share >= 1.0:
        return 0.0
    if share <= 0.5:
        return 1.0 - beta_low_quantile(share, b, a)
    return beta_low_quantile(1.0 - share, a, b)


@inlined
def log_beta(a: float, b: float) -> float:
    """Return the logarithm of B(a, b), without differences of large numbers where one of the two is small."""
    small, large = min(a, b), max(a, b)
    if large < 20.0:
        return log_gamma(small) + log_gamma(large) - log_gamma(small + large)
    rise = (large - 0.5) * safe_log1p(small / large) + small * safe_log(small + large) - small
    return log_gamma(small) - rise - _stirling_rest(small + large) + _stirling_rest(large)


@compiled
def beta_low_quantile(share: float, a: float, b: float) -> float:
    """Return the x with I_x(a, b) = share, at most 1/2, to relative precision; a, b at least 1.

    Newton's method on log I as a function of log x. That function is concave for b >= 1, and a line with
    slope a in the tail, so the steps come up to the root from below, whatever the start, without a bracket.
    The start is the normal approximation, or what is left of it: I_x <= x^a / (a B(a, b)).
    """
    if a == 1.0:
        return -safe_expm1(safe_log1p(-share) / b)
    if b == 1.0:
        return safe_pow(share, 1.0 / a)
    scale = -log_beta(a, b)
    log_share = safe_log(share)
    log_x = (log_share + safe_log(a) - scale) / a
    mean, deviation = a / (a + b), safe_sqrt(a * b / (a + b + 1.0)) / (a + b)
    near = mean - normal_isf(share) * deviation
    if near > safe_exp(log_x):
        log_x = safe_log(near)
    for step in range(_MOST_STEPS):
        x = safe_exp(log_x)
        fraction = _fraction(x, a, b)
        excess = scale + a * log_x + b * safe_log1p(-x) + safe_log(fraction / a) - log_share
        change = excess * (1.0 - x) * fraction / a
        log_x -= change
        if abs(change) < 1e-10 or (step > 0 and change > 0.0):
            break
    return safe_exp(log_x)


@compiled
def beta_exceeds(share: float, a: float, b: float, other: float) -> bool:
    """Say whether ``beta_isf(share, a, b)`` lies above another number; a, b whole.

    A beta number exceeds x as often as x-coins fall on yes fewer than a times in a + b - 1 tosses. Chernoff's
    bound for these is cheap, and mostly settles it.
    """
    if other <= 0.0:
        return True
    if other >= 1.0:
        return False
    tosses = a + b - 1.0
    if a - 1.0 < tosses * other and share > 0.0:
        bound = b * safe_log(b / (tosses * (1.0 - other)))
        if a > 1.0:
            bound += (a - 1.0) * safe_log((a - 1.0) / (tosses * other))
        if bound >= -safe_log(share):
            return False
    return beta_cdf(1.0 - other, b, a) > share
