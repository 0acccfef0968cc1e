"""E-values of all pairs of arms that are tried on the same examples, one example after the other.

The bets are those of `lsdt.ratings.statistics.betting`, here against the claim that arm i is better than arm
j by at least a margin. What the bets of all fractions are worth together changes by one factor per example:
``1 - f d`` where d is the difference of the scores less the margin, and f is the mean fraction, each weighed
by what it is worth by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.ratings import FRACTIONS, WEIGHTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

BYTES_PER_PAIR = 8 * (2 + 4 * len(WEIGHTS))  # the worth of all bets, and copies of it while one learns


class PairedBets:
    """E-values against each arm being better than each other one by at least a margin.

    Attributes
    ----------
    log_e : array of shape (n_arms, n_arms)
        The logarithm of the e-value against arm i being better than arm j by at least the margin (for a
        margin of 0: at least as good).

    Examples
    --------
    >>> import numpy as np
    >>> bets = PairedBets(2)
    >>> for _ in range(30):
    ...     bets.learn(np.array([0, 1]), np.array([.4, .7]))
    >>> bets.log_e.round(1).tolist()
    [[0.0, 6.8], [-2.5, 0.0]]
    """

    def __init__(self, n_arms: int, margin: float = 0.0) -> None:
        self.margin = margin
        self.log_e = np.zeros((n_arms, n_arms))
        self._worth = np.broadcast_to(WEIGHTS, (n_arms, n_arms, len(WEIGHTS))).copy()

    def learn(self, arms: NDArray[np.int64], scores: Numbers) -> None:
        """Learn the scores of some arms, from 0 to 1, on one example."""
        pairs = np.ix_(arms, arms)
        lead = scores[:, None] - scores - self.margin
        np.fill_diagonal(lead, 0.0)
        worth = self._worth[pairs]
        factor = 1.0 - (worth @ FRACTIONS) * lead
        self.log_e[pairs] += np.log(factor)
        worth *= 1.0 - FRACTIONS * lead[..., None]
        worth /= factor[..., None]
        self._worth[pairs] = worth

    def against_best(self) -> Numbers:
        """Return the logarithm of the sum of e-values against each arm, over all others."""
        others = self.log_e.copy()
        np.fill_diagonal(others, -np.inf)
        return np.asarray(np.logaddexp.reduce(others, axis=1))
