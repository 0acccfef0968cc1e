"""Find a few arms whose relations exclude an arm, or contradict one another, by dropping the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.candidates.minimise import minimise
from lsdt.candidates.proofs import Explanation, range_relation, relation_of, threshold_relations
from lsdt.candidates.search.components import MOST_ORDERS, Component, components_of
from lsdt.candidates.search.exact_kernel import CANNOT
from lsdt.candidates.triangles.conflict import Conflict, ThresholdConflict
from lsdt.errors import InconsistentSideInformation, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.proofs import Relation
    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.side_information import SideInformation

_SHOWN = 12  # names of arms in a sentence


def explain_refutation(
    side: SideInformation,
    system: ConstraintSystem,
    arm: int,
    arms: NDArray[np.int64],
    most_orders: int = MOST_ORDERS,
) -> Explanation | None:
    """Explain why an arm is excluded, by a few of `arms`; None if no search of `most_orders` proves it.

    Arms are indices in the constraint system.
    """

    def still(arms: NDArray[np.int64]) -> NDArray[np.int64] | None:
        members = next((some for some in components_of(system, arms) if arm in some), None)
        if members is None or Component(system, members).decide(arm, most_orders).answer != CANNOT:
            return None
        return members

    start = still(arms)
    if start is None:
        return None
    few = minimise(start, still)
    orders = Component(system, few).decide(arm, most_orders).orders
    how = "Propagating these constraints shows it."
    if orders:
        how = f"A search through {counted(orders, 'order')} of dissimilar pairs shows it."
    text = (
        f"arm {side.label(int(system.arms[arm]))!r} cannot be the best: no means satisfy what is known about "
        f"{_list_names(side, system.arms[few])} and give it the largest. {how}"
    )
    known = _known_pairs(side, system.arms[few])
    pairs = tuple(pair for pair in known if side.store.relation(*pair) < 0)
    listed = relations_known(side, known)
    return Explanation(side, int(system.arms[arm]), False, text, pairs, rests_on=known, listed=listed)


def contradiction_error(
    side: SideInformation, system: ConstraintSystem, arms: NDArray[np.int64]
) -> InconsistentSideInformation:
    """Return the error for a component in which no arm can be the best, with a conflict."""
    conflict = conflict_within(side, system, arms) or _conflict(side, system.arms[arms])
    return InconsistentSideInformation(
        f"the relations contradict one another: no arm could be the best.\n{conflict}\n"
        "Correct one of these relations. The method 'triangles' with max_wrong=r keeps the best arm as long "
        "as at most r relations are wrong.",
        conflict,
    )


def conflict_within(
    side: SideInformation, system: ConstraintSystem, arms: NDArray[np.int64]
) -> Conflict | None:
    """Return a conflict of a few of `arms`, none of which can be the best; None if no search proves one."""

    def still(arms: NDArray[np.int64]) -> NDArray[np.int64] | None:
        parts = components_of(system, arms)
        return next(
            (members for members in parts if Component(system, members).decide(None).answer == CANNOT), None
        )

    start = still(arms)
    return None if start is None else _conflict(side, system.arms[minimise(start, still)])


def _conflict(side: SideInformation, arms: NDArray[np.int64]) -> Conflict:
    named = tuple(side.label(arm) for arm in arms.tolist())
    relations = relations_known(side, _known_pairs(side, arms))
    return (Conflict if side.store.thresholds is None else ThresholdConflict)(named, relations)


def _known_pairs(side: SideInformation, arms: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of some arms whose relation is known, the smaller arm first."""
    arms = np.sort(arms)
    places = zip(*np.triu_indices(len(arms), 1), strict=True)
    pairs = ((int(arms[a]), int(arms[b])) for a, b in places)
    return tuple(pair for pair in pairs if side.store.relation(*pair) or side.range_at(*pair).is_known)


def relations_known(side: SideInformation, pairs: tuple[tuple[int, int], ...]) -> tuple[Relation, ...]:
    """Return all known relations of some pairs: similar, dissimilar, better, a range."""
    found: list[Any] = []
    for pair in pairs:
        if side.store.thresholds is not None:
            found += threshold_relations(side, *pair)
        elif side.store.relation(*pair):
            found.append(relation_of(side, *pair))
        low, high, strict_low, strict_high = side.range_at(*pair)
        if strict_low or strict_high:
            found.append(range_relation(side, *pair, is_better=True))
        if (np.isfinite(low) and not strict_low) or (np.isfinite(high) and not strict_high):
            found.append(range_relation(side, *pair, is_better=False))
    return tuple(found)


def _list_names(side: SideInformation, arms: NDArray[np.int64]) -> str:
    names = [repr(side.label(arm)) for arm in arms[:_SHOWN].tolist()]
    if len(arms) > _SHOWN:
        return f"{', '.join(names)} and {len(arms) - _SHOWN} more arms"
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
