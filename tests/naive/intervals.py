"""Intervals of a claim by the formulas of the textbooks."""

from __future__ import annotations

from scipy.special import betaincinv


def clopper_pearson(yes, count, level=0.95):
    """Return the ends of the exact interval of a share (Clopper and Pearson 1934)."""
    tail = 0.5 - 0.5 * level
    low = 0.0 if yes == 0 else betaincinv(yes, count - yes + 1, tail)
    high = 1.0 if yes == count else betaincinv(yes + 1, count - yes, 1.0 - tail)
    return low, high


def slope(x, y):
    """Return the slope of the line with the least squared distance from the points."""
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True))
    return products / sum((a - middle_x) ** 2 for a in x)
