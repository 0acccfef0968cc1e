"""An independent check of means that prove that an arm is a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from lsdt.side_information import SideInformation


def relations_hold(side: SideInformation, means: ArrayLike, epsilon: float) -> NDArray[np.bool_]:
    """Return for every known relation whether the means satisfy it; similar pairs come first."""
    values = np.asarray(means, np.float64)
    near, apart = (
        np.abs(values[pairs[:, 0]] - values[pairs[:, 1]])
        for pairs in (side.similar_pairs(), side.dissimilar_pairs())
    )
    return np.concatenate([near < epsilon, apart >= epsilon])


def makes_best(side: SideInformation, means: ArrayLike | None, epsilon: float, arm: int) -> bool:
    """Return whether these means satisfy every known relation and make the arm the best; False for None."""
    if means is None:
        return False
    values = np.asarray(means, np.float64)
    return bool(relations_hold(side, values, epsilon).all() and values[arm] == values.max())
