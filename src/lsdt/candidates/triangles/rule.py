"""The triangle rule: an arm that is similar to two dissimilar arms cannot be the best (Proposition 1).

If it were the best, both would lie less than epsilon below it, and so would be similar. The remaining arms
are the set B0 of the paper's Section 4.1. With ``max_wrong=r`` an arm is excluded only by r + 1
vertex-disjoint dissimilar pairs: a wrong relation spoils at most one of them, so r wrong ones do no harm.

Of the two arms of such a pair one lies strictly above the arm. So m disjoint pairs exclude an arm from the
best m, and m + r do if r relations may be wrong.

With distinct thresholds the rule, its texts and its conflicts differ (`thresholds`); `variant_of` chooses
once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.complete.proper_order import proper_order_of_store
from lsdt.candidates.options import USUAL, Options
from lsdt.candidates.proofs import Explanation, claim, explain_triangles
from lsdt.candidates.reasons import CANDIDATE, TRIANGLE
from lsdt.candidates.triangles.conflict import conflict_of
from lsdt.candidates.triangles.thresholds import (
    explain_threshold_candidate,
    explain_threshold_triangles,
    scan_thresholds,
    threshold_conflict,
)
from lsdt.candidates.triangles.witnesses import scan_witnesses
from lsdt.errors import InconsistentSideInformation
from lsdt.kernel import require_memory
from lsdt.side_information import Store, WindowStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.candidates.triangles.conflict import Conflict
    from lsdt.side_information import SideInformation


class Variant(NamedTuple):
    """The rule with one epsilon, or with distinct thresholds.

    `scan` writes the pairs that exclude each arm. The two explanations are for an excluded arm and for a
    candidate. `conflict` takes an excluding pair for every arm.
    """

    scan: Callable[[Store, NDArray[np.int32]], None]
    explain_exclusion: Callable[..., Explanation]
    explain_candidate: Callable[[SideInformation, int, int, int], Explanation]
    conflict: Callable[[SideInformation, NDArray[np.int32]], Conflict]

    def witnesses(self, store: Store, wanted: int) -> NDArray[np.int32]:
        """Return `wanted` disjoint pairs that exclude each arm, or -1 where there are fewer."""
        n_arms = store.n_arms
        if 2 * wanted > n_arms - 1:  # too few other arms: all stay
            return np.full((n_arms, 1, 2), -1, np.int32)
        what = f"{wanted} witnesses for each of {n_arms:,} arms"
        require_memory(8 * n_arms * wanted, what, "ask for fewer")
        witnesses = np.full((n_arms, wanted, 2), -1, np.int32)
        self.scan(store, witnesses)
        return witnesses


def _explain_candidate(side: SideInformation, arm: int, wanted: int, top: int) -> Explanation:
    """Explain that the rule does not exclude an arm."""
    needed = "no two" if wanted == 1 else f"fewer than {wanted} disjoint pairs"
    text = (
        f"arm {side.label(arm)!r} may be {claim(top)} as far as the triangle rule can tell: {needed} of the "
        "arms similar to it are known to be dissimilar."
    )
    return Explanation(side, arm, True, text)


_ONE_EPSILON = Variant(scan_witnesses, explain_triangles, _explain_candidate, conflict_of)
_DISTINCT_THRESHOLDS = Variant(
    scan_thresholds, explain_threshold_triangles, explain_threshold_candidate, threshold_conflict
)


def variant_of(side: SideInformation) -> Variant:
    """Return the variant of the rule that side information needs."""
    return _ONE_EPSILON if side.store.thresholds is None else _DISTINCT_THRESHOLDS


@dataclass(frozen=True, eq=False)
class Triangles:
    """What the triangle rule found: ``witnesses[i]`` are the pairs that exclude arm i, or -1.

    ``needed`` is how many pairs it takes to exclude each arm, where arms differ; ``min_witnesses`` is then
    the smallest.
    """

    witnesses: NDArray[np.int32]
    min_witnesses: int = 1
    notes: tuple[str, ...] = ()
    needed: NDArray[np.int64] | None = None
    variant: Variant = _ONE_EPSILON
    top: int = 1

    @property
    def arms(self) -> NDArray[np.int64]:
        """The candidates, ascending."""
        return np.flatnonzero(self.witnesses[:, 0, 0] < 0)

    @property
    def max_wrong(self) -> int:
        """How many relations may be wrong without losing one of the best arms."""
        return self.min_witnesses - self.top

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm."""
        return np.where(self.witnesses[:, 0, 0] < 0, CANDIDATE, TRIANGLE)

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Name the dissimilar pairs that exclude an arm, or say that there are not enough."""
        wanted = self.min_witnesses if self.needed is None else int(self.needed[arm])
        if self.witnesses[arm, 0, 0] >= 0:
            pairs = [(int(first), int(second)) for first, second in self.witnesses[arm, :wanted]]
            return self.variant.explain_exclusion(side, arm, pairs, wanted, self.top)
        return self.variant.explain_candidate(side, arm, wanted, self.top)


def run_triangles(side: SideInformation, options: Options = USUAL) -> Triangles:
    """Apply the triangle rule; raise if no arm is left, which proves a contradiction."""
    if isinstance(options.max_wrong, str):
        return smallest_consistent(side)
    variant, wanted = variant_of(side), options.max_wrong + options.top
    found = Triangles(variant.witnesses(side.store, wanted), wanted, variant=variant, top=options.top)
    if len(found.arms) == 0 and options.top == 1:
        raise no_arm_error(side, found)
    if len(found.arms) < min(options.top, side.n_arms):
        run_triangles(side, options._replace(top=1))  # which may name a conflict
        raise too_few_error(len(found.arms), options.top)
    return found


def one_witness(side: SideInformation) -> NDArray[np.int32]:
    """Return a dissimilar pair of arms similar to each arm, or -1 where there is none."""
    return variant_of(side).witnesses(side.store, 1)[:, 0]


def triangle_survivors(side: SideInformation) -> NDArray[np.int64]:
    """Return the arms that the triangle rule leaves, ascending; it may leave none."""
    return np.flatnonzero(one_witness(side)[:, 0] < 0)


def smallest_consistent(side: SideInformation, proven_wrong: bool = False) -> Triangles:
    """Apply the rule with the smallest number of witnesses that leaves an arm; more never leave fewer arms.

    The search starts at two if some relation is provably wrong, as in complete information that is not a
    unit interval graph.
    """
    store = side.store
    if isinstance(store, WindowStore) and not store.is_true:
        store = store.explicit()  # once, not for every number of witnesses
    proven_wrong = proven_wrong or (side.is_complete and proper_order_of_store(store) is None)
    variant = variant_of(side)

    def rule_with(wanted: int) -> Triangles:
        return Triangles(variant.witnesses(store, wanted), wanted, variant=variant)

    low, high = int(proven_wrong), 1 + int(proven_wrong)
    while len((left := rule_with(high)).arms) == 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        attempt = rule_with(middle)
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


def too_few_error(n_left: int, top: int) -> InconsistentSideInformation:
    """Return the error for an elimination that leaves fewer arms than there are places."""
    return InconsistentSideInformation(
        f"the relations contradict one another: {n_left} arms could be among the best {top}, and {top} must "
        "be. Correct them, or allow for more wrong ones with a larger max_wrong.",
        None,
    )


def no_arm_error(side: SideInformation, found: Triangles) -> InconsistentSideInformation:
    """Return the error for an elimination that leaves no arm."""
    conflict = found.variant.conflict(side, found.witnesses[:, 0])
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
