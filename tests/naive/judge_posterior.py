"""The posterior of a judge model by summing over a grid of all strengths and the position effect."""

from __future__ import annotations

import itertools
import math

import numpy as np


def _normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def chance(word, x, noise, tie, slip):
    """Return the probability of an answer, 0 worse, 1 equal, 2 better, if the arms differ by x."""
    ends = [-math.inf, -tie, tie, math.inf]
    inside = _normal((ends[word + 1] - x) / noise) - _normal((ends[word] - x) / noise)
    return slip / 3.0 + (1.0 - slip) * inside


def posterior(n_arms, answers, noise, tie, slip, position_sd=0.5, points=25):
    """Return the mean and covariance of strengths and position effect, and the chance to be the best."""
    nodes = np.linspace(-3.5, 3.5, points)
    shifts = np.linspace(-1.75, 1.75, 15)
    values, weights = [], []
    for strengths in itertools.product(nodes, repeat=n_arms):
        prior = math.exp(-0.5 * sum(s * s for s in strengths))
        for shift in shifts:
            weight = prior * math.exp(-0.5 * (shift / position_sd) ** 2)
            for a, b, word in answers:
                weight *= chance(word, strengths[a] - strengths[b] + shift, noise, tie, slip)
            values.append((*strengths, shift))
            weights.append(weight)
    values, weights = np.array(values), np.array(weights) / sum(weights)
    mean = weights @ values
    covariance = (values - mean).T @ ((values - mean) * weights[:, None])
    top = values[:, :n_arms].max(axis=1, keepdims=True) == values[:, :n_arms]
    best = weights @ (top / top.sum(axis=1, keepdims=True))  # ties are shared: the grid is coarse
    return mean, covariance, best
