"""Twin of `lsdt.ratings.statistics.ranking`: item by item, with library root finding and quantiles.

A row is (effect, sum of squared residuals, degrees of freedom, number of ratings).
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.stats import t


def shrunk_effects(rows, average, efficiency):
    errors = [min(1.0, average / (max(freedom, 1e-9) / efficiency)) for _, _, freedom, _ in rows]
    known = [(effect, e) for (effect, _, _, ratings), e in zip(rows, errors, strict=True) if ratings > 0]

    def mean_at(spread):
        return sum(x / (spread + e) for x, e in known) / sum(1 / (spread + e) for _, e in known)

    def excess(spread):
        mean = mean_at(spread)
        return sum((x - mean) ** 2 / (spread + e) for x, e in known) - (len(known) - 1)

    spread = brentq(excess, 0.0, 1.0, xtol=1e-15) if excess(0.0) > 0 else 0.0
    mean = mean_at(spread)
    pulled = [mean + spread / (spread + e) * (row[0] - mean) for row, e in zip(rows, errors, strict=True)]
    return [min(max(x, 0.0), 1.0) for x in pulled]


def lower_ends(rows, average, efficiency, level_error, level, shrunk):
    ends = []
    for (effect, squares, freedom, _), most in zip(rows, shrunk, strict=True):
        degrees = max(freedom - 1.0, 0.0) + 4.0
        variance = (squares + 4.0 * average) / degrees / (max(freedom, 1e-9) / efficiency)
        error = math.hypot(min(1.0, math.sqrt(variance)), level_error)
        end = min(max(effect, 0.0), 1.0) - t.ppf(1 - (1 - level) / len(rows), degrees) * error
        ends.append(min(max(min(end, most), 0.0), 1.0))
    return ends
