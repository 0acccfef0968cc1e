"""Method ``exact``: decide whether each arm can be the best, for up to a thousand arms.

Each stage works on the arms that the one before left. First come those of ``probing``. Then a search through
the orders of dissimilar pairs (see `components`) finds means that make the arm the best, or proves that there
are none, or stops after `MOST_ORDERS` assumptions. The same search is then repeated without that limit on the
arms that are still open. Deciding is NP-complete (Theorem 4 of the paper), so there is a time limit. An
undecided arm stays, and the notes say so.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.options import USUAL, Options
from lsdt.candidates.outcome import Outcome
from lsdt.candidates.proofs import Explanation, best_means
from lsdt.candidates.propagation.method import Clock, Stage
from lsdt.candidates.propagation.order import order_error
from lsdt.candidates.propagation.range_steps import has_one_unit
from lsdt.candidates.reasons import CANDIDATE, DERIVED
from lsdt.candidates.search.components import (
    MOST_ORDERS,
    Component,
    SearchResult,
    components_of,
    whole_system,
)
from lsdt.candidates.search.exact_kernel import CAN, CANNOT, UNDECIDED
from lsdt.candidates.search.probing import Probing, derive_with_probing
from lsdt.candidates.search.refutation import contradiction_error, explain_refutation
from lsdt.candidates.triangles.rule import run_triangles
from lsdt.errors import TooLarge, Unsupported, counted
from lsdt.side_information import WITHOUT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.side_information import SideInformation

MOST_ARMS = 1_000  # some seconds on random problems; a table of all differences is copied for every arm
USUAL_SECONDS = 60.0  # decides random problems; a few arms of sparse ones stay undecided after it
_ADVICE = "A longer `timeout` may decide."
_SHARE_BEFORE = 4  # the stages before the search get at most this fraction, 1 / 4, of the time
_ORDERS = (MOST_ORDERS, sys.maxsize)  # hard arms wait until the easy ones are decided
_OUT = SearchResult(CANNOT, 0)


@dataclass(frozen=True, eq=False)
class Exact:
    """The decision for every arm; `before` is what probing found."""

    system: ConstraintSystem
    parts: list[Component]
    before: Probing
    verdicts: list[SearchResult]
    stages: tuple[Stage, ...] = ()

    @cached_property
    def answers(self) -> NDArray[np.int64]:
        """CAN, CANNOT or UNDECIDED for every arm."""
        found = np.array([one.answer for one in self.verdicts])
        if any((found[part.arms] != CAN).all() for part in self.parts):
            found[found == CAN] = UNDECIDED  # there may be no means for all the arms at once
        return found

    @property
    def arms(self) -> NDArray[np.int64]:
        """The arms that can be the best, and those that are undecided, ascending."""
        return np.flatnonzero(self.answers != CANNOT)

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm."""
        kinds = self.before.kinds.copy()
        kinds[self.before.left] = DERIVED
        kinds[self.arms] = CANDIDATE
        return kinds

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on undecided arms, if there are any."""
        count = int((self.answers == UNDECIDED).sum())
        if not count:
            return ()
        return (
            f"{counted(count, 'arm')} undecided when the search ended, and kept: the answer contains every "
            f"arm that can be the best, and perhaps others. {_ADVICE}",
        )

    def explain(self, side: SideInformation, arm: int, most_orders: int = MOST_ORDERS) -> Explanation:
        """Explain a candidate by means that make it the best, an exclusion by relations of a few arms.

        If a search of `most_orders` does not find such a few, the explanation names no relations.
        """
        answer, name = int(self.answers[arm]), repr(side.label(arm))
        if arm not in self.before.left:
            return self.before.explain(side, arm)
        if answer == CAN:
            has_own_unit = side.store.thresholds is not None or side.ranges is not None
            size = self.system.size if has_own_unit else None
            return best_means(side, arm, self._coordinates(arm), size)
        if answer == UNDECIDED:
            text = f"arm {name} may be the best: undecided, since the search did not end. {_ADVICE}"
            return Explanation(side, arm, True, text)
        part = next(part for part in self.parts if arm in part.arms)
        few = explain_refutation(side, self.system, arm, part.arms, most_orders)
        if few is not None:
            return few
        text = (
            f"arm {name} cannot be the best: no means satisfy all relations and give it the largest. "
            f"A search through {counted(self.verdicts[arm].orders, 'order')} of dissimilar pairs shows it."
        )
        return Explanation(side, arm, False, text)

    def _coordinates(self, arm: int) -> NDArray[np.float64]:
        """Return a model with the arm on top: its own component first, every other one below it."""
        coordinates = np.zeros(len(self.verdicts))
        top = 0.0
        for part in sorted(self.parts, key=lambda part: arm not in part.arms):
            models = (self.verdicts[other].depths for other in part.arms.tolist())
            depths = self.verdicts[arm].depths if arm in part.arms else next(filter(_is_there, models))
            assert depths is not None
            coordinates[part.arms] = top - depths
            top -= float(depths.max()) + self.system.largest + 1.0
        return coordinates


def _is_there(depths: NDArray[np.float64] | None) -> bool:
    return depths is not None


def find_exact(side: SideInformation, options: Options, orders: tuple[int, ...] = _ORDERS) -> Outcome:
    """Decide every arm; raise when no arm can be the best, which proves a contradiction."""
    found = run_exact(side, options, orders)
    is_exact = not (found.answers == UNDECIDED).any()
    return Outcome(side, found.arms, found, bool(is_exact), found.stages, found.notes)


def run_exact(side: SideInformation, options: Options = USUAL, orders: tuple[int, ...] = _ORDERS) -> Exact:
    """Decide every arm; raise when no arm can be the best, which proves a contradiction.

    `orders` are the limits on the orders assumed for one arm, in the first search and in those after it.
    """
    options.refuse_wrong_relations(
        "'exact' assumes that all relations are right", "leave max_wrong out, or ask for 'triangles'"
    )
    if not has_one_unit(side):
        raise Unsupported(
            "the method 'exact' compares similar and dissimilar pairs with ranges, and so needs their "
            f"epsilon; give one, or use 'propagation'. {WITHOUT}"
        )
    if side.n_arms > MOST_ARMS:
        other = "'anchors', which is exact too" if side.is_complete else "'probing'"
        raise TooLarge(
            f"the method 'exact' searches, and takes up to {MOST_ARMS:,} arms; there are {side.n_arms:,}. "
            f"Use {other}, or fewer arms"
        )
    clock = Clock(USUAL_SECONDS if options.timeout is None else options.timeout)
    before = derive_with_probing(side, Clock(clock.remaining() / _SHARE_BEFORE))
    if before.order is not None and before.order.conflict is not None:
        raise order_error(before.order.conflict)
    if (before.witnesses[:, 0] >= 0).all():
        run_triangles(side)  # raises, with the conflict that triangles show
    system = whole_system(side)
    parts = [Component(system, arms) for arms in components_of(system, np.arange(side.n_arms))]
    is_left = np.isin(np.arange(side.n_arms), before.left)
    for part in parts:
        if not is_left[part.arms].any():
            raise contradiction_error(side, system, part.arms)
    verdicts = [SearchResult(UNDECIDED, 0) if left else _OUT for left in is_left]
    stages = (*before.stages, _search(parts, verdicts, clock, orders))
    found = Exact(system, parts, before, verdicts, stages)
    for part in parts:
        if (found.answers[part.arms] == CANNOT).all():
            raise contradiction_error(side, system, part.arms)
    return found


def _search(
    parts: list[Component], verdicts: list[SearchResult], clock: Clock, orders: tuple[int, ...]
) -> Stage:
    """Search for every remaining arm, each with the same share of the remaining time."""
    started = perf_counter()
    left = [(part, arm) for part in parts for arm in part.arms.tolist() if verdicts[arm] is not _OUT]
    for most_orders in orders:
        still_open = [(part, arm) for part, arm in left if verdicts[arm].answer == UNDECIDED]
        for at, (part, arm) in enumerate(still_open):
            if verdicts[arm].answer == UNDECIDED and not clock.is_over():
                verdict = part.decide(arm, most_orders, Clock(clock.remaining() / (len(still_open) - at)))
                verdicts[arm] = verdict
                if verdict.depths is not None and part.system.ranges is None:
                    _mirror(part, verdict, verdicts)
    answers = [verdicts[arm].answer for _, arm in left]
    count = answers.count(UNDECIDED)
    remark = f"{counted(count, 'arm')} undecided" if count else ""
    return Stage("search", len(answers), answers.count(CANNOT), perf_counter() - started, remark)


def _mirror(part: Component, shown: SearchResult, verdicts: list[SearchResult]) -> None:
    """Mark the deepest arms as CAN: reflected, the depths that make an arm the best make them the best."""
    assert shown.depths is not None
    deepest = shown.depths.max()
    for arm in part.arms[shown.depths == deepest].tolist():
        if verdicts[arm].answer == UNDECIDED:
            verdicts[arm] = SearchResult(CAN, 0, deepest - shown.depths)
