"""Which pairs to compare when there are too many to compare all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.kernel import CoinPurpose, coin_key, over_blocks
from lsdt.problems.sparse_pairs_kernel import write_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray


def draw_pairs(
    means: NDArray[np.float64], n_pairs: int, locality: float, reach: float, seed: int
) -> NDArray[np.int32]:
    """Draw pairs to compare, equally many from every arm; some may be drawn twice.

    Parameters
    ----------
    means : array
        One per arm, at least two.
    n_pairs : int
        How many pairs, at least one.
    locality : float
        The share of the pairs whose second arm is drawn among those near the first; else it is any arm.
    reach : float
        Largest distance between near means.
    seed : int
        The same seed gives the same pairs.

    Returns
    -------
    array of shape (n_pairs, 2)
        Sorted by the first arm.
    """
    order = np.argsort(means, kind="stable").astype(np.int32)
    ascending = means[order]
    position = np.empty_like(order)
    position[order] = np.arange(len(order), dtype=np.int32)
    ends = (
        np.searchsorted(ascending, ascending - reach, "left"),
        np.searchsorted(ascending, ascending + reach, "right"),
    )
    windows = np.stack(ends, axis=1)
    pairs = np.empty((n_pairs, 2), np.int32)
    keys = coin_key(seed, CoinPurpose.NEAR), coin_key(seed, CoinPurpose.PARTNER)
    over_blocks(
        lambda first, last: write_pairs(
            *keys, order, position, windows, n_pairs, locality, first, last, pairs
        ),
        n_pairs,
    )
    return pairs
