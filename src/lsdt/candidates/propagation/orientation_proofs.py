"""Why the order of dissimilar pairs excludes an arm, and means that make one the best.

An arm is out if it lies strictly between two others: whichever way the means are turned, one of them lies
above it. The argument begins with the order of one dissimilar pair, a free choice, derives the orders that
follow among a few arms around the one in question, and ends with a chain of bounds up to an arm above it and
one down to an arm below it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.minimise import Budget, fewest
from lsdt.candidates.proofs import Explanation, Link, Step, best_means, derivation_text, legend
from lsdt.candidates.propagation.closure_kernel import place_below
from lsdt.candidates.propagation.derivation import (
    SIMILAR,
    Graph,
    Sizes,
    hypothesis,
    orders_before,
    pairs_of,
    relations_of,
)
from lsdt.candidates.propagation.derivation_kernel import forced_orders, similar_closure
from lsdt.candidates.propagation.exclusion import explain_exclusion, in_epsilons, refutation_around

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import Field
    from lsdt.candidates.propagation.derivation import Edge, Hypothesis
    from lsdt.candidates.propagation.orientation import Orientation
    from lsdt.side_information import SideInformation

_SIZES = (16, 32, 64, 128, 256, 400)  # arms around the one in question
_PAIRS = 4  # whose order is tried as the first
_ATTEMPTS = 400
_ENDS = 4  # arms above, and below, of which the nearest is named


def explain_model(side: SideInformation, arm: int, oriented: Orientation) -> Explanation:
    """Explain a candidate by means that satisfy every relation and make it the best."""
    means = next(one for one in oriented.models if one[arm] == one.max())
    return best_means(side, arm, means, oriented.size)


def explain_both_images(
    side: SideInformation, around: Field, arm: int, near: int, most_closed: int
) -> Explanation:
    """Explain why an arm lies below another one whichever way the means are turned."""
    place = int(around.places(np.array([arm]))[0])
    if refutation_around(around, place, near, most_closed) is not None:
        return explain_exclusion(side, around, arm, near, most_closed)
    name, found = repr(side.label(arm)), _between(around, place)
    if found is None:
        text = (
            f"arm {name} cannot be the best: the relations determine the order of dissimilar pairs, at least "
            "up to reflection, and whichever way it goes another arm lies above this one. The chain of "
            "reasoning is too long to be listed."
        )
        return Explanation(side, arm, False, text)
    steps, pairs = _steps(side, around, found), pairs_of(around, found.known)
    text = (
        f"arm {name} cannot be the best: it lies between two others, whichever way the means are turned. Let "
        f"d(j) be how far arm j lies below some point{in_epsilons(side, around)}; {legend(steps)}:\n"
        f"{derivation_text(steps, None)}"
    )
    relations = relations_of(side, around, found.known)
    far = pairs[len(found.known.similar) :]
    return Explanation(side, arm, False, text, far, rests_on=pairs, steps=steps, listed=relations)


class Between(NamedTuple):
    """A few arms with one pair ordered, from which follows that `arm` lies between two of them."""

    known: Hypothesis
    arm: int

    def bounds(self) -> NDArray[np.int64] | None:
        """Return the closed bounds on all differences of depths; None if the order contradicts them."""
        known = self.known
        links = known.links, known.link_steps  # none: a pair is ordered without ranges
        bounds = similar_closure(len(known.arms), known.similar, known.similar_steps, *links)
        if not place_below(bounds, *known.ordered, known.apart):
            return None
        refuted, _orders = forced_orders(bounds, known.dissimilar, known.dissimilar_steps)
        return None if refuted else bounds

    def holds(self) -> bool:
        """Return whether an arm lies strictly above, and one strictly below."""
        bounds = self.bounds()
        return bounds is not None and bool((bounds[self.arm] < 0).any() and (bounds[:, self.arm] < 0).any())

    def among(self, kept: NDArray[np.int64]) -> Between | None:
        """Return the same about fewer arms, or None if one that is needed is missing."""
        if not {self.arm, *self.known.ordered} <= set(kept.tolist()):
            return None
        return Between(self.known.among(kept), int(np.searchsorted(kept, self.arm)))


def _between(around: Field, place: int) -> Between | None:
    """Return few arms and relations that show an arm between two others; None if a few hundred do not."""
    before = 0
    for size in _SIZES:
        places = around.nearest(np.array([place]), size)
        if len(places) == before:
            break
        before = len(places)
        ball = hypothesis(around, places)
        ball = replace(
            ball, links=ball.links[:0], link_steps=ball.link_steps[:0]
        )  # they have no mirror image
        arm = int(np.searchsorted(places, place))
        for pair in _first_pairs(ball, arm):
            found = Between(replace(ball, ordered=pair), arm)
            if found.holds():
                return _shrink(found)
    return None


def _first_pairs(ball: Hypothesis, arm: int) -> list[tuple[int, int]]:
    """Return dissimilar pairs similar to a common arm, those with the arm or an arm near it first."""
    is_near = np.zeros((len(ball.arms), len(ball.arms)), bool)
    is_near[tuple(ball.similar.T)] = True
    is_near |= is_near.T
    first, second = ball.dissimilar.T
    joined = (is_near[first] & is_near[second]).any(axis=1)
    close = is_near[arm].copy()
    close[arm] = True
    order = np.argsort(-(close[first].astype(int) + close[second]), kind="stable")
    chosen = ball.dissimilar[order[joined[order]]]
    return [(int(a), int(b)) for a, b in chosen[:_PAIRS]]


def _shrink(found: Between) -> Between:
    """Drop arms, then relations, as long as the rest still shows it."""
    budget = Budget(_ATTEMPTS)

    def without_arms(kept: NDArray[np.int64]) -> bool:
        fewer = found.among(np.sort(kept))
        return budget.spend() and fewer is not None and fewer.holds()

    fewer = found.among(np.sort(fewest(np.arange(len(found.known.arms)), without_arms, budget)))
    assert fewer is not None
    supposed = sorted(fewer.known.ordered)
    far = np.flatnonzero((np.sort(fewer.known.dissimilar, axis=1) == supposed).all(axis=1))
    ordered = len(fewer.known.similar) + int(far[0])
    more = Budget(_ATTEMPTS)

    def without_relations(kept: NDArray[np.int64]) -> bool:
        part = Between(fewer.known.with_relations(np.sort(kept)), fewer.arm)
        return more.spend() and ordered in kept and part.holds()

    kept = fewest(np.arange(fewer.known.n_relations), without_relations, more)
    return Between(fewer.known.with_relations(np.sort(kept)), fewer.arm)


def _steps(side: SideInformation, around: Field, found: Between) -> tuple[Step, ...]:
    known, arm = found.known, found.arm
    graph, bounds = Graph(known), found.bounds()
    assert bounds is not None
    n_orders = len(graph.orders)
    above, below = (np.flatnonzero(row < 0)[:_ENDS].tolist() for row in (bounds[arm], bounds[:, arm]))
    up = min((graph.path(arm, other, 0, n_orders, set()) for other in above), key=len)
    needed = {edge.order for edge in up if edge.order >= 0}
    down = min((graph.path(other, arm, 0, n_orders, needed) for other in below), key=len)
    needed |= {edge.order for edge in down if edge.order >= 0}
    chain = orders_before(graph, needed)
    number = {order.rank: at for at, order in enumerate(chain, 1)}
    names = [side.label(int(around.arms[place])) for place in known.arms]
    sizes = Sizes(side, around)

    def link(edge: Edge) -> Link:
        start, end = names[edge.start], names[edge.end]
        if edge.order == SIMILAR:
            return Link(start, end, sizes.similar(edge.weight), True, "similar")
        return Link(start, end, -sizes.dissimilar(-edge.weight), False, f"step {number[edge.order]}")

    def links(path: tuple[Edge, ...]) -> tuple[Link, ...]:
        return tuple(map(link, path))

    steps = [
        Step(
            "order" if order.path else "supposition",
            names[order.above],
            names[order.below],
            sizes.dissimilar(order.apart),
            links(order.path),
        )
        for order in chain
    ]
    ends = [
        Step("between", names[path[-1].end], names[path[0].start], 0.0, links(path)) for path in (up, down)
    ]
    return (*steps, *ends)
