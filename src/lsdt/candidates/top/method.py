"""Methods ``order`` and ``propagation`` for the best m: count the arms that lie above each.

An arm is out when `top` arms lie strictly above it, whatever means satisfy the relations. Three stages each
work on the arms that the one before left:

1. better pairs and ranges (see `above`), exact where no other pair is dissimilar;
2. triangles: of two dissimilar arms that are similar to an arm, at least one lies above it, so `top`
   disjoint pairs of them exclude it;
3. the order of all dissimilar pairs up to reflection (see `orders`): arms above are counted in both
   reflections of a class, and an arm is out when both counts reach `top`. If the classes order all dissimilar
   pairs of their parts, each reflection is a system of bounds on differences alone, and the answer is exact.

The stages that assume one arm to be the best, intervals and closure, say nothing about the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.outcome import Outcome
from lsdt.candidates.proofs import Explanation, best_means, claim
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.method import Clock, Stage, find_propagation, notes_on
from lsdt.candidates.propagation.order import ArmOrder, order_error, run_order
from lsdt.candidates.propagation.orientation import Log, explain_top_by_log
from lsdt.candidates.reasons import BETWEEN, CANDIDATE, ORDER, TRIANGLE
from lsdt.candidates.top.above import bounds_of_links, lowest_means
from lsdt.candidates.top.orders import EFFORT, SEED, count_in_reflections
from lsdt.candidates.triangles.rule import Triangles, too_few_error, variant_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.options import Options
    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.candidates.top.above import UpwardBounds
    from lsdt.candidates.top.orders import CountedOrders
    from lsdt.side_information import SideInformation


@dataclass(frozen=True, eq=False)
class TopElimination:
    """Why every arm is out of the best `top`, or stays.

    `kinds` are the kinds of reasons. `order` and `links` are those of better pairs and ranges, `triangles`
    the pairs that exclude arms, `system` and `orders` the constraints and the orders counted; each if its
    stage ran. `is_exact` says that every arm left can be among the best.
    """

    top: int
    kinds: NDArray[np.int64]
    order: ArmOrder | None = None
    links: UpwardBounds | None = None
    triangles: Triangles | None = None
    system: ConstraintSystem | None = None
    orders: CountedOrders | None = None
    is_exact: bool = False

    def explain(self, side: SideInformation, arm: int) -> Explanation:
        """Name the arms above an arm and what proves it, or give means that put fewer above it."""
        kind = self.kinds[arm]
        if kind == ORDER:
            assert self.order is not None
            assert self.links is not None
            return self.order.explain_top(side, arm, self.links, self.top)
        if kind == TRIANGLE:
            assert self.triangles is not None
            return self.triangles.explain(side, arm)
        if kind == BETWEEN:
            assert self.system is not None
            return explain_top_by_log(side, self.system, arm, self.log, self.top)
        coordinates, size = self._means(arm) if self.is_exact else (None, None)
        if coordinates is None:
            text = (
                f"arm {side.label(arm)!r} may be {claim(self.top)}: fewer than {self.top} arms are known to "
                "lie above it."
            )
            return Explanation(side, arm, True, text)
        return best_means(side, arm, coordinates, size, top=self.top)

    def _means(self, arm: int) -> tuple[NDArray[np.float64] | None, float | None]:
        """Return means that satisfy every relation with fewer than `top` arms above one, and their unit."""
        if self.orders is not None and self.system is not None:
            is_sized = self.system.thresholds is not None or self.system.ranges is not None
            return self.orders.means(self.system, arm, self.top), self.system.size if is_sized else None
        if self.order is None or self.links is None or self.order.quanta is None:
            return None, None
        size = self.order.quanta.size
        base = self.order.means() / size
        largest = float(np.abs(self.order.quanta.bounds).max(initial=1))
        return lowest_means(self.links, arm, base, np.zeros(len(base), np.int64), largest, False), size

    @cached_property
    def log(self) -> Log:
        """A log of how the orders of dissimilar pairs were found; computing it repeats the growth."""
        assert self.system is not None
        return Log(self.system, EFFORT, SEED)


def find_top_by_order(side: SideInformation, options: Options) -> Outcome:
    """Exclude arms by better pairs, ranges and similar pairs; raise if these contradict one another.

    Examples
    --------
    >>> import lsdt
    >>> side = lsdt.SideInformation(4, better=[(0, 1), (1, 2), (1, 3)])
    >>> found = lsdt.candidate_set(side, "order", top=2)
    >>> found.arms.tolist()
    [0, 1]
    >>> print(found.explain(3))  # doctest: +NORMALIZE_WHITESPACE
    arm 3 cannot be among the best 2: 1 and 0 are better than it, since 1 is better than 3 and 0 is better
    than 1.
    """
    options.refuse_wrong_relations(
        "'order' assumes that all relations are right", "leave max_wrong out, or ask for 'triangles'"
    )
    found = _by_order(side, options.top)
    if found.order is None:
        none = ("there are no better pairs and no ranges: nothing orders the arms",)
        return Outcome(side, np.arange(side.n_arms), found, is_exact=False, notes=none, top=options.top)
    if found.order.conflict is not None:
        raise order_error(found.order.conflict)
    notes = found.order.notes
    if found.order.n_open:
        notes += ("dissimilar pairs of unknown order were not used; 'propagation' uses them too",)
    return Outcome(side, _left(found), found, found.is_exact, notes=notes, top=options.top)


def _left(found: TopElimination) -> NDArray[np.int64]:
    return np.flatnonzero(found.kinds == CANDIDATE)


def _by_order(side: SideInformation, top: int) -> TopElimination:
    """Exclude arms that better pairs, ranges and similar pairs put below `top` others."""
    kinds = np.full(side.n_arms, CANDIDATE)
    order = run_order(side)
    if order is None or order.conflict is not None:
        return TopElimination(top, kinds, order)
    assert order.links is not None
    assert order.quanta is not None
    links = bounds_of_links(side.n_arms, order.links, order.quanta)
    below = np.flatnonzero(order.is_out)
    kinds[below[links.count_above(below, top) >= top]] = ORDER
    return TopElimination(top, kinds, order, links, is_exact=order.is_exact)


def find_top_by_propagation(side: SideInformation, options: Options) -> Outcome:
    """Exclude arms that `top` others lie above; fall back to more witnesses after a contradiction."""
    options.refuse_wrong_relations(
        "'propagation' assumes that all relations are right", "leave max_wrong out, or ask for 'triangles'"
    )
    clock, top, stages = Clock(options.timeout), options.top, []
    started = perf_counter()
    found = _by_order(side, top)
    if found.order is not None:
        if found.order.conflict is not None:
            return _fall_back(side, options)
        n_out = side.n_arms - len(_left(found))
        remark = "; ".join(found.order.notes)
        stages.append(Stage("order", side.n_arms, n_out, perf_counter() - started, remark))
    if found.order is None or found.order.n_open:
        found = _by_pairs(side, replace(found, is_exact=False), clock, stages)
    arms = _left(found)
    is_wrong = found.orders is not None and found.orders.contradiction
    if is_wrong or len(arms) < min(top, side.n_arms):
        return _fall_back(side, options)
    stages_done = tuple(stages)
    return Outcome(side, arms, found, found.is_exact, stages_done, notes_on(stages_done), top=top)


def _by_pairs(
    side: SideInformation, found: TopElimination, clock: Clock, stages: list[Stage]
) -> TopElimination:
    """Exclude arms by disjoint triangles, then by the order of dissimilar pairs."""
    top, kinds, started = found.top, found.kinds.copy(), perf_counter()
    arms, variant = _left(found), variant_of(side)
    triangles = Triangles(variant.witnesses(side.store, top), top, variant=variant, top=top)
    is_out = triangles.witnesses[arms, 0, 0] >= 0
    kinds[arms[is_out]] = TRIANGLE
    stages.append(Stage("triangles", len(arms), int(is_out.sum()), perf_counter() - started))
    arms = arms[~is_out]
    if not len(arms) or clock.is_over():
        if len(arms):
            stages.append(Stage("orientation", 0, 0, 0.0, f"time ran out; {len(arms):,} arms stay"))
        return replace(found, kinds=kinds, triangles=triangles)
    started = perf_counter()
    system = system_around(side, arms)
    places = system.places(arms)
    orders = count_in_reflections(system, places, top, clock.is_over)
    kinds[arms[orders.is_out[places]]] = BETWEEN
    n_out = int(orders.is_out[places].sum())
    stages.append(Stage("orientation", len(arms), n_out, perf_counter() - started, orders.remark))
    is_exact = orders.is_exact and len(system.arms) == side.n_arms
    return replace(found, kinds=kinds, triangles=triangles, system=system, orders=orders, is_exact=is_exact)


def _fall_back(side: SideInformation, options: Options) -> Outcome:
    """Return the outcome of more disjoint triangles after a contradiction.

    The search for the best arm names the conflict, and says how many relations may be wrong.
    """
    best = find_propagation(side, options._replace(top=1))
    if best.conflict is None:
        raise too_few_error(len(best.arms), options.top)
    variant, wanted = variant_of(best.side), best.max_wrong + options.top
    robust = Triangles(variant.witnesses(best.side.store, wanted), wanted, variant=variant, top=options.top)
    return replace(best, arms=robust.arms, evidence=robust, derivation=None, top=options.top)
