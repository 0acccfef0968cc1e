"""Method ``probing``: propagation, then try both orders of every dissimilar pair that it left open.

Assume that an arm is the best and derive everything that follows (see `propagation`). If the order of a
dissimilar pair does not follow, try both. An order that leads to a contradiction is excluded, so the other
one holds, and more may follow from it. If both are excluded, the arm cannot be the best. If neither is,
whatever follows from both holds as well. Repeat until no further pair gets an order. Propagation is not
enough on instances built to be hard; there probing closes most gaps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.proofs import Explanation
from lsdt.candidates.propagation.constraints import ConstraintSystem, system_around
from lsdt.candidates.propagation.contradiction import part_without_arms
from lsdt.candidates.propagation.method import (
    MOST_CLOSED,
    Clock,
    Propagation,
    Stage,
    conclude,
    derive,
    find_conflict,
    most_near,
    run_stage,
)
from lsdt.candidates.search.probing_kernel import eliminate_by_probing, members_around
from lsdt.candidates.search.refutation import conflict_within, explain_refutation
from lsdt.candidates.triangles.conflict import Conflict
from lsdt.errors import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.options import Options
    from lsdt.candidates.outcome import Outcome
    from lsdt.side_information import SideInformation

MOST_TRIES = 2_000  # orders tried for one arm: half a second among 256 arms

_MOST_SEARCHED = 1_000  # arms, at most, among which to search for a conflict, as for ``exact``


@dataclass(frozen=True, eq=False)
class Probing(Propagation):
    """What probing found; `excluded_by_probing` are arms that propagation had left."""

    excluded_by_probing: tuple[int, ...] = ()

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Explain why the arm is excluded, or that nothing contradicts it."""
        if arm not in self.excluded_by_probing:
            return super().explain(side, arm)
        system = system_around(side, np.array([arm]))
        place = int(system.places(np.array([arm]))[0])
        members = members_around(system.constraints, place, most_near(system, 1), MOST_CLOSED)
        few = explain_refutation(side, system, place, members)
        if few is not None:
            return few
        text = (
            f"arm {side.label(arm)!r} cannot be the best: assuming that it is leads to a contradiction for "
            "both orders of some dissimilar pair."
        )
        return Explanation(side, arm, False, text)


def find_probing(side: SideInformation, options: Options) -> Outcome:
    """Run probing; fall back to more witnesses if the relations contradict one another."""
    options.refuse_wrong_relations(
        "'probing' assumes that all relations are right", "leave max_wrong out, or ask for 'triangles'"
    )
    found = derive_with_probing(side, Clock(options.timeout))
    return conclude(side, found, _find_conflict(side, found))


def _find_conflict(side: SideInformation, found: Probing) -> Conflict | None:
    """Return relations that contradict one another, or None if probing found no contradiction."""
    if found.excluded_by_probing:
        part = part_without_arms(side, found.system, found.left)
        if part is not None and np.isin(part, found.excluded_by_probing).any():
            return _conflict_of(side, part, found.excluded_by_probing)
    return find_conflict(side, found)


def _conflict_of(side: SideInformation, part: NDArray[np.int64], excluded: tuple[int, ...]) -> Conflict:
    """Return a conflict among arms that are all excluded; it names no relations if the search proves none."""
    system = system_around(side, part)
    members = system.places(part)
    if len(part) > _MOST_SEARCHED:
        place = int(system.places(part[np.isin(part, excluded)])[0])
        members = members_around(system.constraints, place, most_near(system, 1), MOST_CLOSED)
    shown = conflict_within(side, system, members)
    return Conflict(tuple(side.label(arm) for arm in part.tolist()), ()) if shown is None else shown


def derive_with_probing(side: SideInformation, clock: Clock) -> Probing:
    """Run probing; it may leave no arm if the relations contradict one another."""
    found = Probing(**vars(derive(side, clock)))
    if len(found.left) == 0 or found.is_exact or clock.is_over() or not side.n_dissimilar:
        return found
    if found.order is not None and (found.order.conflict is not None or not found.order.n_open):
        return found
    left, stage = _by_probing(system_around(side, found.left), found.left, clock)
    excluded = tuple(np.setdiff1d(found.left, left).tolist())
    return replace(found, left=left, stages=(*found.stages, stage), excluded_by_probing=excluded)


def _by_probing(
    system: ConstraintSystem, arms: NDArray[np.int64], clock: Clock
) -> tuple[NDArray[np.int64], Stage]:
    near = most_near(system, len(arms))
    tries = np.zeros(len(arms), np.int64)

    def work(places: NDArray[np.int64], first: int, last: int, possible: NDArray[np.bool_]) -> None:
        eliminate_by_probing(
            system.constraints, places, first, last, near, MOST_CLOSED, MOST_TRIES, possible, tries
        )

    left, stage = run_stage("probing", system, arms, clock, work, "", smallest=1)
    given_up = int((tries[np.isin(arms, left)] > MOST_TRIES - 2).sum())
    if given_up and not stage.remark:
        remark = f"{counted(given_up, 'arm')} kept after {MOST_TRIES:,} orders of dissimilar pairs were tried"
        stage = stage._replace(remark=remark)
    return left, stage
