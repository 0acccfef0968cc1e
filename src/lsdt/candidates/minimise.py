"""Make a proof small: leave out many things at a time, then one by one, while the rest is still a proof.

The things are arms or relations. Halves are tried first, then quarters, down to single things, so that a
small proof among many things is found in few attempts. If a subset never proves more than the whole, no
single thing can be left out of the answer. It need not be the smallest proof there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class Budget:
    """A limit on work. Once more than that is spent, `minimise` returns what it has."""

    def __init__(self, amount: float) -> None:
        self._left = amount

    @property
    def is_overspent(self) -> bool:
        """Whether more was spent than the budget allowed."""
        return self._left < 0.0

    def spend(self, amount: float = 1.0) -> bool:
        """Spend some of the budget; return whether there was enough."""
        self._left -= amount
        return not self.is_overspent


def minimise(
    things: NDArray[np.int64],
    proof_among: Callable[[NDArray[np.int64]], NDArray[np.int64] | None],
    budget: Budget | None = None,
) -> NDArray[np.int64]:
    """Return a small subset of `things` that is still a proof.

    Parameters
    ----------
    things : array of int
        Arms or relations, which together are a proof.
    proof_among : function
        Takes a subset, perhaps empty, and returns the part of it that is a proof, or None if it contains
        none. It spends the budget; an attempt that overspends does not count.
    budget : Budget, optional
        By default there is no limit.

    Examples
    --------
    >>> import numpy as np
    >>> minimise(np.arange(10), lambda kept: kept if {2, 7} <= set(kept.tolist()) else None).tolist()
    [2, 7]
    """
    kept = things
    size = max(len(kept) // 2, 1)
    while size >= 1:
        at = 0
        while at < len(kept):
            proof = proof_among(np.delete(kept, np.s_[at : at + size]))
            if budget is not None and budget.is_overspent:
                return kept
            if proof is None:
                at += size
            else:
                kept = proof
        size //= 2
    return kept


def fewest(
    things: NDArray[np.int64],
    suffice: Callable[[NDArray[np.int64]], bool],
    budget: Budget | None = None,
) -> NDArray[np.int64]:
    """Return a small subset, at least one thing, for which `suffice` returns True; see `minimise`."""
    return minimise(things, lambda kept: kept if len(kept) and suffice(kept) else None, budget)
