"""The Graves-Lai constant on a grid of all means, and the least evidence of rates by a general solver."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog, minimize


def on_a_grid(means, epsilon, reach):
    """Means and epsilon are integers. All alternatives on the grid are true ones: never too large."""
    means = np.asarray(means)
    best = means.max()
    free = [arm for arm in range(len(means)) if means[arm] < best]
    similar = np.abs(means[:, None] - means) < epsilon
    others = np.array(list(itertools.product(range(best - reach, best + reach + 1), repeat=len(free))))
    moved = np.tile(means, (len(others), 1))
    moved[:, free] = others
    fits = ((np.abs(moved[:, :, None] - moved[:, None, :]) < epsilon) == similar).all((1, 2))
    squares = np.unique((moved[fits & (others.max(1) >= best)] - means)[:, free] ** 2, axis=0)
    answer = linprog((best - means)[free], A_ub=-squares / squares.max(), b_ub=-np.ones(len(squares)))
    assert answer.status == 0
    return 2.0 * answer.fun / squares.max()


def least_evidence(means, epsilon, rates, order):
    """Smallest sum of rates d^2 / 2 over the alternatives in an order of the arms, lowest first, by SLSQP.

    They keep the relations of all pairs and the means of the best arms, and the order of dissimilar pairs.
    """
    means = np.asarray(means, float)
    bounds = [(mean, mean) if mean == means.max() else (None, None) for mean in means]
    rows, right = [], []
    for place, low in enumerate(order):
        for high in order[place + 1 :]:
            row = np.zeros(len(means))
            row[high], row[low] = 1.0, -1.0
            is_similar = abs(means[high] - means[low]) < epsilon
            rows += [row, -row] if is_similar else [row]
            right += [-epsilon, -epsilon] if is_similar else [epsilon]
    rows, right = np.array(rows), np.array(right)
    start = linprog(np.zeros(len(means)), A_ub=-rows, b_ub=-right, bounds=bounds)
    assert start.status == 0
    answer = minimize(
        lambda x: float(rates @ (x - means) ** 2) / 2.0,
        start.x,
        jac=lambda x: rates * (x - means),
        bounds=bounds,
        constraints={"type": "ineq", "fun": lambda x: rows @ x - right, "jac": lambda _: rows},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert answer.success, answer.message
    return answer.fun
