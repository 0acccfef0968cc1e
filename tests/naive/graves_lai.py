"""The Graves-Lai constant by trying all means on a grid, and the least evidence of rates by a general solver."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog, minimize


def on_a_grid(means, epsilon, reach):
    """Means and epsilon are integers. Every alternative on the grid is a true one: never above the constant."""
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


def least_evidence(means, epsilon, rates, orders):
    """Smallest sum of rates d^2 / 2 over alternatives in these orders of the means, by SLSQP from the middle.

    An order is a list of arms, lowest first; its alternatives keep the relations of all pairs, all orientations
    of dissimilar pairs as in the order, and the means of the best arms.
    """
    means = np.asarray(means, float)
    fixed = means == means.max()
    found = []
    for order in orders:
        rows, right = [], []
        for place, low in enumerate(order):
            for high in order[place + 1 :]:
                row = np.zeros(len(means))
                row[high], row[low] = 1.0, -1.0
                if abs(means[high] - means[low]) < epsilon:
                    rows += [row, -row]
                    right += [-epsilon, -epsilon]
                else:
                    rows.append(row)
                    right.append(epsilon)
        rows, right = np.array(rows), np.array(right)
        start = linprog(
            np.zeros(len(means)),
            A_ub=-rows,
            b_ub=-right,
            bounds=[(m, m) if f else (None, None) for m, f in zip(means, fixed, strict=True)],
        )
        assert start.status == 0
        answer = minimize(
            lambda x: float(rates @ (x - means) ** 2) / 2.0,
            start.x,
            jac=lambda x: rates * (x - means),
            bounds=[(m, m) if f else (None, None) for m, f in zip(means, fixed, strict=True)],
            constraints={"type": "ineq", "fun": lambda x: rows @ x - right, "jac": lambda _: rows},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-14},
        )
        assert answer.success, answer.message
        found.append(answer.fun)
    return min(found)
