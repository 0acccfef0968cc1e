"""How far apart two items are, judged by the users who rated both, and what that says of the pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lsdt.ratings.pairs_kernel import add_pairs
from lsdt.side_information import SideInformation
from lsdt.side_information.checks import checked_epsilon, checked_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.ratings.rating_matrix import RatingMatrix
    from lsdt.side_information.arms import ArmId


_ROUNDING = 1e-9  # parts of epsilon: ratings have few decimals, so distances often fall on a limit


@dataclass(frozen=True, eq=False)
class PairDistances:
    """Mean differences of pairs of items.

    Attributes
    ----------
    differences : array of shape (items, items)
        Mean rating of the first item minus that of the second, over the users who rated both; NaN where
        nobody did.
    raters : array of shape (items, items)
        How many users rated both; on the diagonal how many rated the item.
    item_ids : tuple
        Names of the items.
    """

    differences: NDArray[np.float64]
    raters: NDArray[np.int64]
    item_ids: tuple[ArmId, ...]

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def largest(self) -> float:
        """The largest distance of two items; 0 when no two were rated by the same user."""
        known = np.abs(self.differences[self.raters > 0])
        return float(known.max()) if len(known) else 0.0


def pair_distances(matrix: RatingMatrix) -> PairDistances:
    """Compare every two items on the users who rated both.

    Users who rated both are the only ones whose kindness cancels out: a joke rated by kind users only would
    otherwise seem better than it is.

    Examples
    --------
    >>> import lsdt
    >>> nan = float("nan")
    >>> matrix = lsdt.ratings.RatingMatrix([[.2, .6, nan], [.4, .6, nan], [nan, .1, .3]])
    >>> found = lsdt.ratings.pair_distances(matrix)
    >>> found.differences.round(3).tolist()
    [[0.0, -0.3, nan], [0.3, 0.0, -0.2], [nan, 0.2, 0.0]]
    >>> found.raters.tolist()
    [[2, 2, 0], [2, 3, 1], [0, 1, 1]]
    """
    n_items = matrix.n_items
    sums, raters = np.zeros((n_items, n_items)), np.zeros((n_items, n_items), np.int64)
    rows = matrix.rows()
    add_pairs(*rows, sums, raters)
    sums, raters = sums - sums.T, raters + raters.T
    np.fill_diagonal(raters, np.bincount(rows.items, minlength=n_items))
    differences = np.divide(sums, raters, out=np.full(sums.shape, np.nan), where=raters > 0)
    return PairDistances(differences, raters, matrix.item_ids)


def side_information_of_distances(
    distances: PairDistances, epsilon: float, alpha: float = 0.0
) -> SideInformation:
    """Turn distances into relations by the paper's rule (Section 6.3).

    Two items are similar when they are less than ``(1 - alpha) epsilon`` apart, dissimilar when they are more
    than ``(1 + alpha) epsilon`` apart. In between, at the limits themselves (up to rounding of floats), and
    where nobody rated both, the relation is unknown.

    Parameters
    ----------
    distances : PairDistances
        Of the items.
    epsilon : float
        The threshold, on the scale of the ratings.
    alpha : float
        Distance to keep from the threshold, as a part of it: for estimates that may be wrong.

    Examples
    --------
    >>> import lsdt
    >>> matrix = lsdt.ratings.RatingMatrix([[.2, .6, .9], [.4, .6, .7]], ["tea", "coffee", "cocoa"])
    >>> distances = lsdt.ratings.pair_distances(matrix)
    >>> side = lsdt.ratings.side_information_of_distances(distances, epsilon=.3, alpha=.2)
    >>> side
    SideInformation(3 arms, 1 similar pair, 1 dissimilar pair, partial, epsilon=0.3)
    >>> side.relation("coffee", "cocoa"), side.relation("tea", "cocoa"), side.relation("tea", "coffee")
    ('similar', 'dissimilar', None)
    """
    epsilon, alpha = checked_epsilon(epsilon), checked_share(alpha, "alpha")
    first, second = np.triu_indices(distances.n_items, 1)
    apart = np.abs(distances.differences[first, second])  # NaN, unknown, is neither below nor above
    near, far = (1.0 - alpha - _ROUNDING) * epsilon, (1.0 + alpha + _ROUNDING) * epsilon
    pairs = np.column_stack((first, second))
    names = np.asarray(distances.item_ids, object)
    similar, dissimilar = (names[pairs[chosen]] for chosen in (apart < near, apart > far))
    return SideInformation(distances.n_items, similar, dissimilar, distances.item_ids, epsilon)
