"""E-values by betting, one user, one pair and one fraction at a time."""

from __future__ import annotations

import math

import numpy as np


def e_value(table, item, rival):
    """The e-value against the item being at least as good as its rival; `table` is users by items."""
    fractions = [0.99 * (0.01 / 0.99) ** (step / 11) for step in range(12)]
    total = 0.0
    for fraction in fractions:
        wealth = fraction / sum(fractions)
        for row in table:
            if not (math.isnan(row[item]) or math.isnan(row[rival])):
                wealth *= 1.0 - fraction * (row[item] - row[rival])
        total += wealth
    return total


def beaten(table, delta):
    """The items whose mean e-value over all rivals is at least 1 / delta."""
    n_items = np.shape(table)[1]
    out = []
    for item in range(n_items):
        values = [e_value(table, item, rival) for rival in range(n_items) if rival != item]
        if sum(values) / len(values) >= 1.0 / delta:
            out.append(item)
    return out


def best_margin(table, item, rival, level, guard=1.0):
    """The difference of rival and item that Student's test at a level takes for chance, with its guard."""
    from scipy.stats import t

    apart = [row[rival] - row[item] for row in table if not math.isnan(row[item] + row[rival])]
    mean = sum(apart) / len(apart)
    squares = sum((each - mean) ** 2 for each in apart) + guard * (1.0 + abs(mean)) ** 2
    free = len(apart) - 1
    return t.isf(level, free) * math.sqrt(squares / free / len(apart))
