"""Logarithms, powers and quotients with a value for every argument, the same in both tiers.

Compiled code returns infinity or NaN where a function has no finite value; Python's `math` and its division
raise an exception there. Kernels call these functions instead, so that interpreted code never raises where
compiled code goes on; a test of the sources says so (``tests/kernel/test_jit.py``).

Scalars that are read from arrays are NumPy's in interpreted code, which warn of overflow and of inf - inf.
Where that may happen, ``float(...)`` makes Python's of them, which do not; compiled code is the same.
"""

from __future__ import annotations

import math
import sys

from lsdt.kernel.jit import inlined

_LARGEST_EXPONENT = math.log(sys.float_info.max)
_WHOLE = 2.0**53  # from here on every float is whole
# Bases between 1 / _TAME and _TAME with exponents from -2 to 2 do not overflow.
_TAME = 1e150
_NEAR_OVERFLOW, _BEYOND_OVERFLOW = 709.0, 710.0  # exponents of e


@inlined
def safe_log(x: float) -> float:
    """Return log x: minus infinity at 0, NaN below."""
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


@inlined
def safe_log1p(x: float) -> float:
    """Return log(1 + x): minus infinity at -1, NaN below."""
    if x > -1.0:
        return math.log1p(x)
    return -math.inf if x == -1.0 else math.nan


@inlined
def safe_exp(x: float) -> float:
    """Return e^x, infinite beyond the largest float."""
    return math.inf if x > _LARGEST_EXPONENT else math.exp(x)


@inlined
def safe_expm1(x: float) -> float:
    """Return e^x - 1, infinite beyond the largest float."""
    return math.inf if x > _LARGEST_EXPONENT else math.expm1(x)


@inlined
def safe_sqrt(x: float) -> float:
    """Return the square root, NaN below 0."""
    return math.nan if x < 0.0 else math.sqrt(x)


@inlined
def safe_pow(x: float, y: float) -> float:
    """Return x^y for x at least 0: infinite for 0 or -0 with a negative y and beyond the largest float."""
    if -2.0 <= y <= 2.0 and 1.0 / _TAME < x < _TAME:
        return math.pow(x, y)
    if x < 0.0:
        return math.nan
    if x == 0.0:
        return math.inf if y < 0.0 else math.pow(x, y)
    exponent = y * math.log(x)
    if exponent > _BEYOND_OVERFLOW:
        return math.inf
    if exponent > _NEAR_OVERFLOW:  # the product may overflow, which raises no exception
        root = math.pow(x, 0.5 * y)
        return root * root
    return math.pow(x, y)


@inlined
def ratio(top: float, bottom: float) -> float:
    """Return top / bottom: infinite with the right sign for a bottom of 0, NaN for 0 / 0.

    As Python's floats: NumPy's would warn of an overflow.
    """
    if bottom != 0.0:
        return float(top) / float(bottom)
    if top > 0.0:
        return math.copysign(math.inf, bottom)
    if top < 0.0:
        return -math.copysign(math.inf, bottom)
    return math.nan


@inlined
def whole_below(x: float) -> float:
    """Return floor(x) as a float; infinity and NaN stay.

    `math.floor` makes a 64-bit integer of it in compiled code, which is wrong from 2^63 on.
    """
    return float(math.floor(x)) if abs(x) < _WHOLE else x


@inlined
def whole_above(x: float) -> float:
    """Return ceil(x) as a float; infinity and NaN stay."""
    return -whole_below(-x)


@inlined
def nearest_multiple(x: float, step: float) -> float:
    """Return the multiple of a power of 2 that is nearest to x; of two, the larger. Infinity and NaN stay."""
    if not abs(x) < _WHOLE * step:
        return x
    below = whole_below(x / step)
    return (below + 1.0) * step if x / step - below >= 0.5 else below * step  # x / step + 0.5 may be rounded
