"""The posterior of means given relations and rewards: points of a box, kept or not, weighed one by one."""

from __future__ import annotations

import math

import numpy as np


def points_that_hold(relations, points):
    """Return the points that satisfy relations (kind, a, b, numbers)."""
    holds = np.ones(len(points), bool)
    for kind, a, b, *numbers in relations:
        apart = points[:, a] - points[:, b]
        if kind == "similar":
            holds &= np.abs(apart) < numbers[0]
        elif kind == "dissimilar":
            holds &= np.abs(apart) >= numbers[0] - 1e-12
        else:
            holds &= (numbers[0] - 1e-12 <= apart) & (apart <= numbers[1] + 1e-12)
    return points[holds]


def weighed_points(relations, log_density, box, n_arms, n_points, rng):
    """Return points that satisfy relations, weighed in proportion to their density."""
    points = points_that_hold(relations, rng.uniform(*box, (n_points, n_arms)))
    logs = np.array([math.fsum(log_density(arm, x) for arm, x in enumerate(point)) for point in points])
    weights = np.exp(logs - logs.max())
    return points, weights / weights.sum()
