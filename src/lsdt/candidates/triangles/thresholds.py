"""The triangle rule with distinct thresholds: what the relations of three arms imply about the best.

If arm i were the best, an arm a similar to it would lie less than ``high_a`` below it and, if the two are
also known to be dissimilar, at least ``low_a`` (else 0). Two such arms are less than
``max(high_a - low_b, high_b - low_a)`` apart. So i is excluded if they are known to be at least that far
apart. With one epsilon this is Proposition 1 of the paper. docs/handbook/candidates.md proves that three
arms imply no more, unless their relations contradict one another whichever is the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.minimise import Budget, minimise
from lsdt.candidates.proofs import (
    Explanation,
    ThresholdExplanation,
    claim,
    same_argument,
    spare_pairs,
    threshold_relations,
    triangle_pairs,
)
from lsdt.candidates.triangles import thresholds_kernel as kernel
from lsdt.candidates.triangles.conflict import Conflict, ThresholdConflict, witness_closure
from lsdt.kernel import over_blocks
from lsdt.side_information import common_quantum, frozen, subset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation, Store, Thresholds

_MOST_QUANTA = 2**45  # whole numbers that floats add and compare without rounding
_MOST_ATTEMPTS = 400  # at shrinking a conflict, each a run of the rule; a larger conflict is useful too


def scan_thresholds(store: Store, witnesses: NDArray[np.int32]) -> None:
    """Fill in the pairs that exclude each arm, ``witnesses[arm]``; arms that stay keep their -1."""
    assert store.thresholds is not None
    _scan(store, store.thresholds, witnesses)


def _scan(store: Store, limits: Thresholds, witnesses: NDArray[np.int32]) -> None:
    # Decimals count as written: .4 is .1 more than .3, which floats only approximate.
    quantum = common_quantum(limits, _MOST_QUANTA)
    values = limits if quantum is None else [np.rint(numbers / quantum) for numbers in limits]
    first_rows, second_rows = (
        kernel.WeightedRows(*graph, frozen(numbers), int(len(numbers) > 1))
        for graph, numbers in zip((store.listed_similar(), store.listed_dissimilar()), values, strict=True)
    )
    over_blocks(
        lambda first, last: kernel.eliminate_by_thresholds(first_rows, second_rows, first, last, witnesses),
        len(witnesses),
    )


def explain_threshold_triangles(
    side: SideInformation, arm: int, pairs: list[tuple[int, int]], wanted: int, top: int = 1
) -> Explanation:
    """Explain why an arm is excluded, by the pairs that exclude it."""
    name = repr(side.label(arm))
    text = f"arm {name} cannot be the best: {_argument(side, arm, *pairs[0])}"
    if top > 1:
        name_pairs = "; ".join(_argument(side, arm, *pair) for pair in pairs)
        text = (
            f"arm {name} cannot be among the best {top}: of each of these pairs one arm lies above it, or "
            f"both would lie below: {name_pairs}{spare_pairs(wanted - top)}"
        )
    else:
        text += same_argument(side, pairs, wanted)
    return ThresholdExplanation(side, arm, False, text, tuple(pairs), rests_on=triangle_pairs(arm, pairs))


def explain_threshold_candidate(side: SideInformation, arm: int, wanted: int, top: int = 1) -> Explanation:
    """Explain that the rule does not exclude an arm."""
    needed = "no two" if wanted == 1 else f"fewer than {wanted} disjoint pairs"
    text = (
        f"arm {side.label(arm)!r} may be {claim(top)} as far as the triangle rule can tell: {needed} of the "
        "arms similar to it are known to be farther apart than they could be below it."
    )
    return ThresholdExplanation(side, arm, True, text)


def _argument(side: SideInformation, arm: int, first: int, second: int) -> str:
    names = [repr(side.label(which)) for which in (arm, first, second)]
    depths = [side.distance_at(arm, other) for other in (first, second)]
    apart = side.distance_at(first, second)[0]
    farthest = max(depths[0][1] - depths[1][0], depths[1][1] - depths[0][0])
    words = [
        f"less than {high:g}" if low == 0.0 else f"at least {low:g} and less than {high:g}"
        for low, high in depths
    ]
    return (
        f"it is {words[0]} away from {names[1]} and {words[1]} from {names[2]}, which are at least {apart:g} "
        f"apart. Were {names[0]} the best, both would lie below it, hence less than {farthest:g} apart."
    )


def threshold_conflict(side: SideInformation, witnesses: NDArray[np.int32]) -> Conflict:
    """Return a small conflict, given an excluding pair for every arm."""
    arms = _smallest(side, witness_closure(witnesses, 0))
    found = _pairs_among(side, arms)
    relations = {
        relation: None
        for arm, (first, second) in zip(arms.tolist(), found.tolist(), strict=True)
        for pair in ((arm, int(arms[first])), (arm, int(arms[second])), (int(arms[first]), int(arms[second])))
        for relation in threshold_relations(side, min(pair), max(pair))
    }
    triples = [
        (side.label(arm), side.label(int(arms[first])), side.label(int(arms[second])))
        for arm, (first, second) in zip(arms.tolist(), found.tolist(), strict=True)
    ]
    return ThresholdConflict(
        tuple(side.label(arm) for arm in arms.tolist()),
        tuple(relations),  # type: ignore[arg-type]
        tuple(triples),
    )


def _pairs_among(side: SideInformation, arms: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return, for each of `arms`, two others of them that exclude it, as indices into `arms`, or -1."""
    part, witnesses = subset(side, arms), np.full((len(arms), 1, 2), -1, np.int32)
    _scan(part.store, part.limits, witnesses)  # which may have one epsilon: what is left need not differ
    return witnesses[:, 0]


def _smallest(side: SideInformation, arms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop arms as long as the others still contradict one another."""
    budget = Budget(_MOST_ATTEMPTS)

    def contradictory(kept: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the largest part in which every arm is excluded by two others, or None."""
        if not budget.spend():
            return None
        while len(kept) and not (out := _pairs_among(side, kept)[:, 0] >= 0).all():
            kept = kept[out]
        return kept if len(kept) else None

    return minimise(arms, contradictory, budget)
