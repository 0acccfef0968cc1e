"""Programme P1 as stated, solved numerically to check the closed form of `lower_bound`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from lsdt._validation import checked_spread
from lsdt.errors import Unsupported
from lsdt.theory.lower_bounds.linear_programme import LinearProgramme
from lsdt.theory.lower_bounds.lower_bound import LowerBound
from lsdt.theory.true_means import Truth, checked_truth

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information import SideInformation


def solve_p1(side: SideInformation, means: ArrayLike, sigma: float = 1.0) -> LowerBound:
    """Solve P1 of Appendix D by the simplex method, one unknown per arm, Gaussian rewards.

    `lower_bound_rates` gives the same constant by a formula; this function confirms it.

    Parameters
    ----------
    side : SideInformation
        Complete side information with a connected similarity graph, as in Theorem 3.
    means : array_like
        The true mean of every arm.
    sigma : float
        Standard deviation of the rewards.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.theory.lower_bounds.p1_programme import solve_p1
    >>> means = [0., .4, .8, 1.]
    >>> side = lsdt.from_means(means, epsilon=.7)
    >>> round(solve_p1(side, means).value, 4)
    10.6173
    """
    sigma = checked_spread(sigma, "sigma")
    truth = checked_truth(side, means)
    n_components = len(truth.components())
    if n_components > 1:
        raise Unsupported(
            f"P1 is stated for connected graphs and this one has {n_components} components; "
            "lower_bound_rates takes any"
        )
    own = truth.own
    behind = own[truth.gaps[own] > 0.0]
    lower = np.zeros(len(truth.means))
    lower[behind] = 2.0 * sigma**2 / truth.gaps[behind] ** 2
    programme = LinearProgramme(-truth.gaps, lower, np.full(len(lower), np.inf))
    if len(truth.classes) > 1:
        divergences = (truth.means - _mirror_means(truth)) ** 2 / (2.0 * sigma**2)
        divergences[own] = 0.0
        size = divergences.max()  # the solver's tolerance is absolute
        programme.add(csr_array(-divergences[None, :] / size), np.array([-1.0 / size]))
    solved = programme.solve()
    return LowerBound(-solved.value, solved.point)


def _mirror_means(truth: Truth) -> NDArray[np.float64]:
    """Return the means of Appendix D under which the other class is best; its arms all stand at its top."""
    own = truth.own
    (other,) = (members for members in truth.classes if truth.best not in members)
    reflected = truth.means.copy()
    reflected[other] = truth.means[other].min()
    mirrored: NDArray[np.float64] = truth.means[truth.best] + truth.means[own].min() - reflected
    mirrored[own] = truth.means[own]
    return mirrored
