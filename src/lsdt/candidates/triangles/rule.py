"""Method ``triangles``: an arm that is similar to two dissimilar arms cannot be the best (Proposition 1).

Were it the best, both would lie less than epsilon below it and hence be similar. The arms that are left are
the set B0 of the paper's Section 4.1. With ``max_wrong=r`` an arm goes only when r + 1
vertex-disjoint dissimilar pairs exclude it: one wrong relation spoils at most one of them, so r wrong ones do
no harm.

Three kernels do the same work; the side information chooses: bit rows when it is dense, sorted rows when it
is sparse or more than one witness is wanted, a window scan when it is implicit. Distinct thresholds have a
rule and a kernel of their own (`thresholds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.complete.proper_order import proper_order
from lsdt.candidates.options import USUAL, Asked
from lsdt.candidates.proofs import Explanation
from lsdt.candidates.triangles import rule_kernel as kernel
from lsdt.candidates.triangles.conflict import conflict_of
from lsdt.candidates.triangles.thresholds import (
    excluded_by_pairs,
    kept_by_thresholds,
    scan_thresholds,
    threshold_conflict,
)
from lsdt.candidates.triangles.windows_kernel import SeenWindows, eliminate_by_windows
from lsdt.errors import InconsistentSideInformation
from lsdt.kernel.memory import available_memory, require_memory
from lsdt.kernel.parallel import over_blocks
from lsdt.side_information.layouts.reveal import Reveal
from lsdt.side_information.layouts.reveal_kernel import write_bits
from lsdt.side_information.layouts.stores import PairStore, Store, WindowStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation

_WORD = 64
_MOST_ROWS = 100_000  # arms whose pairs can be written out in some seconds


@dataclass(frozen=True, eq=False)
class Triangles:
    """What the triangle rule leaves: ``witnesses[i]`` are the pairs that exclude arm i, or -1.

    ``needed`` is how many each arm takes, where that differs from arm to arm; ``min_witnesses`` is then the
    smallest.
    """

    witnesses: NDArray[np.int32]
    min_witnesses: int = 1
    notes: tuple[str, ...] = ()
    needed: NDArray[np.int64] | None = None

    @property
    def arms(self) -> NDArray[np.int64]:
        """The arms that are left, ascending."""
        return np.flatnonzero(self.witnesses[:, 0, 0] < 0)

    @property
    def max_wrong(self) -> int:
        """How many relations may be wrong without the loss of the best arm."""
        return self.min_witnesses - 1

    @property
    def classes(self) -> None:
        """Classes belong to complete information."""
        return

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Give the dissimilar pairs that exclude an arm, or say that there are not enough."""
        wanted = self.min_witnesses if self.needed is None else int(self.needed[arm])
        if self.witnesses[arm, 0, 0] >= 0:
            pairs = [(int(first), int(second)) for first, second in self.witnesses[arm, :wanted]]
            return excluded_by_pairs(side, arm, pairs, wanted)
        if side.store.thresholds is not None:
            return kept_by_thresholds(side, arm, wanted)
        needed = "no two" if wanted == 1 else f"fewer than {wanted} disjoint pairs"
        text = (
            f"arm {side.label(arm)!r} may be the best as far as the triangle rule can tell: {needed} of the "
            "arms similar to it are known to be dissimilar."
        )
        return Explanation(side, arm, True, text)


def find_triangles(side: SideInformation, asked: Asked = USUAL) -> Triangles:
    """Return what the triangle rule leaves; raise when nothing is left, which proves a contradiction."""
    if isinstance(asked.max_wrong, str):
        return smallest_consistent(side)
    wanted = asked.max_wrong + 1
    found = Triangles(_witnesses(side.store, wanted), wanted)
    if len(found.arms) == 0:
        raise nothing_left(side, found)
    return found


def excluding_pairs(side: SideInformation) -> NDArray[np.int32]:
    """Return for every arm a dissimilar pair of arms similar to it, or -1 where there is none."""
    return _witnesses(side.store, 1)[:, 0]


def arms_left(side: SideInformation) -> NDArray[np.int64]:
    """Return what the triangle rule leaves, ascending: none where the relations contradict one another."""
    return np.flatnonzero(excluding_pairs(side)[:, 0] < 0)


def smallest_consistent(side: SideInformation, proven_wrong: bool = False) -> Triangles:
    """Take the smallest number of witnesses that leaves an arm: more witnesses never leave fewer arms.

    Where a relation is proven wrong the search starts at two; complete information that is no unit interval
    graph holds one for certain.
    """
    store = side.store
    if isinstance(store, WindowStore) and not store.is_true:
        store = store.explicit()  # once, not for every number that is tried
    proven_wrong = proven_wrong or (side.is_complete and proper_order(store) is None)
    low, high = int(proven_wrong), 1 + int(proven_wrong)
    while len((left := Triangles(_witnesses(store, high), high)).arms) == 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        attempt = Triangles(_witnesses(store, middle), middle)
        if len(attempt.arms):
            high, left = middle, attempt
        else:
            low = middle
    why = "the relations contradict one another; " if high > 1 else ""
    least = (
        "the smallest that can be right"
        if proven_wrong and high == 2
        else "the smallest number that leaves a candidate"
    )
    wrong = {1: "no relation is wrong", 2: "at most one relation is wrong"}.get(
        high, f"at most {high - 1} relations are wrong"
    )
    note = (
        f"{why}max_wrong='auto' took {high - 1}, {least}: this keeps the best arm "
        f"if {wrong}. If more may be, ask for a larger max_wrong."
    )
    return replace(left, notes=(note,))


def nothing_left(side: SideInformation, found: Triangles) -> InconsistentSideInformation:
    """Return the error for an elimination that leaves no arm."""
    conflict = (conflict_of if side.store.thresholds is None else threshold_conflict)(
        side, found.witnesses[:, 0]
    )
    if found.min_witnesses > 1:
        return InconsistentSideInformation(
            f"every arm is excluded by {found.min_witnesses} disjoint pairs: at least {found.min_witnesses} "
            f"relations are wrong, at least one of them here:\n{conflict}\n"
            "Allow for more wrong relations with a larger max_wrong.",
            conflict,
        )
    return InconsistentSideInformation(
        f"the relations contradict one another: no arm could be the best.\n{conflict}\n"
        "Correct one of these relations. With max_wrong=r the best arm is kept as long as at most r "
        "relations are wrong.",
        conflict,
    )


def _witnesses(store: Store, wanted: int) -> NDArray[np.int32]:
    n_arms = store.n_arms
    if 2 * wanted > n_arms - 1:  # no arm has so many others: all stay
        return np.full((n_arms, 1, 2), -1, np.int32)
    what = f"{wanted} witnesses for each of {n_arms:,} arms"
    require_memory(8 * n_arms * wanted, what, "ask for a smaller max_wrong")
    witnesses = np.full((n_arms, wanted, 2), -1, np.int32)
    if isinstance(store, WindowStore):
        if store.is_true and not _rows_are_cheaper(store):
            if min(_most_near(store)) > 0.0:  # else no triangle can be revealed
                _scan_windows(store, witnesses)
            return witnesses
        if wanted == 1 and _bits_fit(n_arms):
            _scan_bits(*_bits_of_windows(store), witnesses)
            return witnesses
    pairs = store.explicit()
    if pairs.thresholds is not None:
        scan_thresholds(pairs, witnesses)
    elif wanted == 1 and _is_dense(pairs) and pairs.dissimilar is not None:
        _scan_bits(_bits_of_rows(*pairs.similar), _bits_of_rows(*pairs.dissimilar), witnesses)
    else:
        scan_rows(pairs, np.full(n_arms, wanted), witnesses)
    return witnesses


def _most_near(store: WindowStore) -> tuple[float, float]:
    """Return the largest probabilities with which the relations of a triangle are revealed."""
    similar = dissimilar = 1.0
    for layer in store.layers:
        if isinstance(layer, Reveal):
            p_similar, p_dissimilar = layer.most_near()
            similar, dissimilar = similar * p_similar, dissimilar * p_dissimilar
    return similar, dissimilar


def _rows_are_cheaper(store: WindowStore) -> bool:
    """Say whether the window scan would toss more coins than writing all pairs out, and these would fit.

    About 1/p_dissimilar pairs are tried before one is revealed, and as many arms as they take on either side
    are looked for with probability p_similar each; a window sets the limit to both.
    """
    p_similar, p_dissimilar = _most_near(store)
    n_arms = store.n_arms
    if min(p_similar, p_dissimilar) == 0.0 or n_arms > _MOST_ROWS:
        return False
    side = store.windows.n_similar / n_arms
    tries = min(1.0 / p_dissimilar, (side * p_similar) ** 2)
    tosses = tries + min(2.0 * np.sqrt(tries) / p_similar, 2.0 * side)
    return bool(tosses > 4.0 * n_arms and sum(store.expected_counts()) * 16 < 0.5 * available_memory())


def _is_dense(pairs: PairStore) -> bool:
    """A row of bits is shorter to read than a row of neighbours when it has more of these than words."""
    return 2 * pairs.n_dissimilar > pairs.n_arms * (pairs.n_arms / _WORD) and _bits_fit(pairs.n_arms)


def _bits_fit(n_arms: int) -> bool:
    return 2 * n_arms * _n_words(n_arms) * 8 < 0.8 * available_memory()


def _n_words(n_arms: int) -> int:
    return -(-n_arms // _WORD)


def _scan_windows(store: WindowStore, witnesses: NDArray[np.int32]) -> None:
    w = store.windows
    seen = SeenWindows(store.coins, w.order, w.means, w.epsilon, w.left_end, w.right_end)
    over_blocks(lambda first, last: eliminate_by_windows(seen, first, last, witnesses), store.n_arms)


def scan_rows(pairs: PairStore, needed: NDArray[np.int64], witnesses: NDArray[np.int32]) -> None:
    """Write the witnesses of every arm that has as many as are needed for it."""
    implied = pairs.dissimilar is None
    rows = pairs.similar if pairs.dissimilar is None else pairs.dissimilar
    over_blocks(
        lambda first, last: kernel.eliminate_by_rows(
            *pairs.similar, *rows, implied, first, last, needed, witnesses
        ),
        pairs.n_arms,
    )


def _scan_bits(
    similar: NDArray[np.uint64], dissimilar: NDArray[np.uint64], witnesses: NDArray[np.int32]
) -> None:
    over_blocks(
        lambda first, last: kernel.eliminate_by_bits(similar, dissimilar, first, last, witnesses),
        len(witnesses),
    )


def _bits_of_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> NDArray[np.uint64]:
    n_arms = len(indptr) - 1
    bits = np.zeros((n_arms, _n_words(n_arms)), np.uint64)
    over_blocks(lambda first, last: kernel.bits_from_rows(indptr, indices, first, last, bits), n_arms)
    return bits


def _bits_of_windows(store: WindowStore) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    n_arms = store.n_arms
    similar = np.empty((n_arms, _n_words(n_arms)), np.uint64)
    dissimilar = np.empty_like(similar)
    base = store.base()
    over_blocks(
        lambda first, last: write_bits(base, store.coins, n_arms, first, last, similar, dissimilar), n_arms
    )
    return similar, dissimilar
