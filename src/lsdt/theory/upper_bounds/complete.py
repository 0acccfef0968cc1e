"""Theorem 2 of the paper: the regret of LSDT-CSI, with every constant written out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import zeta

from lsdt._validation import checked_horizons, checked_spread
from lsdt.theory.true_means import checked_truth
from lsdt.theory.upper_bounds.curve import UpperBound

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from lsdt.side_information import SideInformation


def upper_bound_csi(
    side: SideInformation,
    means: ArrayLike,
    horizon: Any,
    sigma: float = 1.0,
    alpha: float | None = None,
) -> UpperBound:
    """Bound the mean regret of LSDT-CSI (Theorem 2, and Section 5.1 for disconnected graphs).

    With 4 alpha for the paper's 32, the leading term is log T times the sum of

    - ``4 alpha max gap / (lowest mean of the best class - highest mean of the other)^2`` for every class but
      that of the best arm,
    - ``4 alpha / gap`` for every arm of the best arm's class that is not best itself.

    The paper's O(number of candidates) is written out after its Appendix C: with z = 2 zeta(alpha / (2
    sigma^2) - 2), which is pi^2 / 3 at alpha = 8 sigma^2, ``max gap * (arms of the class + z)`` for every
    other class and ``gap * (1 + z)`` for every arm of the second kind. It is infinite unless alpha is above
    6 sigma^2, which the proof needs.

    Parameters
    ----------
    side : SideInformation
        Complete side information.
    means : array_like
        The true mean of every arm.
    horizon : int or list of int
        Number of rounds.
    sigma : float
        Sub-Gaussian parameter of the rewards.
    alpha : float, optional
        Width of the policy's index; 8 sigma^2 by default, as in the policy.

    Examples
    --------
    >>> import lsdt
    >>> means = [0., .5, 1.]
    >>> side = lsdt.from_means(means, epsilon=.75)
    >>> bound = lsdt.theory.upper_bound_csi(side, means, horizon=10_000)
    >>> bound
    UpperBound(299.021 = 294.731 + 4.28987)
    >>> bound.vacuous
    False
    >>> bound([10, 100]).round(1).tolist()
    [78.0, 151.7]
    """
    sigma = checked_spread(sigma, "sigma")
    alpha = 8.0 * sigma**2 if alpha is None else checked_spread(alpha, "alpha")
    horizon = checked_horizons(horizon)
    truth = checked_truth(side, means)
    order = alpha / (2.0 * sigma**2) - 2.0
    tail = 2.0 * float(zeta(order)) if order > 1.0 else math.inf
    slope, constant = 0.0, 0.0
    for arm in truth.own:
        gap = float(truth.gaps[arm])
        if gap > 0.0:
            slope += 4.0 * alpha / gap
            constant += gap * (1.0 + tail)
    lowest = float(truth.means[truth.own].min())
    for members in truth.classes:
        if truth.best not in members:
            between = lowest - float(truth.means[members].max())
            largest = float(truth.gaps[members].max())
            slope += 4.0 * alpha * largest / between**2 if between > 0.0 else math.inf
            constant += largest * (len(members) + tail)
    note = "" if order > 1.0 else f"the proof needs alpha above 6 sigma^2 = {6.0 * sigma**2:g}; got {alpha:g}"
    return UpperBound(
        horizon,
        float(truth.gaps[truth.anchors.arms].max()),
        note,
        lambda rounds: slope * np.log(np.maximum(rounds, 1.0)),
        lambda rounds: np.full(len(rounds), constant),
    )
