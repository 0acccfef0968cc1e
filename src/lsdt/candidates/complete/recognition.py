"""Is complete side information a unit interval graph? With a proof either way.

The proof that it is one is a model. The proof that it is not is an induced claw, net, sun or chordless cycle:
a graph is a unit interval graph exactly when it has none of these four (Wegner 1967; Roberts 1969). Subgraphs
inherit the property. So if a prefix of a list of arms is the shortest that is not a unit interval graph, each
of its obstructions contains its last arm. Fixing that arm and searching again, at most six times, leaves one
obstruction. Chordless cycles may be long; they are found directly: they go through the arm that was fixed
first, and a shortest path that avoids its other neighbours closes the cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.complete.interval_model import UnitIntervalModel, model_of_order
from lsdt.candidates.complete.proper_order import proper_order, proper_order_of_store
from lsdt.candidates.proofs import Relation, check_side_information
from lsdt.errors import NotUnitInterval, Unsupported
from lsdt.kernel import SymmetricGraph
from lsdt.side_information import subgraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import Adjacency, SideInformation

_DEGREES = {(1, 1, 1, 3): "claw", (1, 1, 1, 3, 3, 3): "net", (2, 2, 2, 4, 4, 4): "sun"}
_WIDEST = 3  # the diameter of a net; a claw and a sun have 2
# Which of the arms of an obstruction are similar, by their places in it.
_TRIANGLE = {(0, 1), (0, 2), (1, 2)}
_SIMILAR = {
    "claw": {(0, 1), (0, 2), (0, 3)},
    "net": _TRIANGLE | {(0, 3), (1, 4), (2, 5)},
    "sun": _TRIANGLE | {(0, 3), (1, 3), (1, 4), (2, 4), (0, 5), (2, 5)},
}
_REASONS = {
    "claw": "the first is similar to the three others, which are pairwise dissimilar; at most two such arms "
    "can stand within epsilon of one",
    "net": "the first three are pairwise similar, and each has a similar arm of its own that is dissimilar "
    "to all the others",
    "sun": "the first three are pairwise similar, and each pair of them has a similar arm that is dissimilar "
    "to all the others",
    "hole": "each is similar to the next and the last to the first, and all other pairs are dissimilar; on "
    "a line such a circle cannot close",
}


def recognise(side: SideInformation) -> UnitIntervalModel | ForbiddenSubgraph:
    """Decide whether complete side information is a unit interval graph, in linear time.

    Parameters
    ----------
    side : SideInformation
        Complete side information.

    Returns
    -------
    UnitIntervalModel or ForbiddenSubgraph
        Intervals that realise the similarities, or arms whose relations no means can satisfy. Both have
        ``is_unit_interval``.

    Examples
    --------
    >>> import lsdt
    >>> path = lsdt.complete(4, similar=[(2, 0), (0, 3), (3, 1)])
    >>> lsdt.recognise(path).order.tolist()
    [1, 3, 0, 2]
    >>> circle = lsdt.complete(4, similar=[(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> lsdt.recognise(circle).kind
    'hole'
    """
    check_side_information(side)
    if not side.is_complete:
        raise Unsupported(
            "only complete side information can be recognised as a unit interval graph, and this is partial; "
            "declare it complete if every pair that is not listed is dissimilar"
        )
    proper = proper_order_of_store(side.store)
    return find_forbidden(side) if proper is None else model_of_order(proper)


def not_unit_interval(side: SideInformation) -> NotUnitInterval:
    """Return the error that shows why complete side information is not a unit interval graph."""
    certificate = find_forbidden(side)
    return NotUnitInterval(
        f"no means can satisfy these relations: they are not a unit interval graph.\n"
        f"There is a {certificate}.\n"
        "Correct one of these relations, or give as dissimilar only pairs that are known to be. The method "
        "'triangles' with max_wrong=r keeps the best arm as long as at most r relations are wrong.",
        certificate,
    )


@dataclass(frozen=True)
class ForbiddenSubgraph:
    """The certificate that complete side information is not a unit interval graph.

    Attributes
    ----------
    kind : {'claw', 'net', 'sun', 'hole'}
        Which of the four minimal obstructions it is.
    arms : tuple
        Its arms by id (or index). Claw: the centre, then the leaves. Net: a triangle x, y, z, then the leaf
        of each. Sun: a triangle x, y, z, then the arms outside its sides xy, yz, zx. Hole: around the cycle.

    Examples
    --------
    >>> import lsdt
    >>> star = lsdt.complete(4, similar=[(0, 1), (0, 2), (0, 3)])
    >>> found = lsdt.recognise(star)
    >>> found.kind, found.arms
    ('claw', (0, 1, 2, 3))
    """

    kind: str
    arms: tuple[str | int, ...]

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations among the arms, which no means can satisfy: one for each pair of them."""
        size = len(self.arms)
        if self.kind == "hole":
            similar = {(at, at + 1) for at in range(size - 1)} | {(0, size - 1)}
        else:
            similar = _SIMILAR[self.kind]
        return tuple(
            Relation(self.arms[a], self.arms[b], "similar" if (a, b) in similar else "dissimilar")
            for a, b in combinations(range(size), 2)
        )

    @property
    def is_unit_interval(self) -> bool:
        """False; a `UnitIntervalModel` says True."""
        return False

    def __str__(self) -> str:
        shown = ", ".join(repr(arm) for arm in self.arms[:12])
        more = f", ... ({len(self.arms)} arms)" if len(self.arms) > 12 else ""
        name = "chordless cycle" if self.kind == "hole" else self.kind
        return f"{name} of the arms {shown}{more}: {_REASONS[self.kind]}"

    def _repr_html_(self) -> str:
        from lsdt.candidates.card import forbidden_card

        return forbidden_card(self)


def find_forbidden(side: SideInformation) -> ForbiddenSubgraph:
    """Return a minimal obstruction; `side` is complete and has no proper order."""
    graph = side.store.explicit().similar
    arms = _obstruction(graph)
    kind, ordered = _name_obstruction(graph, arms)
    return ForbiddenSubgraph(kind, tuple(side.label(arm) for arm in ordered))


def _obstruction(graph: Adjacency) -> NDArray[np.int64]:
    n_arms = len(graph.indptr) - 1
    pool = _smallest_obstructed(graph, np.zeros(0, np.int64), np.arange(n_arms))
    needed = [int(pool[-1])]
    hole = _hole_through(graph, pool, needed[0])
    if hole is not None:
        return hole
    while _has_order(graph, np.array(needed)):
        near = _near_first(graph, needed[0], np.union1d(pool, needed))
        pool = _smallest_obstructed(graph, np.array(needed), near[~np.isin(near, needed)])
        needed.append(int(pool[-1]))
    return np.array(needed)


def _smallest_obstructed(
    graph: Adjacency, fixed: NDArray[np.int64], rest: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the shortest prefix of `rest` that has no proper order together with `fixed`, by bisection."""
    high = 1
    while high < len(rest) and _has_order(graph, np.concatenate([fixed, rest[:high]])):
        high *= 2
    low, high = high // 2, min(high, len(rest))
    while high - low > 1:
        middle = (low + high) // 2
        if _has_order(graph, np.concatenate([fixed, rest[:middle]])):
            low = middle
        else:
            high = middle
    return rest[:high]


def _has_order(graph: Adjacency, arms: NDArray[np.int64]) -> bool:
    return proper_order(subgraph(graph, arms)) is not None


def _near_first(graph: Adjacency, start: int, arms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of `arms` within three steps of `start`, nearest first: no claw, net or sun is wider."""
    inside = set(arms.tolist())
    distance = {start: 0}
    level = [start]
    for depth in range(1, _WIDEST + 1):
        ahead = []
        for arm in level:
            for other in graph.neighbours(arm).tolist():
                if other in inside and other not in distance:
                    distance[other] = depth
                    ahead.append(other)
        level = ahead
    return np.array(sorted(distance, key=lambda arm: (distance[arm], arm)), np.int64)


def _hole_through(graph: Adjacency, pool: NDArray[np.int64], arm: int) -> NDArray[np.int64] | None:
    """Return a chordless cycle through `arm` within `pool`, or None when there is none.

    Such a cycle leaves the arm by a neighbour, runs through arms that are not neighbours, and comes back by
    another neighbour that is dissimilar to the first. Look for one in each connected part of the
    non-neighbours, and take a shortest path through it.
    """
    near = np.intersect1d(graph.neighbours(arm), pool)
    beyond = np.setdiff1d(pool, [*near, arm])
    part_of = dict(zip(beyond.tolist(), _parts(subgraph(graph, beyond)).tolist(), strict=True))
    touched: dict[int, list[int]] = {}
    for neighbour in near.tolist():
        reached = {part_of[other] for other in graph.neighbours(neighbour).tolist() if other in part_of}
        for part in reached:
            touched.setdefault(part, []).append(neighbour)
    for part, doors in touched.items():
        for first in doors:
            apart = set(doors).difference(graph.neighbours(first).tolist(), [first])
            if apart:
                through = [other for other, label in part_of.items() if label == part]
                return np.array([arm, *_shortest_way(graph, first, min(apart), through)])
    return None


def _parts(graph: Adjacency) -> NDArray[np.int32]:
    """Return the number of the connected part of every arm."""
    return SymmetricGraph(graph.indptr, graph.indices).components()[1]


def _shortest_way(graph: Adjacency, start: int, goal: int, through: list[int]) -> list[int]:
    """Return a shortest path between two dissimilar arms through the arms `through`, ends included."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    arms = np.array([start, goal, *through])
    among = subgraph(graph, arms)
    ones = np.ones(len(among.indices), np.int8)
    links = csr_array((ones, among.indices, among.indptr), shape=(len(arms), len(arms)))
    _, before = breadth_first_order(links, 0, directed=False)
    way = [1]
    while way[-1] != 0:
        way.append(int(before[way[-1]]))
    return [int(arms[at]) for at in reversed(way)]


def _name_obstruction(graph: Adjacency, arms: NDArray[np.int64]) -> tuple[str, list[int]]:
    """Name a minimal obstruction and put its arms in the order documented in `ForbiddenSubgraph`."""
    inside = set(arms.tolist())
    among = {arm: inside.intersection(graph.neighbours(arm).tolist()) for arm in sorted(inside)}
    degrees = tuple(sorted(len(near) for near in among.values()))
    kind = _DEGREES.get(degrees, "hole")
    if kind == "hole":
        ordered = [min(among)]
        left = inside - {ordered[0]}
        while left:
            ordered.append(min(among[ordered[-1]] & left))
            left.remove(ordered[-1])
        return kind, ordered
    inner = [arm for arm in among if len(among[arm]) == max(degrees)]
    outer = [arm for arm in among if arm not in inner]
    if kind == "net":
        outer = [min(among[arm].intersection(outer)) for arm in inner]
    elif kind == "sun":
        sides = ({inner[0], inner[1]}, {inner[1], inner[2]}, {inner[0], inner[2]})
        outer = [next(arm for arm in outer if among[arm] == side) for side in sides]
    return kind, [*inner, *outer]
