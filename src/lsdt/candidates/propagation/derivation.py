"""Derivations: a short chain of reasoning that refutes a hypothesis.

The hypothesis is that an arm is the best. For a contradiction among the relations it is that one dissimilar
pair has a certain order; this loses no generality, since reflected means satisfy the same relations. Ranges
have a direction; a contradiction that needs them is derived without any hypothesis. The consequences are
derived in rounds, as in `closure_kernel`, and recorded as orders of dissimilar pairs. Then arms are dropped
as long as the others suffice, then relations. Finally only the orders that the contradiction needs are kept,
each with the shortest path of constraints that excludes the other order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.minimise import fewest
from lsdt.candidates.proofs import Link, Relation, Step, ThresholdRelation, range_relation
from lsdt.candidates.propagation.closure_kernel import place_below
from lsdt.candidates.propagation.derivation_kernel import (
    arm_below_itself,
    forced_orders,
    similar_closure,
    suppose_best,
)
from lsdt.candidates.propagation.method_kernel import FAR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.candidates.propagation.range_steps import LinkRows
    from lsdt.side_information import SideInformation

SIMILAR, BEST, RANGE = -1, -2, -3  # in place of the number of an order
_NO_LINKS = np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
# The cost of a link that needs a new step, and of any other: a chain of up to three known links is preferred
# to one new step, which needs a chain of its own.
_FRESH, _KNOWN = 3, 1


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A hypothesis about a few arms, numbered from 0, with the relations among them.

    Either an arm is the `best`, or the first of two dissimilar arms, `ordered`, lies above the second, or
    neither: then only the relations are in question. Steps are whole numbers, as in `method_kernel`; ``arms``
    are indices in the constraint system. `links` are ends of ranges: the second arm of a link lies at most
    its steps below the first.
    """

    arms: NDArray[np.int64]
    similar: NDArray[np.int64]
    similar_steps: NDArray[np.int64]
    dissimilar: NDArray[np.int64]
    dissimilar_steps: NDArray[np.int64]
    best: int = -1
    ordered: tuple[int, int] = (-1, -1)
    links: NDArray[np.int64] = field(default_factory=lambda: _NO_LINKS[0])
    link_steps: NDArray[np.int64] = field(default_factory=lambda: _NO_LINKS[1])

    @property
    def n_relations(self) -> int:
        """Number of relations; each end of a range counts."""
        return len(self.similar) + len(self.dissimilar) + len(self.links)

    def _closure(self) -> NDArray[np.int64]:
        """Return the bounds that follow before any pair is ordered."""
        links = self.links, self.link_steps
        bounds: NDArray[np.int64] = similar_closure(len(self.arms), self.similar, self.similar_steps, *links)
        if self.best >= 0:
            suppose_best(bounds, self.best)
        return bounds

    def arm_below_itself(self) -> int:
        """Return an arm that would lie below itself before any pair is ordered, or -1."""
        return int(arm_below_itself(self._closure()))

    def orders(self) -> tuple[bool, NDArray[np.int64]]:
        """Return whether it leads to a contradiction, and which orders follow; see `forced_orders`."""
        bounds = self._closure()
        if arm_below_itself(bounds) >= 0:
            return True, np.zeros((0, 3), np.int64)
        if self.ordered[0] >= 0 and not place_below(bounds, *self.ordered, self.apart):
            return True, np.zeros((0, 3), np.int64)
        refuted, orders = forced_orders(bounds, self.dissimilar, self.dissimilar_steps)
        return bool(refuted), orders

    @property
    def apart(self) -> int:
        """The least distance of the ordered pair, in steps."""
        same = (np.sort(self.dissimilar, axis=1) == sorted(self.ordered)).all(axis=1)
        return int(self.dissimilar_steps[np.flatnonzero(same)[0]])

    @property
    def named_arms(self) -> list[int]:
        """The arms that the hypothesis names."""
        return [arm for arm in (self.best, *self.ordered) if arm >= 0]

    def is_refuted(self) -> bool:
        """Return whether it leads to a contradiction."""
        return self.orders()[0]

    def among(self, kept: NDArray[np.int64]) -> Hypothesis:
        """Return the same hypothesis about fewer arms; `kept` ascends and contains the arms it names."""
        place = np.full(len(self.arms) + 1, -1)  # the last entry stands for no arm
        place[kept] = np.arange(len(kept))
        near, far, links = place[self.similar], place[self.dissimilar], place[self.links]
        near_left, far_left = (near >= 0).all(axis=1), (far >= 0).all(axis=1)
        links_left = (links >= 0).all(axis=1)
        return Hypothesis(
            self.arms[kept],
            near[near_left],
            self.similar_steps[near_left],
            far[far_left],
            self.dissimilar_steps[far_left],
            int(place[self.best]),
            (int(place[self.ordered[0]]), int(place[self.ordered[1]])),
            links[links_left],
            self.link_steps[links_left],
        )

    def with_relations(self, relations: NDArray[np.int64]) -> Hypothesis:
        """Return the same hypothesis with these relations only.

        Similar pairs are numbered first, then dissimilar ones, then links.
        """
        n_similar, n_pairs = len(self.similar), len(self.similar) + len(self.dissimilar)
        near, links = relations[relations < n_similar], relations[relations >= n_pairs] - n_pairs
        far = relations[(relations >= n_similar) & (relations < n_pairs)] - n_similar
        return replace(
            self,
            similar=self.similar[near],
            similar_steps=self.similar_steps[near],
            dissimilar=self.dissimilar[far],
            dissimilar_steps=self.dissimilar_steps[far],
            links=self.links[links],
            link_steps=self.link_steps[links],
        )


def hypothesis(
    system: ConstraintSystem, places: NDArray[np.int64], best: int = -1, ordered: tuple[int, int] = (-1, -1)
) -> Hypothesis:
    """Return the hypothesis that `best` is the best, or that `ordered` is ordered, among ascending `places`.

    A hypothesis that orders a pair leaves out ranges, since these could imply or exclude that order.
    """
    c = system.constraints
    near = _pairs_among(*system.near, places)
    far = _pairs_among(c.dissimilar_starts, c.dissimilar, c.dissimilar_steps, places)
    number = {int(place): at for at, place in enumerate(places)}
    number[-1] = -1
    links = _NO_LINKS
    if system.ranges is not None and ordered[0] < 0:
        links = _links_among(system.ranges.links, places)
    return Hypothesis(places, *near, *far, number[best], (number[ordered[0]], number[ordered[1]]), *links)


def _links_among(links: LinkRows, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the links among `places`, as indices into `places`, and their steps."""
    counts = links.starts[places + 1] - links.starts[places]
    at = np.concatenate(
        [np.arange(links.starts[place], links.starts[place + 1]) for place in places.tolist()]
    )
    first, second = np.repeat(np.arange(len(places)), counts), np.searchsorted(places, links.ends[at])
    inside = places[np.minimum(second, len(places) - 1)] == links.ends[at]
    return np.stack([first[inside], second[inside]], axis=1), links.steps[at[inside]]


def _pairs_among(
    starts: NDArray[np.int64], others: NDArray[np.int32], steps: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of symmetric rows among `places`, each once, as indices into it, and their steps."""
    at = np.concatenate([np.arange(starts[place], starts[place + 1]) for place in places.tolist()])
    first = np.repeat(np.arange(len(places)), starts[places + 1] - starts[places])
    second = np.searchsorted(places, others[at])
    inside = places[np.minimum(second, len(places) - 1)] == others[at]
    kept = inside & (first < second)
    pairs = np.stack([first[kept], second[kept]], axis=1)
    return pairs, np.full(len(pairs), steps[0]) if len(steps) == 1 else steps[at[kept]]


def shrink(wide: Hypothesis) -> Hypothesis:
    """Drop arms, then relations, as long as the rest still refutes the hypothesis."""
    used = np.union1d(_arms_of(wide), np.array(wide.named_arms, np.int64))
    close = wide.among(used)

    def without_arms(kept: NDArray[np.int64]) -> bool:
        return set(close.named_arms) <= set(kept.tolist()) and close.among(kept).is_refuted()

    close = close.among(fewest(np.arange(len(close.arms)), without_arms))
    supposed = _ordered_pair(close)

    def without_relations(kept: NDArray[np.int64]) -> bool:
        return supposed <= set(kept.tolist()) and close.with_relations(kept).is_refuted()

    # The result depends on the order in which relations are tried; keep the shorter chain of two orders.
    attempts = []
    for trial in (np.arange(close.n_relations), np.arange(close.n_relations)[::-1]):
        attempt = close.with_relations(np.sort(fewest(trial, without_relations)))
        attempts.append(attempt.among(np.union1d(_arms_of(attempt), np.array(attempt.named_arms, np.int64))))
    return min(attempts, key=lambda attempt: (len(derivation(attempt)), attempt.n_relations))


def _ordered_pair(close: Hypothesis) -> set[int]:
    """Return the number of the ordered pair, as a set; an empty set if the hypothesis orders none."""
    if close.ordered[0] < 0:
        return set()
    same = (np.sort(close.dissimilar, axis=1) == sorted(close.ordered)).all(axis=1)
    return {len(close.similar) + int(np.flatnonzero(same)[0])}


def _arms_of(refuted: Hypothesis) -> NDArray[np.int64]:
    """Return the arms that the derivation names."""
    chain = derivation(refuted)
    named = [arm for order in chain for edge in order.path for arm in (edge.start, edge.end)]
    pairs = [arm for order in chain for arm in (order.above, order.below)]
    return np.unique(np.array(named + pairs, np.int64))


def steps_of(side: SideInformation, system: ConstraintSystem, refuted: Hypothesis) -> tuple[Step, ...]:
    """Return the derivation as steps that name the arms; see `Sizes` for its numbers."""
    chain = derivation(refuted)
    number = {order.rank: at for at, order in enumerate(chain, 1)}
    arms = system.arms[refuted.arms].tolist()
    names, sizes = [side.label(arm) for arm in arms], Sizes(side, system)

    def link(edge: Edge) -> Link:
        start, end = names[edge.start], names[edge.end]
        if edge.order == SIMILAR:  # strict, which took one step off
            return Link(start, end, sizes.similar(edge.weight), True, "similar")
        if edge.order == RANGE:
            return Link(start, end, *sizes.range_end(edge.weight, arms[edge.start], arms[edge.end]))
        why = "best" if edge.order == BEST else f"step {number[edge.order]}"
        return Link(start, end, -sizes.dissimilar(-edge.weight), False, why)

    kinds = ["order" if order.path else "supposition" for order in chain[:-1]] + ["contradiction"]
    return tuple(
        Step(
            kind,
            names[order.above],
            names[order.below],
            sizes.dissimilar(order.apart),
            tuple(link(edge) for edge in order.path),
        )
        for kind, order in zip(kinds, chain, strict=True)
    )


def pairs_of(system: ConstraintSystem, refuted: Hypothesis) -> tuple[tuple[int, int], ...]:
    """Return the pairs of a hypothesis as arms: similar ones, dissimilar ones, those of ranges."""
    places = np.concatenate([refuted.similar, refuted.dissimilar, refuted.links])
    return tuple((int(a), int(b)) for a, b in system.arms[refuted.arms[places]])


def relations_of(
    side: SideInformation, system: ConstraintSystem, refuted: Hypothesis
) -> tuple[Relation, ...]:
    """Return the relations of a hypothesis, with the names of arms and distinct thresholds.

    There is one for every number of `Hypothesis.with_relations`: a range with both ends in use appears twice.
    """
    pairs, n_similar = pairs_of(system, refuted), len(refuted.similar)
    words = ["similar"] * n_similar + ["dissimilar"] * len(refuted.dissimilar)
    named = [(side.label(a), side.label(b)) for a, b in pairs[: len(words)]]
    ranges = [
        range_relation(side, a, b, _is_strict(system, int(steps)))
        for (a, b), steps in zip(pairs[len(words) :], refuted.link_steps, strict=True)
    ]
    if side.store.thresholds is None:
        found = [Relation(*pair, word) for pair, word in zip(named, words, strict=True)]
        return (*found, *ranges)
    sizes = Sizes(side, system)
    lengths = [sizes.similar(int(steps)) for steps in refuted.similar_steps]
    lengths += [sizes.dissimilar(int(steps)) for steps in refuted.dissimilar_steps]
    rows = zip(named, words, lengths, strict=True)
    known = [ThresholdRelation(*pair, word, length) for pair, word, length in rows]
    return (*known, *ranges)  # type: ignore[arg-type]


def _is_strict(system: ConstraintSystem, steps: int) -> bool:
    """Return whether a link stands for a better pair: closed ends are whole units."""
    return steps % system.unit != 0


class Sizes:
    """Convert steps to lengths: in epsilons, or in rewards with distinct thresholds or sized ranges.

    Ranges, and epsilon where there are ranges, are given as stated, not as rounded to steps.
    """

    def __init__(self, side: SideInformation, system: ConstraintSystem) -> None:
        self._side = side
        in_rewards = side.store.thresholds is not None or counts_ranges(system)
        self._size = system.size if in_rewards else 1.0
        self._epsilon = side.epsilon if in_rewards and side.store.thresholds is None else None
        self._unit = system.unit

    def similar(self, steps: int) -> float:
        """Return the length that a similar pair with these steps stays below."""
        return float((steps + 1) / self._unit * self._size) if self._epsilon is None else self._epsilon

    def dissimilar(self, steps: int) -> float:
        """Return the least length of a dissimilar pair with these steps; 0 for no steps."""
        return (
            float(steps / self._unit * self._size) if self._epsilon is None or steps == 0 else self._epsilon
        )

    def range_end(self, steps: int, start: int, end: int) -> tuple[float, bool, str]:
        """Return how much deeper `end` can be than `start` by their range, whether strictly, and why."""
        if steps % self._unit != 0:
            return 0.0, True, range_relation(self._side, start, end, True).relation
        return (self._side.range_at(start, end).high if steps else 0.0), False, "range"


def counts_ranges(system: ConstraintSystem) -> bool:
    """Return whether ranges count with their size, not only with their direction."""
    return system.ranges is not None and system.ranges.is_compared and system.ranges.stated.has_size


class Edge(NamedTuple):
    """``x_end - x_start <= weight``; `order` is the number of the derived order that says so.

    It is `SIMILAR` for a similar pair, `BEST` for the best arm, `RANGE` for a range.
    """

    start: int
    end: int
    weight: int
    order: int


class DerivedOrder(NamedTuple):
    """An order that must hold: the path from `below` to `above` is shorter than `apart`.

    For the last one, the contradiction, `path` leads from `above` back to it, with a length below zero.
    """

    above: int
    below: int
    apart: int
    path: tuple[Edge, ...]
    rank: int
    """Place among all orders found; paths name orders by it."""


def derivation(refuted: Hypothesis) -> list[DerivedOrder]:
    """Return the orders that lead to the contradiction, and the contradiction."""
    graph = Graph(refuted)
    arm = refuted.arm_below_itself()
    if arm >= 0:  # no order is needed
        return [DerivedOrder(arm, arm, 0, graph.path(arm, arm, 0, 0, set()), 0)]
    last = len(graph.orders) - 1
    above, below, apart = graph.orders[last]
    way = graph.path(above, below, apart, last, set())
    closing = Edge(below, above, -apart, last)
    closed = DerivedOrder(above, below, 0, (*way, closing), len(graph.orders))
    return [*orders_before(graph, {edge.order for edge in closed.path if edge.order >= 0}), closed]


def orders_before(graph: Graph, needed: set[int]) -> list[DerivedOrder]:
    """Return the `needed` orders and all that they depend on, in an order in which each can be derived."""
    chain = []
    for rank in range(len(graph.orders) - 1, -1, -1):  # an order follows from orders of earlier rounds only
        if rank in needed:
            above, below, apart = graph.orders[rank]
            if rank < graph.n_supposed:
                chain.append(DerivedOrder(above, below, apart, (), rank))
                continue
            path = graph.path(below, above, apart, graph.first_of_round(rank), needed)
            needed |= {edge.order for edge in path if edge.order >= 0}
            chain.append(DerivedOrder(above, below, apart, path, rank))
    return chain[::-1]


class Graph:
    """The constraints of a hypothesis as edges, and the orders that follow, in the sequence found."""

    def __init__(self, refuted: Hypothesis) -> None:
        _contradictory, found = refuted.orders()
        self.n_arms = len(refuted.arms)
        self.orders: list[tuple[int, int, int]] = []
        self._rounds: list[int] = []
        if refuted.ordered[0] >= 0:
            self._add(*refuted.ordered, refuted.apart, -1)
        self.n_supposed = len(self.orders)
        for number, turned, in_round in found.tolist():
            first, second = refuted.dissimilar[number].tolist()
            pair = (second, first) if turned else (first, second)
            self._add(*pair, int(refuted.dissimilar_steps[number]), in_round)
        start, end, weight, order = [], [], [], []
        for (a, b), steps in zip(refuted.similar.tolist(), refuted.similar_steps.tolist(), strict=True):
            start += [a, b]
            end += [b, a]
            weight += [steps, steps]
            order += [SIMILAR, SIMILAR]
        start += refuted.links[:, 0].tolist()
        end += refuted.links[:, 1].tolist()
        weight += refuted.link_steps.tolist()
        order += [RANGE] * len(refuted.links)
        if refuted.best >= 0:
            others = [arm for arm in range(self.n_arms) if arm != refuted.best]
            start += others
            end += [refuted.best] * len(others)
            weight += [0] * len(others)
            order += [BEST] * len(others)
        for rank, (above, below, apart) in enumerate(self.orders):
            start.append(below)
            end.append(above)
            weight.append(-apart)
            order.append(rank)
        self._start, self._end = np.array(start, np.int64), np.array(end, np.int64)
        self._weight, self._order = np.array(weight, np.int64), np.array(order, np.int64)

    def _add(self, above: int, below: int, apart: int, in_round: int) -> None:
        self.orders.append((above, below, apart))
        self._rounds.append(in_round)

    def first_of_round(self, rank: int) -> int:
        """Return the rank of the first order that was found in the same round as this one."""
        return self._rounds.index(self._rounds[rank])

    def path(
        self, source: int, target: int, less_than: int, before: int, known: set[int]
    ) -> tuple[Edge, ...]:
        """Return the cheapest path shorter than `less_than`, using orders with a rank below `before`.

        Orders that are already `known` cost less than new ones; see `_FRESH`.
        """
        usable = self._order < before
        start, end, weight = self._start[usable], self._end[usable], self._weight[usable]
        order = self._order[usable]
        is_known = np.zeros(len(self.orders) + 3, bool)  # SIMILAR, BEST and RANGE count from the end
        is_known[list(known)] = True
        is_fresh = (order >= 0) & ~is_known[order]
        cost = np.where(is_fresh, _FRESH, _KNOWN)
        shortest = [np.full(self.n_arms, FAR)]
        shortest[0][source] = 0
        while shortest[-1][target] >= less_than:
            level = np.full(self.n_arms, FAR)
            for price in (_KNOWN, _FRESH):
                if len(shortest) >= price:
                    chosen = cost == price
                    through = shortest[-price][start[chosen]] + weight[chosen]
                    np.minimum.at(level, end[chosen], through)
            shortest.append(level)
            assert len(shortest) <= _FRESH * self.n_arms + 1, "there is no such path"
        levels, at, price = np.stack(shortest), target, len(shortest) - 1
        edges = []
        while price > 0:
            came = levels[np.maximum(price - cost, 0), start] + weight
            fits = (end == at) & (cost <= price) & (came == levels[price, at])
            edge = int(np.flatnonzero(fits)[0])
            edges.append(Edge(int(start[edge]), at, int(weight[edge]), int(order[edge])))
            at, price = int(start[edge]), price - int(cost[edge])
        return tuple(reversed(edges))
