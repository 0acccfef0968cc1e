"""Why the order of dissimilar pairs excludes an arm, and means that make one the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.proofs import Explanation, best_means
from lsdt.candidates.propagation.exclusion import explain_exclusion, refutation_around

if TYPE_CHECKING:
    from lsdt.candidates.propagation.constraints import Field
    from lsdt.candidates.propagation.orientation import Orientation
    from lsdt.side_information import SideInformation


def explain_model(side: SideInformation, arm: int, oriented: Orientation) -> Explanation:
    """Explain a candidate by means that satisfy every relation and make it the best."""
    means = next(one for one in oriented.models if one[arm] == one.max())
    return best_means(side, arm, means, oriented.size)


def explain_both_images(
    side: SideInformation, around: Field, arm: int, near: int, most_closed: int
) -> Explanation:
    """Explain why an arm lies below another one whichever way the means are turned."""
    place = int(around.places(np.array([arm]))[0])
    if refutation_around(around, place, near, most_closed) is not None:
        return explain_exclusion(side, around, arm, near, most_closed)
    text = (
        f"arm {side.label(arm)!r} cannot be the best: the relations determine the order of dissimilar pairs "
        "up to reflection, and it has an arm above it both ways. The chain of reasoning is too long to be "
        "listed."
    )
    return Explanation(side, arm, False, text)
