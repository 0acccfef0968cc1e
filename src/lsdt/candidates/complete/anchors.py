"""Method ``anchors``: the candidate set of complete side information (Section 3.1 and 5.1 of the paper).

Theorem 1: in a connected unit interval graph the arms that can be best are those with the closed
neighbourhood of the best arm and those with that of the worst, that is the two end classes of its order.
A disconnected graph has the end classes of every component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsdt.candidates.complete.anchors_kernel import end_class_members
from lsdt.candidates.complete.interval_model import model_with_best
from lsdt.candidates.complete.proper_order import ProperOrder, proper_order_of_store
from lsdt.candidates.complete.recognition import not_unit_interval
from lsdt.candidates.options import USUAL, Options
from lsdt.candidates.outcome import Classes, Outcome
from lsdt.candidates.proofs import Explanation, best_means, explain_triangles
from lsdt.candidates.reasons import CANDIDATE, COMPLETE
from lsdt.errors import Unsupported
from lsdt.side_information import (
    DISTINCT,
    IGNORED,
    TOLERANCE,
    WITHOUT,
    float_threshold,
    frozen,
    left_ends,
    right_ends,
    sorted_rows,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import SideInformation


class Anchors(NamedTuple):
    """The arms that can stand at an end of the line (left anchors), class by class.

    `members` holds all of them; class c starts at ``class_starts[c]``.
    """

    proper: ProperOrder
    members: NDArray[np.int32]
    class_starts: NDArray[np.int64]

    @property
    def arms(self) -> NDArray[np.int64]:
        """The candidates, ascending."""
        return np.sort(self.members).astype(np.int64)

    @property
    def classes(self) -> list[NDArray[np.int64]]:
        """The classes of neighbourhood equivalence, ordered by their smallest arm."""
        return Classes(self.members, self.class_starts).split()

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of reason of every arm."""
        kinds = np.full(len(self.proper.order), COMPLETE)
        kinds[self.members] = CANDIDATE
        return kinds

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Give means that make the arm the best, or the arms that exclude it by Theorem 1."""
        coordinates = model_with_best(self.proper, arm)
        if coordinates is not None:
            return best_means(side, arm, coordinates)
        return _forbidden(side, self.proper, arm)


def find_anchors(side: SideInformation, options: Options = USUAL, first_start: int = 0) -> Anchors:
    """Return the left anchors of complete side information; raise if it is not a unit interval graph."""
    if side.store.thresholds is not None:
        raise Unsupported(f"the method 'anchors' {DISTINCT}; use 'propagation' or 'triangles'")
    if side.ranges is not None:
        raise Unsupported(f"the method 'anchors' {IGNORED}; use 'propagation' or 'order'. {WITHOUT}")
    if not side.is_complete:
        raise Unsupported(
            "the method 'anchors' needs complete side information and this is partial; use 'triangles', or "
            "declare it complete if every pair that is not listed is dissimilar"
        )
    options.refuse_wrong_relations(
        "complete information is given to 'anchors'", "ask for the method 'triangles' as well", (0, "auto")
    )
    proper = proper_order_of_store(side.store, first_start)
    if proper is None:
        raise not_unit_interval(side)
    positions, number_of = end_class_members(proper.left_end, proper.right_end)
    arms = proper.order[positions]
    first = np.minimum.reduceat(arms, _starts(number_of))[number_of]  # the smallest arm of every arm's class
    ordered = np.lexsort((arms, first))
    return Anchors(proper, arms[ordered], _starts(first[ordered]))


def find_by_anchors(side: SideInformation, options: Options) -> Outcome:
    """Find the candidates of complete side information; raise if it is not a unit interval graph."""
    found = find_anchors(side, options)
    classes = Classes(found.members, found.class_starts)
    return Outcome(side, found.arms, found, is_exact=True, classes=classes)


class CandidateClasses(NamedTuple):
    """The candidates of many problems with complete information, and their classes, problem by problem.

    ``arms`` are the candidates, ascending, ``n_arms`` per problem; ``members`` are the same, class by class,
    as indices among the candidates of their problem. A problem has ``n_classes`` classes; ``n_members`` is
    the size of every class.
    """

    arms: NDArray[np.int64]
    n_arms: NDArray[np.int64]
    members: NDArray[np.int64]
    n_members: NDArray[np.int64]
    n_classes: NDArray[np.int64]


def candidate_classes(means: NDArray[np.float64], epsilon: float) -> CandidateClasses:
    """Return what `find_anchors` finds for ``lsdt.from_means(row, epsilon)``, for all rows of means."""
    order, ascending = sorted_rows(means)
    threshold = float_threshold(epsilon, TOLERANCE)
    positions, numbers, sizes, n_classes = [], [], [], []
    for row in ascending:
        right_end = frozen(right_ends(row, threshold))
        where, number_of = end_class_members(left_ends(right_end), right_end)
        positions.append(where)
        numbers.append(number_of)
        sizes.append(len(where))
        n_classes.append(int(number_of[-1]) + 1)
    n_arms, counts = np.array(sizes), np.array(n_classes)
    problem = np.repeat(np.arange(len(means)), n_arms)
    arms = order[problem, np.concatenate(positions)]
    class_of = np.concatenate(numbers) + (np.cumsum(counts) - counts)[problem]
    smallest = np.minimum.reduceat(arms, _starts(class_of))[class_of]
    by_class = np.lexsort((arms, smallest, problem))
    by_arm = np.lexsort((arms, problem))
    place = np.empty(len(arms), np.int64)
    place[by_arm] = np.arange(len(arms))
    firsts = (np.cumsum(n_arms) - n_arms)[problem]
    begins = _starts(class_of[by_class])
    n_members = np.diff(begins, append=len(arms))
    return CandidateClasses(arms[by_arm], n_arms, place[by_class] - firsts, n_members, counts)


def _starts(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return where runs of equal values begin."""
    begins = np.empty(len(values), bool)
    begins[:1] = True
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return np.flatnonzero(begins)


def _forbidden(side: SideInformation, proper: ProperOrder, arm: int) -> Explanation:
    """Explain by the proof of Theorem 1 why an arm inside the order cannot be the best.

    If its outermost neighbours are dissimilar, they are the witness. Otherwise its neighbourhood is a clique,
    and the arms just outside it on either side are the witness: if the arm were the best, both would lie
    between one and two epsilons below it, and so would be similar.
    """
    position = int(proper.position[arm])
    low, high = int(proper.left_end[position]), int(proper.right_end[position]) - 1
    near = int(proper.order[low]), int(proper.order[high])
    if high >= int(proper.right_end[low]):
        return explain_triangles(side, arm, [(min(near), max(near))], 1)
    far = int(proper.order[low - 1]), int(proper.order[high + 1])
    if far[0] > far[1]:  # the order may run either way; the explanation does not depend on it
        near, far = near[::-1], far[::-1]
    used = (
        (arm, near[0]),
        (near[0], far[0]),
        (arm, far[0]),
        (arm, near[1]),
        (near[1], far[1]),
        (arm, far[1]),
        far,
    )
    name, u, v, x, y = (repr(side.label(which)) for which in (arm, *near, *far))
    text = (
        f"arm {name} cannot be the best: {x} and {y} are dissimilar to it, but {x} is similar to {u} and {y} "
        f"to {v}, both of which are similar to {name}. Were {name} the best, {x} and {y} would both lie "
        f"between one and two epsilons below it, hence be similar; they are dissimilar."
    )
    return Explanation(side, arm, False, text, (far,), rests_on=used)
