"""Arms with equal closed neighbourhoods, merged: P2 needs one of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.side_information import subgraph
from lsdt.theory.domination import twins_kernel as kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import Adjacency


def without_twins(similar: Adjacency) -> tuple[NDArray[np.int64], Adjacency]:
    """Return the lowest arm of every class of twins, ascending, and the graph among them.

    Twins have the same constraint in P2 and cover the same arms. A solution for the lowest arms, with 0 for
    all others, is therefore one for all arms, and so is a solution of the dual: no value is lost. The lowest
    arm carries the whole value because plays are rounded up arm by arm: one arm rounds once.
    """
    n_arms = len(similar.indptr) - 1
    hashes = kernel.closed_hashes(similar.indptr, similar.indices)
    by_hash = np.argsort(hashes, kind="stable")
    lowest = kernel.representatives(similar.indptr, similar.indices, hashes, by_hash)
    kept = np.flatnonzero(lowest == np.arange(n_arms))
    if len(kept) == n_arms:
        return kept, similar
    return kept, subgraph(similar, kept)
