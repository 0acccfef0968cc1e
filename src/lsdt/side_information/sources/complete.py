"""Complete information: from the similar pairs, or from known means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsdt._validation import checked_count, checked_epsilon, checked_tolerance
from lsdt.side_information.arms import ArmNames, index_pairs
from lsdt.side_information.layouts.adjacency import adjacency_of_pairs
from lsdt.side_information.layouts.stores import PairStore, WindowStore
from lsdt.side_information.layouts.windows import TOLERANCE, windows_of_means
from lsdt.side_information.side_information import SideInformation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from lsdt.side_information.arms import ArmId


def complete(
    n_arms: int,
    similar: Any,
    arm_ids: Iterable[ArmId] | None = None,
    epsilon: float | None = None,
) -> SideInformation:
    """Complete information: every pair that is not listed as similar is dissimilar, and never stored.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 1.
    similar : array_like of shape (m, 2)
        The similar pairs, by index or by id as in `SideInformation`.
    arm_ids : sequence of str or of int, optional
        Names that come back in every output.
    epsilon : float, optional
        The threshold between similar and dissimilar, where it is known.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.complete(4, similar=[(0, 1), (1, 2), (2, 3)])
    >>> side.n_similar, side.n_dissimilar
    (3, 3)
    """
    n_arms = checked_count(n_arms)
    names = ArmNames(n_arms, arm_ids)
    graph = adjacency_of_pairs(index_pairs(similar, names, "similar"), n_arms)
    return SideInformation._of(PairStore(n_arms, graph, None), names, epsilon)


def from_means(
    means: ArrayLike,
    epsilon: float,
    arm_ids: Iterable[ArmId] | None = None,
    tolerance: float = TOLERANCE,
) -> SideInformation:
    """Complete information from known means: similar when ``|mu_i - mu_j| < epsilon``.

    Held implicitly, as sorted means and windows: 16 bytes an arm, no pairs.

    Parameters
    ----------
    means : array_like
        One finite number per arm.
    epsilon : float
        The threshold, positive.
    arm_ids : sequence of str or of int, optional
        Names that come back in every output.
    tolerance : float
        Binary fractions cannot hold .1: in floats ``.3 - .2 < .1`` but not ``.2 - .1 < .1``. Distances
        that fall short of epsilon by at most ``tolerance * epsilon`` therefore count as epsilon, that
        is dissimilar. Integer means with an integer epsilon are compared exactly.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.from_means([.1, .2, .3, .35], epsilon=.1)
    >>> side.similar_pairs().tolist()
    [[2, 3]]
    """
    epsilon = checked_epsilon(epsilon)
    tolerance = checked_tolerance(tolerance)
    windows = windows_of_means(means, epsilon, tolerance)
    return SideInformation._of(WindowStore(windows), ArmNames(len(windows.order), arm_ids), epsilon)
