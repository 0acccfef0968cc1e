"""From a refuted supposition to its derivation: the orders it needs, each with the shortest path to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.propagation.method_kernel import FAR

if TYPE_CHECKING:
    from lsdt.candidates.propagation.derivation import Supposition

SIMILAR, BEST = -1, -2  # instead of an order
_FRESH, _KNOWN = 3, 1  # what a link costs that needs a step of its own, and any other


class Edge(NamedTuple):
    """``x_end - x_start <= weight``; `order` is -1 for a similar pair, -2 for the best arm, else an order."""

    start: int
    end: int
    weight: int
    order: int


class Order(NamedTuple):
    """An order that follows: the path from `below` to `above` is shorter than `apart`.

    Of the last, the contradiction, `path` leads from `above` back to it, with a length below zero.
    """

    above: int
    below: int
    apart: int
    path: tuple[Edge, ...]
    rank: int
    """Place among all orders found; paths name orders by it."""


def derivation(refuted: Supposition) -> list[Order]:
    """Return the orders that lead to the contradiction, and the contradiction."""
    graph = _Graph(refuted)
    last = len(graph.orders) - 1
    above, below, apart = graph.orders[last]
    way = graph.path(above, below, apart, last, set())
    closing = Edge(below, above, -apart, last)
    chain = [Order(above, below, 0, (*way, closing), len(graph.orders))]
    needed = {edge.order for edge in (*way, closing) if edge.order >= 0}
    for rank in range(last, -1, -1):  # an order follows from orders of rounds before it only
        if rank in needed:
            above, below, apart = graph.orders[rank]
            if rank < graph.n_supposed:
                chain.append(Order(above, below, apart, (), rank))
                continue
            path = graph.path(below, above, apart, graph.first_of_round(rank), needed)
            needed |= {edge.order for edge in path if edge.order >= 0}
            chain.append(Order(above, below, apart, path, rank))
    return chain[::-1]


class _Graph:
    """The constraints of a supposition as edges, its orders in the order in which they were found."""

    def __init__(self, refuted: Supposition) -> None:
        contradictory, found = refuted.orders()
        assert contradictory
        self.n_arms = len(refuted.arms)
        self.orders: list[tuple[int, int, int]] = []
        self._rounds: list[int] = []
        if refuted.best < 0:
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
        """Return the first order that was found in the same round."""
        return self._rounds.index(self._rounds[rank])

    def path(
        self, source: int, target: int, less_than: int, before: int, known: set[int]
    ) -> tuple[Edge, ...]:
        """Return the cheapest path that is short enough, by orders `before` a rank; `known` cost less."""
        usable = self._order < before
        start, end, weight = self._start[usable], self._end[usable], self._weight[usable]
        order = self._order[usable]
        is_known = np.zeros(len(self.orders) + 2, bool)  # SIMILAR and BEST count from the end
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
