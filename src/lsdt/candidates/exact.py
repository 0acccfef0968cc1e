"""Method ``exact``: whether an arm can be the best, decided by search, for few arms.

Suppose arm i is the best, and let d_j = (mu_i - mu_j) / epsilon >= 0 be the depths. Similar arms have depths
less than 1 apart, dissimilar ones at least 1, one way or the other. For given orders of the dissimilar pairs
these are difference constraints, which shortest paths decide. The orders are searched depth first, and one
that follows from the others is never tried. Deciding is NP-complete (Theorem 4 of the paper): the search for
an arm ends after `MOST_ORDERS` assumptions. Such an arm stays, and the notes say so.

Arms that are not joined by similar pairs, directly or through others, can be moved apart as far as one likes:
the parts of the similarity graph are searched one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from lsdt.candidates.asked import USUAL, Asked
from lsdt.candidates.conflicts import Conflict, relation_table
from lsdt.candidates.exact_kernel import CAN, CANNOT, UNDECIDED, search, similar_bounds
from lsdt.candidates.explanations import Explanation, best_means, eliminated_by_pairs, relation_of
from lsdt.candidates.triangles import find_triangles
from lsdt.errors import InconsistentSideInformation, TooLarge, Unsupported, counted
from lsdt.side_information.thresholds import DISTINCT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation

MOST_ARMS = 200
MOST_ORDERS = 10_000  # orders of a pair that are assumed for one arm: half a second of search

_SHOWN = 12


class Verdict(NamedTuple):
    """CAN, CANNOT or UNDECIDED; how many orders of a pair were assumed; depths in epsilons that show CAN."""

    answer: int
    orders: int
    depths: NDArray[np.float64] | None = None


class Part:
    """Arms joined by similar pairs, directly or through others, with what is known of them.

    Parameters
    ----------
    table : ndarray of int8
        1, -1 or 0 for every pair of all arms.
    arms : ndarray of int
        The arms of the part, ascending.
    """

    def __init__(self, table: NDArray[np.int8], arms: NDArray[np.int64]) -> None:
        within = table[np.ix_(arms, arms)]
        self.arms = arms
        # Steps to an epsilon: so many that strict and other inequalities are the same in whole steps.
        self._unit = len(arms) + 1
        self._similar = similar_bounds(within, self._unit)
        self._pairs = np.argwhere(np.triu(within < 0))

    def decide(self, arm: int | None, most_orders: int | None = None) -> Verdict:
        """Decide whether an arm can be the best of the part, or, for None, whether any can."""
        most_orders = MOST_ORDERS if most_orders is None else most_orders
        best = -1 if arm is None else int(np.searchsorted(self.arms, arm))
        steps = np.zeros(len(self.arms), np.int64)
        answer, orders = search(self._similar, self._pairs, self._unit, best, most_orders, steps)
        if answer != CAN:
            return Verdict(answer, orders)
        # Similar arms are at most unit - 1 steps apart, dissimilar ones at least unit: half a step of room.
        return Verdict(answer, orders, (steps - steps.min()) / (self._unit - 0.5))


def known_table(side: SideInformation) -> NDArray[np.int8]:
    """Return 1, -1 or 0 for every pair of arms: similar, dissimilar, unknown."""
    return relation_table(side.explicit(), np.arange(side.n_arms))


def joined(table: NDArray[np.int8], arms: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the sets of joined arms into which some arms fall."""
    count, number = connected_components(csr_array(table[np.ix_(arms, arms)] > 0), directed=False)
    return [arms[number == one] for one in range(count)]


@dataclass(frozen=True, eq=False)
class Exact:
    """What the search found; an arm without a verdict was excluded by a triangle."""

    table: NDArray[np.int8]
    parts: list[Part]
    witnesses: NDArray[np.int32]
    verdicts: list[Verdict | None]

    @cached_property
    def answers(self) -> NDArray[np.int64]:
        """CAN, CANNOT or UNDECIDED for every arm."""
        found = np.array([CANNOT if one is None else one.answer for one in self.verdicts])
        if any((found[part.arms] != CAN).all() for part in self.parts):
            found[found == CAN] = UNDECIDED  # it is open whether there are means for all the arms
        return found

    @property
    def arms(self) -> NDArray[np.int64]:
        """The arms that can be the best, and those that are undecided, ascending."""
        return np.flatnonzero(self.answers != CANNOT)

    @property
    def classes(self) -> None:
        """Classes belong to the method for complete information."""
        return

    @property
    def min_witnesses(self) -> int:
        """One witness eliminates an arm: the relations are taken at their word."""
        return 1

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the search gave up on some arms."""
        count = int((self.answers == UNDECIDED).sum())
        if not count:
            return ()
        return (
            f"{counted(count, 'arm')} undecided: the search ended after {MOST_ORDERS:,} orders of dissimilar "
            "pairs and kept what it could not exclude; the answer contains every candidate, and may hold "
            "other arms.",
        )

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Give means that make the arm the best, or a few arms whose relations forbid it."""
        answer, verdict = int(self.answers[arm]), self.verdicts[arm]
        if verdict is None:
            first, second = self.witnesses[arm].tolist()
            return eliminated_by_pairs(side, arm, [(first, second)], 1)
        if answer == CANNOT:
            return _excluded(side, self.table, arm)
        if answer == CAN:
            return best_means(side, arm, self._coordinates(arm))
        text = (
            f"arm {side.label(arm)!r} may be the best: this is undecided, the search ended after "
            f"{MOST_ORDERS:,} orders of dissimilar pairs."
        )
        return Explanation(side, arm, True, text)

    def _coordinates(self, arm: int) -> NDArray[np.float64]:
        """Return a model with the arm on top: its own part, and below it a model of every other part."""
        coordinates = np.zeros(len(self.verdicts))
        top = 0.0
        for part in sorted(self.parts, key=lambda part: arm not in part.arms):
            shown = (
                arm
                if arm in part.arms
                else next(other for other in part.arms.tolist() if self._depths(other) is not None)
            )
            depths = self._depths(shown)
            assert depths is not None
            coordinates[part.arms] = top - depths
            top -= float(depths.max()) + 2.0
        return coordinates

    def _depths(self, arm: int) -> NDArray[np.float64] | None:
        verdict = self.verdicts[arm]
        return None if verdict is None else verdict.depths


def find_exact(side: SideInformation, asked: Asked = USUAL) -> Exact:
    """Decide every arm; raise when no arm can be the best, which proves a contradiction."""
    asked.refuse_witnesses(
        "'exact' takes every relation at its word", "leave min_witnesses out, or ask for 'triangles'"
    )
    if side.store.thresholds is not None:
        raise Unsupported(f"the method 'exact' {DISTINCT}; use 'propagation' or 'triangles'")
    if side.n_arms > MOST_ARMS:
        other = "'anchors', which is exact too" if side.is_complete else "'triangles'"
        raise TooLarge(
            f"the method 'exact' searches, and takes up to {MOST_ARMS} arms; there are {side.n_arms:,}. Use "
            f"{other}, or look at fewer arms"
        )
    witnesses = find_triangles(side).witnesses[:, 0]
    table = known_table(side)
    parts = [Part(table, arms) for arms in joined(table, np.arange(side.n_arms))]
    verdicts: list[Verdict | None] = [None] * side.n_arms
    for part in parts:
        for arm in part.arms[witnesses[part.arms, 0] < 0].tolist():
            verdicts[arm] = part.decide(arm)
    found = Exact(table, parts, witnesses, verdicts)
    for part in parts:
        if (found.answers[part.arms] == CANNOT).all():
            raise _nothing_left(side, table, part)
    return found


def _excluded(side: SideInformation, table: NDArray[np.int8], arm: int) -> Explanation:
    """Explain by as few arms as can be found by leaving arms out one after another."""

    def still(arms: NDArray[np.int64]) -> NDArray[np.int64] | None:
        around = next((members for members in joined(table, arms) if arm in members), None)
        if around is None or Part(table, around).decide(arm).answer != CANNOT:
            return None
        return around

    arms = _fewest(np.arange(side.n_arms), still)
    orders = Part(table, arms).decide(arm).orders
    how = "Propagating these constraints shows it."
    if orders:
        how = f"A search through {counted(orders, 'order')} of dissimilar pairs shows it."
    text = (
        f"arm {side.label(arm)!r} cannot be the best: no means satisfy what is known of {_named(side, arms)} "
        f"and give it the largest. {how}"
    )
    known = _known_pairs(table, arms)
    pairs = tuple(pair for pair in known if table[pair] < 0)
    return Explanation(side, arm, False, text, pairs, rests_on=known)


def _nothing_left(side: SideInformation, table: NDArray[np.int8], part: Part) -> InconsistentSideInformation:
    def still(arms: NDArray[np.int64]) -> NDArray[np.int64] | None:
        parts = joined(table, arms)
        return next(
            (members for members in parts if Part(table, members).decide(None).answer == CANNOT), None
        )

    arms = _fewest(part.arms, still)
    conflict = Conflict(
        tuple(side.label(arm) for arm in arms.tolist()),
        tuple(relation_of(side, *pair) for pair in _known_pairs(table, arms)),
    )
    return InconsistentSideInformation(
        f"the relations contradict one another: no arm could be the best.\n{conflict}\n"
        "Correct one of these relations. The method 'triangles' with min_witnesses=r keeps the best arm as "
        "long as fewer than r relations are wrong.",
        conflict,
    )


def _fewest(
    arms: NDArray[np.int64], still: Callable[[NDArray[np.int64]], NDArray[np.int64] | None]
) -> NDArray[np.int64]:
    """Leave out arms, many at a time and then one by one, while `still` finds a proof among the others."""
    kept = arms
    size = max(len(kept) // 2, 1)
    while size >= 1:
        at = 0
        while at < len(kept):
            attempt = still(np.delete(kept, np.s_[at : at + size]))
            if attempt is None:
                at += size
            else:
                kept = attempt
        size //= 2
    return kept


def _known_pairs(table: NDArray[np.int8], arms: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of some arms whose relation is known, the smaller arm first."""
    places = np.argwhere(np.triu(table[np.ix_(arms, arms)]))
    return tuple((int(arms[a]), int(arms[b])) for a, b in places)


def _named(side: SideInformation, arms: NDArray[np.int64]) -> str:
    names = [repr(side.label(arm)) for arm in arms[:_SHOWN].tolist()]
    if len(arms) > _SHOWN:
        return f"{', '.join(names)} and {len(arms) - _SHOWN} more arms"
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
