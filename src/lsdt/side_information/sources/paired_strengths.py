"""Strengths of arms from comparisons: the model of Bradley and Terry, with ties and a position effect.

With x = strength of a - strength of b + position effect (if a came first; minus it, if b did),

    P(a wins) = F(x - t),   P(b wins) = F(-x - t),   P(tie) = the rest,   F(x) = 1 / (1 + exp(-x)),

where t >= 0 says how often ties occur (Rao and Kupper 1967). The log-likelihood is concave in all parameters,
so Newton's method finds its maximum. A weak normal prior keeps the strength of an arm that won or lost every
comparison finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Standard deviation of the prior of every strength and of the position effect, in units of the logistic law:
# two arms this far apart win 95 times in 100 against each other. On known truth the joint level held with 2,
# 3 and 5, and 3 ordered the most pairs (docs/handbook/side-information.md).
_PRIOR = 3.0
_STEPS = 100  # Newton takes fewer than 15 on all data tried; the rest is for extreme ones
_CLOSE = 1e-9  # a step this small changes no digit that is shown
_SMALLEST_TIE = 1e-6  # t, if ties occurred: it cannot be 0 then


class Counts(NamedTuple):
    """Comparisons: two arms, which came first (1, -1, or 0 if unknown), and how often a won, lost, tied."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    order: Floats
    wins: Floats
    losses: Floats
    ties: Floats


class Strengths(NamedTuple):
    """Estimates: a strength per arm, the position effect, the tie parameter t, and their covariance matrix.

    The last two rows of `covariance` are those of the position effect and of t; 0 if not estimated.
    """

    strength: Floats
    position: float
    tie: float
    covariance: Floats


def fit_strengths(counts: Counts, n_arms: int, prior: float = _PRIOR) -> Strengths:
    """Return the estimates with the largest penalised likelihood."""
    has_order, has_ties = bool(counts.order.any()), bool(counts.ties.any())
    used = np.concatenate([np.ones(n_arms, bool), [has_order, has_ties]])
    values = np.zeros(n_arms + 2)
    values[-1] = 0.5 if has_ties else 0.0
    precision = np.full(n_arms + 2, prior**-2.0)
    precision[-1] = 0.0
    height = _height(counts, values, precision)
    for _step in range(_STEPS):
        slope, curvature = _derivatives(counts, values, precision)
        step = np.zeros(n_arms + 2)
        step[used] = np.linalg.solve(curvature[np.ix_(used, used)], slope[used])
        size = 1.0
        while True:  # shorten the step until the height rises
            tried = values + size * step
            if has_ties:
                tried[-1] = max(tried[-1], _SMALLEST_TIE)
            new = _height(counts, tried, precision)
            if new >= height - 1e-12 * abs(height) or size < _CLOSE:
                break
            size /= 2.0
        values, height = tried, new
        if np.abs(size * step).max() < _CLOSE:
            break
    _, curvature = _derivatives(counts, values, precision)
    covariance = np.zeros((n_arms + 2, n_arms + 2))
    covariance[np.ix_(used, used)] = np.linalg.inv(curvature[np.ix_(used, used)])
    return Strengths(values[:-2], float(values[-2]), float(values[-1]), covariance)


def _advantage(counts: Counts, values: Floats) -> Floats:
    """Return x, the advantage of the first arm of every comparison."""
    advantage: Floats = values[counts.a] - values[counts.b] + counts.order * values[-2]
    return advantage


def _height(counts: Counts, values: Floats, precision: Floats) -> float:
    """Return the log-likelihood with its penalty."""
    x, t = _advantage(counts, values), values[-1]
    total = counts.wins @ _log_logistic(x - t) + counts.losses @ _log_logistic(-x - t)
    if counts.ties.any():
        # P(tie) = F(x + t) - F(x - t) = F(x + t) F(t - x) (1 - exp(-2 t))
        tie = _log_logistic(x + t) + _log_logistic(t - x) + np.log(-np.expm1(-2.0 * t))
        total += counts.ties @ tie
    return float(total - 0.5 * (precision * values) @ values)


def _derivatives(counts: Counts, values: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of the height and minus its matrix of second derivatives."""
    x, t = _advantage(counts, values), values[-1]
    wins, losses, ties = counts.wins, counts.losses, counts.ties
    above, below = _logistic(x - t), _logistic(-x - t)
    up, down = _logistic(x + t), _logistic(t - x)  # 1 - below and 1 - above
    # With the tie's formula above, everything is a sum of log F at x - t, -x - t, x + t and t - x.
    slope_x = wins * down - losses * up + ties * (below - above)
    slope_t = -wins * down - losses * up + ties * (below + above)
    curve_above, curve_below = above * down, below * up
    bend_a, bend_b = (wins + ties) * curve_above, (losses + ties) * curve_below
    bend_x, bend_xt, bend_tt = bend_a + bend_b, bend_b - bend_a, bend_a + bend_b
    total_t, bend_t = float(slope_t.sum()), float(bend_tt.sum())
    n_ties = float(ties.sum())
    if n_ties:
        total_t += n_ties * 2.0 / np.expm1(2.0 * t)
        bend_t += n_ties / np.sinh(t) ** 2
    size = len(values)
    a, b, order = counts.a, counts.b, counts.order
    slope = np.bincount(a, slope_x, size) - np.bincount(b, slope_x, size) - precision * values
    slope[-2] += order @ slope_x
    slope[-1] += total_t
    flat = np.zeros(size * size)
    for first, second, sign in ((a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)):
        flat += np.bincount(first * size + second, sign * bend_x, size * size)
    matrix = flat.reshape(size, size)
    for at, weight in ((-2, order * bend_x), (-1, bend_xt)):
        column = np.bincount(a, weight, size) - np.bincount(b, weight, size)
        matrix[at] += column
        matrix[:, at] += column
    matrix[-2, -2] += (order**2) @ bend_x
    matrix[-2, -1] += order @ bend_xt
    matrix[-1, -2] += order @ bend_xt
    matrix[-1, -1] += bend_t
    return slope, matrix + np.diag(precision)


def _logistic(x: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _log_logistic(x: Floats) -> Floats:
    logs: Floats = -np.logaddexp(0.0, -x)
    return logs


def clearly_better(strength: Floats, covariance: Floats, confidence: float) -> NDArray[np.int64]:
    """Return the pairs whose order is clear, better arm first, all of them right with this confidence.

    The intervals of all differences hold together: their width is that of Tukey and Kramer, a quantile of the
    largest of all standardised differences.
    """
    from scipy.stats import studentized_range

    n_arms = len(strength)
    if n_arms < 2:
        return np.zeros((0, 2), np.int64)
    width = float(studentized_range.ppf(confidence, n_arms, np.inf)) / 2.0**0.5
    own = np.diag(covariance)
    variance = np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0)
    return np.argwhere(strength[:, None] - strength[None, :] > width * np.sqrt(variance))
