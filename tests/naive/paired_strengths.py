"""Strengths by maximising the likelihood of single comparisons, written out, with a general optimiser."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize


def chances(values, a, b, order):
    """Return the probabilities that a wins, that b wins, and of a tie; values end in position and t."""
    x = values[a] - values[b] + order * values[-2]
    t = values[-1]
    win, lose = 1.0 / (1.0 + math.exp(t - x)), 1.0 / (1.0 + math.exp(t + x))
    return win, lose, max(1.0 - win - lose, 0.0)


def strengths(rows, n_arms, prior, has_order, has_ties):
    """Return strengths, position effect and t for rows (a, b, order, result), result 0, 1 or 2 for a tie."""

    def loss(free):
        values = np.zeros(n_arms + 2)
        values[:n_arms] = free[:n_arms]
        values[-2] = free[n_arms] if has_order else 0.0
        values[-1] = math.exp(free[-1]) if has_ties else 0.0
        total = sum(math.log(chances(values, a, b, order)[result]) for a, b, order, result in rows)
        return -total + 0.5 * (values[:-1] ** 2).sum() / prior**2

    free = minimize(loss, np.zeros(n_arms + 1 + 1), tol=1e-10).x
    tie = math.exp(free[-1]) if has_ties else 0.0
    return free[:n_arms], free[n_arms] if has_order else 0.0, tie
