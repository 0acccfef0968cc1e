"""Derivations: why a supposition is impossible, as short a chain of reasoning as can be found.

The supposition is that an arm is the best, or, of a contradiction in the relations, that one dissimilar pair
has a certain order (the mirror image of means fits the same relations, so this supposes nothing). What
follows is found as in `closure_kernel`, in rounds, and recorded as orders of dissimilar pairs. Then arms are
left out as long as the others suffice, then relations; of what is left only the orders that the contradiction
needs are kept, each with the shortest path of constraints that excludes the other order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates.proof_steps import Link, Step
from lsdt.candidates.proofs import Relation
from lsdt.candidates.propagation.closure_kernel import place_below
from lsdt.candidates.propagation.derivation_kernel import forced_orders, similar_closure, suppose_best
from lsdt.candidates.propagation.derivation_paths import BEST, SIMILAR, derivation
from lsdt.candidates.triangles.thresholds import ThresholdRelation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lsdt.candidates.propagation.constraints import Field
    from lsdt.candidates.propagation.derivation_paths import Edge
    from lsdt.side_information import SideInformation


@dataclass(frozen=True, eq=False)
class Supposition:
    """Relations among few arms, numbered from 0, and what is supposed of them.

    Either an arm is the `best`, or the first of two `ordered` arms, which are dissimilar, lies above the
    second.
    Steps are whole numbers, as in `method_kernel`; ``arms`` are the arms' places in the field.
    """

    arms: NDArray[np.int64]
    similar: NDArray[np.int64]
    similar_steps: NDArray[np.int64]
    dissimilar: NDArray[np.int64]
    dissimilar_steps: NDArray[np.int64]
    best: int = -1
    ordered: tuple[int, int] = (-1, -1)

    @property
    def n_relations(self) -> int:
        """Number of relations."""
        return len(self.similar) + len(self.dissimilar)

    def orders(self) -> tuple[bool, NDArray[np.int64]]:
        """Return whether it contradicts itself, and which orders follow; see `forced_orders`."""
        bounds = similar_closure(len(self.arms), self.similar, self.similar_steps)
        if self.best >= 0:
            suppose_best(bounds, self.best)
        elif not place_below(bounds, *self.ordered, self.apart):
            return True, np.zeros((0, 3), np.int64)
        refuted, orders = forced_orders(bounds, self.dissimilar, self.dissimilar_steps)
        return bool(refuted), orders

    @property
    def apart(self) -> int:
        """How far apart the supposed pair is, in steps."""
        same = (np.sort(self.dissimilar, axis=1) == sorted(self.ordered)).all(axis=1)
        return int(self.dissimilar_steps[np.flatnonzero(same)[0]])

    @property
    def fixed(self) -> list[int]:
        """The arms that the supposition names."""
        return [self.best] if self.best >= 0 else list(self.ordered)

    def is_refuted(self) -> bool:
        """Say whether it contradicts itself."""
        return self.orders()[0]

    def among(self, kept: NDArray[np.int64]) -> Supposition:
        """Return the same about fewer arms, which ascend and hold those it names."""
        place = np.full(len(self.arms) + 1, -1)  # the last stands for no arm
        place[kept] = np.arange(len(kept))
        near, far = place[self.similar], place[self.dissimilar]
        near_left, far_left = (near >= 0).all(axis=1), (far >= 0).all(axis=1)
        return Supposition(
            self.arms[kept],
            near[near_left],
            self.similar_steps[near_left],
            far[far_left],
            self.dissimilar_steps[far_left],
            int(place[self.best]),
            (int(place[self.ordered[0]]), int(place[self.ordered[1]])),
        )

    def resting_on(self, relations: NDArray[np.int64]) -> Supposition:
        """Return the same with some relations only: similar pairs are counted first, then the others."""
        n_similar = len(self.similar)
        near, far = relations[relations < n_similar], relations[relations >= n_similar] - n_similar
        return replace(
            self,
            similar=self.similar[near],
            similar_steps=self.similar_steps[near],
            dissimilar=self.dissimilar[far],
            dissimilar_steps=self.dissimilar_steps[far],
        )


def supposition(
    around: Field, places: NDArray[np.int64], best: int = -1, ordered: tuple[int, int] = (-1, -1)
) -> Supposition:
    """Return what is known of some arms of a field, which ascend, with `best` or `ordered` among them."""
    c = around.constraints
    near = _pairs_among(c.similar_starts, c.similar, c.similar_steps, places)
    far = _pairs_among(c.dissimilar_starts, c.dissimilar, c.dissimilar_steps, places)
    number = {int(place): at for at, place in enumerate(places)}
    number[-1] = -1
    return Supposition(places, *near, *far, number[best], (number[ordered[0]], number[ordered[1]]))


def _pairs_among(
    starts: NDArray[np.int64], others: NDArray[np.int32], steps: NDArray[np.int64], places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of symmetric rows that lie among some arms, each once, and their steps."""
    at = np.concatenate([np.arange(starts[place], starts[place + 1]) for place in places.tolist()])
    first = np.repeat(np.arange(len(places)), starts[places + 1] - starts[places])
    second = np.searchsorted(places, others[at])
    inside = places[np.minimum(second, len(places) - 1)] == others[at]
    kept = inside & (first < second)
    pairs = np.stack([first[kept], second[kept]], axis=1)
    return pairs, np.full(len(pairs), steps[0]) if len(steps) == 1 else steps[at[kept]]


def shrunk(wide: Supposition) -> Supposition:
    """Leave out arms, then relations, as long as what is left refutes the supposition."""
    used = np.unique(np.concatenate([_arms_of(wide), wide.fixed]))
    close = wide.among(used)

    def without_arms(kept: NDArray[np.int64]) -> bool:
        return set(close.fixed) <= set(kept.tolist()) and close.among(kept).is_refuted()

    close = close.among(fewest(np.arange(len(close.arms)), without_arms))
    supposed = _supposed(close)

    def without_relations(kept: NDArray[np.int64]) -> bool:
        return supposed <= set(kept.tolist()) and close.resting_on(kept).is_refuted()

    # What is left depends on the order in which relations are tried; of two orders the shorter chain is kept.
    attempts = []
    for trial in (np.arange(close.n_relations), np.arange(close.n_relations)[::-1]):
        attempt = close.resting_on(np.sort(fewest(trial, without_relations)))
        attempts.append(attempt.among(np.unique(np.concatenate([_arms_of(attempt), attempt.fixed]))))
    return min(attempts, key=lambda attempt: (len(derivation(attempt)), attempt.n_relations))


def fewest(things: NDArray[np.int64], suffice: Callable[[NDArray[np.int64]], bool]) -> NDArray[np.int64]:
    """Leave out things, many at a time and then one by one, while the others suffice."""
    kept = things
    size = max(len(kept) // 2, 1)
    while size >= 1:
        at = 0
        while at < len(kept):
            attempt = np.delete(kept, np.s_[at : at + size])
            if len(attempt) and suffice(attempt):
                kept = attempt
            else:
                at += size
        size //= 2
    return kept


def _supposed(close: Supposition) -> set[int]:
    """Return the number of the relation that is supposed to have an order, if one is."""
    if close.best >= 0:
        return set()
    same = (np.sort(close.dissimilar, axis=1) == sorted(close.ordered)).all(axis=1)
    return {len(close.similar) + int(np.flatnonzero(same)[0])}


def _arms_of(refuted: Supposition) -> NDArray[np.int64]:
    """Return the arms that the derivation names."""
    chain = derivation(refuted)
    named = [arm for order in chain for edge in order.path for arm in (edge.start, edge.end)]
    pairs = [arm for order in chain for arm in (order.above, order.below)]
    return np.unique(np.array(named + pairs, np.int64))


def steps_of(side: SideInformation, around: Field, refuted: Supposition) -> tuple[Step, ...]:
    """Return the derivation with the arms' names; see `step_size` for its numbers."""
    chain = derivation(refuted)
    number = {order.rank: at for at, order in enumerate(chain, 1)}
    names = [side.label(int(around.arms[place])) for place in refuted.arms]
    size = step_size(side, around)

    def link(edge: Edge) -> Link:
        if edge.order == SIMILAR:  # strict, which took one step off
            bound, why = (edge.weight + 1) * size, "similar"
        else:
            bound = edge.weight * size
            why = "best" if edge.order == BEST else f"step {number[edge.order]}"
        return Link(names[edge.start], names[edge.end], bound, edge.order == SIMILAR, why)

    kinds = ["order" if order.path else "supposition" for order in chain[:-1]] + ["contradiction"]
    return tuple(
        Step(
            kind,
            names[order.above],
            names[order.below],
            order.apart * size,
            tuple(link(edge) for edge in order.path),
        )
        for kind, order in zip(kinds, chain, strict=True)
    )


def pairs_of(around: Field, refuted: Supposition) -> tuple[tuple[int, int], ...]:
    """Return the pairs of the relations that a supposition rests on, as arms, similar ones first."""
    places = np.concatenate([refuted.similar, refuted.dissimilar])
    return tuple((int(a), int(b)) for a, b in around.arms[refuted.arms[places]])


def relations_of(side: SideInformation, around: Field, refuted: Supposition) -> tuple[Relation, ...]:
    """Return the same relations with the arms' names, and with their thresholds where these are distinct."""
    words = ["similar"] * len(refuted.similar) + ["dissimilar"] * len(refuted.dissimilar)
    sizes = np.concatenate([refuted.similar_steps + 1, refuted.dissimilar_steps]) * step_size(side, around)
    named = [(side.label(a), side.label(b)) for a, b in pairs_of(around, refuted)]
    if side.store.thresholds is None:
        return tuple(Relation(*pair, word) for pair, word in zip(named, words, strict=True))
    told = zip(named, words, sizes.tolist(), strict=True)
    return tuple(ThresholdRelation(*pair, word, size) for pair, word, size in told)  # type: ignore[misc]


def step_size(side: SideInformation, around: Field) -> float:
    """Return what a step is in epsilons, or in rewards where thresholds are distinct."""
    return (1.0 if side.store.thresholds is None else around.size) / around.unit
