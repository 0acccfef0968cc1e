"""Why the order of dissimilar pairs excludes an arm, and means that make one the best.

An arm is out if it lies strictly between two others: in either reflection of the means, one of them lies
above it. The argument begins with the order of one dissimilar pair, a free choice, derives the orders that
follow among a few arms around the one in question, and ends with a chain of bounds up to an arm above it and
one down to an arm below it. If a few arms are not enough, the argument is the part of the class's growth that
leads there (`growth_log`), which may be thousands of steps long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.minimise import Budget, fewest
from lsdt.candidates.proofs import (
    Explanation,
    Link,
    Step,
    best_means,
    derivation_text,
    legend,
    names_of,
)
from lsdt.candidates.propagation.closure_kernel import place_below
from lsdt.candidates.propagation.derivation import (
    Graph,
    Hypothesis,
    Sizes,
    hypothesis,
    orders_before,
    pairs_of,
    relations_of,
)
from lsdt.candidates.propagation.derivation_kernel import forced_orders, similar_closure
from lsdt.candidates.propagation.exclusion import explain_exclusion, in_epsilons, refutation_around
from lsdt.candidates.propagation.orientation.growth_log import SIGNED, SIMILAR

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.candidates.propagation.derivation import Edge
    from lsdt.candidates.propagation.orientation.growth import Orientation
    from lsdt.candidates.propagation.orientation.growth_log import Learnt, Log, Way
    from lsdt.side_information import ArmId, SideInformation

# More arms find more short proofs; a table of all differences among them is kept, and closing 400 takes a
# fraction of a second. The growth log proves the rest.
_SIZES = (16, 32, 64, 128, 256, 400)  # arms around the one in question
_PAIRS = 4  # dissimilar pairs whose order is tried as the supposition
_ATTEMPTS = 400  # at leaving out arms, and as many at leaving out relations
_ENDS = 4  # arms above, and below, that are tried for the shortest chain


def explain_model(side: SideInformation, arm: int, oriented: Orientation) -> Explanation:
    """Explain a candidate by means that satisfy every relation and make it the best."""
    means = next(one for one in oriented.models if one[arm] == one.max())
    return best_means(side, arm, means, oriented.size)


def explain_both_reflections(
    side: SideInformation,
    system: ConstraintSystem,
    arm: int,
    near: int,
    most_closed: int,
    log: Callable[[], Log],
    sizes: tuple[int, ...] = _SIZES,
) -> Explanation:
    """Explain why an arm lies below another one in every reflection of the means.

    The proof uses arms near it if they are enough (`sizes` says how many are tried), else the `log` of the
    growth.
    """
    place = int(system.places(np.array([arm]))[0])
    if sizes and refutation_around(system, place, near, most_closed) is not None:
        why = explain_exclusion(side, system, arm, near, most_closed)
        if why.steps:
            return why
    found = _between(system, place, sizes)
    if found is not None:
        return _explained(side, system, arm, _steps(side, system, found), found.known)
    return explain_by_log(side, system, arm, log())


def explain_by_log(side: SideInformation, system: ConstraintSystem, arm: int, log: Log) -> Explanation:
    """Explain by the growth of a class why an arm lies below another one in every reflection of it."""
    ends = log.ends(int(system.places(np.array([arm]))[0]))
    if not ends:
        text = (
            f"arm {side.label(arm)!r} cannot be the best: the relations determine the order of dissimilar "
            "pairs, at least up to reflection, and in either reflection another arm lies above this one. "
            "No step-by-step proof was found: this follows from bounds on all arms in each reflection."
        )
        return Explanation(side, arm, False, text)
    learnt = log.trace(ends)
    return _explained(
        side,
        system,
        arm,
        _steps_of_log(side, system, learnt, ends),
        _relations_of_log(system, learnt, ends),
    )


def explain_top_by_log(
    side: SideInformation, system: ConstraintSystem, arm: int, log: Log, top: int
) -> Explanation:
    """Explain by the growth of a class why `top` arms lie above one in every reflection of it."""
    ends = log.top_ends(int(system.places(np.array([arm]))[0]), top)
    if not ends:  # the growth is the same, so this is for relations that contradict one another
        text = f"arm {side.label(arm)!r} cannot be among the best {top}; no step-by-step proof was found."
        return Explanation(side, arm, False, text)
    learnt = log.trace(ends)
    steps, known = _steps_of_log(side, system, learnt, ends), _relations_of_log(system, learnt, ends)
    pairs = pairs_of(system, known)
    chains = [[int(system.arms[at]) for at in (ways[0].start, ways[-1].end)] for ways in ends]
    groups = [chains] if len(chains) == top else [chains[:top], chains[top:]]
    named = [
        "the relations contradict one another"
        if start == end
        else f"{names_of(side, [one if one != arm else two for one, two in group])} lie above it"
        for group in groups
        for start, end in group[:1]
    ]
    why = " and, if a class of orders is reversed, ".join(named)
    if len(known.links) == 0:
        up, down = ([one if one != arm else two for one, two in group] for group in groups)
        why = (
            f"it lies between {names_of(side, up)} and {names_of(side, down)}, and the means may be reflected"
        )
    text = (
        f"arm {side.label(arm)!r} cannot be among the best {top}: {why}. Let "
        f"d(j) be how far arm j lies below some point{in_epsilons(side, system)}; {legend(steps)}:\n"
        f"{derivation_text(steps, None)}"
    )
    relations = tuple(dict.fromkeys(relations_of(side, system, known)))
    far = pairs[len(known.similar) :][: len(known.dissimilar)]
    return Explanation(side, arm, False, text, far, rests_on=pairs, steps=steps, listed=relations)


def _explained(
    side: SideInformation, system: ConstraintSystem, arm: int, steps: tuple[Step, ...], known: Hypothesis
) -> Explanation:
    pairs, n_ends = pairs_of(system, known), sum(step.kind != "order" for step in steps[-2:])
    why = "it lies between two others, also if the means are reflected"
    if len(known.links):
        why = "another arm lies above it" + (", also if a class of orders is reversed" if n_ends == 2 else "")
    text = (
        f"arm {side.label(arm)!r} cannot be the best: {why}. Let "
        f"d(j) be how far arm j lies below some point{in_epsilons(side, system)}; {legend(steps)}:\n"
        f"{derivation_text(steps, None)}"
    )
    relations = tuple(dict.fromkeys(relations_of(side, system, known)))
    far = pairs[len(known.similar) :][: len(known.dissimilar)]
    return Explanation(side, arm, False, text, far, rests_on=pairs, steps=steps, listed=relations)


def _steps_of_log(
    side: SideInformation, system: ConstraintSystem, learnt: list[Learnt], ends: list[tuple[Way, ...]]
) -> tuple[Step, ...]:
    number = {one.event: at for at, one in enumerate(learnt, 1)}
    sizes, c = Sizes(side, system), system.constraints

    def name(place: int) -> ArmId:
        return side.label(int(system.arms[place]))

    def apart(place: int) -> float:
        return sizes.dissimilar(int(_at(c.dissimilar_steps, place)))

    def link(way: Way) -> Link:
        start, end = name(way.start), name(way.end)
        if way.event == SIMILAR:
            return Link(start, end, sizes.similar(int(_at(system.near.steps, way.place))), True, "similar")
        if way.event == SIGNED:
            arms = int(system.arms[way.start]), int(system.arms[way.end])
            return Link(start, end, *sizes.range_end(_steps_of_code(way.code, system.unit), *arms))
        turned = ", turned" if way.is_turned else ""
        return Link(start, end, -apart(way.place), False, f"step {number[way.event]}{turned}")

    steps = []
    for one in learnt:
        kind = "order" if one.ways else "supposition"
        links = tuple(map(link, one.ways))
        steps.append(Step(kind, name(one.above), name(one.below), apart(one.place), links))
    for ways in ends:
        kind = "contradiction" if ways[0].start == ways[-1].end else "between"
        steps.append(Step(kind, name(ways[-1].end), name(ways[0].start), 0.0, tuple(map(link, ways))))
    return tuple(steps)


def _at(steps: NDArray[np.int64], place: int) -> int:
    return int(steps[place if len(steps) > 1 else 0])


def _steps_of_code(code: int, unit: int) -> int:
    """Return a bound in steps, from its code."""
    return ((code + 1) >> 1) * unit - (code & 1)


def _relations_of_log(
    system: ConstraintSystem, learnt: list[Learnt], ends: list[tuple[Way, ...]]
) -> Hypothesis:
    """Return the relations that an argument uses, and the arms it names."""
    ways = [way for some in (*ends, *(one.ways for one in learnt)) for way in some]
    kinds: dict[int, dict[tuple[int, int], int]] = {SIMILAR: {}, SIGNED: {}, 0: {}}
    for one in learnt:
        pair = min(one.above, one.below), max(one.above, one.below)
        kinds[0][pair] = _at(system.constraints.dissimilar_steps, one.place)
    for way in ways:
        if way.event == SIMILAR:
            pair = min(way.start, way.end), max(way.start, way.end)
            kinds[SIMILAR][pair] = _at(system.near.steps, way.place)
        elif way.event == SIGNED:
            kinds[SIGNED][way.start, way.end] = _steps_of_code(way.code, system.unit)
    arms = np.unique(np.array([arm for some in kinds.values() for pair in some for arm in pair], np.int64))
    rows = [
        row
        for some in (kinds[SIMILAR], kinds[0], kinds[SIGNED])
        for row in (
            np.searchsorted(arms, np.array(list(some), np.int64).reshape(-1, 2)),
            np.array(list(some.values()), np.int64),
        )
    ]
    near, near_steps, far, far_steps, links, link_steps = rows
    return Hypothesis(arms, near, near_steps, far, far_steps, links=links, link_steps=link_steps)


class Between(NamedTuple):
    """A few arms with one pair ordered, which imply that `arm` lies between two of them."""

    known: Hypothesis
    arm: int

    def bounds(self) -> NDArray[np.int64] | None:
        """Return the closed bounds on all differences of depths; None if the order contradicts them."""
        known = self.known
        links = known.links, known.link_steps  # none: a hypothesis that orders a pair leaves out ranges
        bounds = similar_closure(len(known.arms), known.similar, known.similar_steps, *links)
        if not place_below(bounds, *known.ordered, known.apart):
            return None
        refuted, _orders = forced_orders(bounds, known.dissimilar, known.dissimilar_steps)
        return None if refuted else bounds

    def holds(self) -> bool:
        """Return whether one arm lies strictly above `arm`, and one strictly below."""
        bounds = self.bounds()
        return bounds is not None and bool((bounds[self.arm] < 0).any() and (bounds[:, self.arm] < 0).any())

    def among(self, kept: NDArray[np.int64]) -> Between | None:
        """Return the same for fewer arms, or None if `kept` lacks the arm or the ordered pair."""
        if not {self.arm, *self.known.ordered} <= set(kept.tolist()):
            return None
        return Between(self.known.among(kept), int(np.searchsorted(kept, self.arm)))


def _between(system: ConstraintSystem, place: int, sizes: tuple[int, ...] = _SIZES) -> Between | None:
    """Return a few arms and relations that show an arm between two others; None if none of `sizes` do."""
    before = 0
    for size in sizes:
        places = system.nearest(np.array([place]), size)
        if len(places) == before:
            break
        before = len(places)
        ball = hypothesis(system, places)
        ball = replace(
            ball, links=ball.links[:0], link_steps=ball.link_steps[:0]
        )  # ranges cannot be reflected
        arm = int(np.searchsorted(places, place))
        for pair in _first_pairs(ball, arm):
            found = Between(replace(ball, ordered=pair), arm)
            if found.holds():
                return _shrink(found)
    return None


def _first_pairs(ball: Hypothesis, arm: int) -> list[tuple[int, int]]:
    """Return dissimilar pairs that are similar to a common arm, those of `arm` or arms near it first."""
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
    """Drop arms, then relations, as long as the rest still proves the exclusion."""
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


def _steps(side: SideInformation, system: ConstraintSystem, found: Between) -> tuple[Step, ...]:
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
    names = [side.label(int(system.arms[place])) for place in known.arms]
    sizes = Sizes(side, system)

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
