"""When propagation leaves no arm: find relations that cannot all be true, and which of them to doubt.

Every set of arms has a best one, so relations that exclude every arm of a set contradict one another. It is
enough that no arm is left in one part, that is among arms joined by similar pairs and ranges, directly or
through others: a derivation about an arm uses only arms of its part, since nothing else bounds depths from
above. A part of one arm is never contradictory, because nothing bounds the other depths.

The search for a small set starts near arms that were hard to exclude: if nearly all relations are right, it
took a wrong one to exclude the best arm. There one dissimilar pair is given an order, without loss of
generality (reflected means satisfy the same relations). Ranges have a direction, so a contradiction that
needs them is derived from the relations alone, if possible. The contradiction that follows is derived and
made small as in `derivation`. If that fails, a set of arms is closed under derivations: each arm is excluded
by others of the set.

Dropping any relation of a minimal conflict resolves it. Which one to doubt is a guess: near a wrong relation
there are usually many conflicts, and all of them contain it. So the guess is the relation without which most
arms around the conflict could be the best again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.minimise import Budget, fewest
from lsdt.candidates.propagation.constraints import system_around
from lsdt.candidates.propagation.derivation import hypothesis, relations_of, shrink, steps_of
from lsdt.candidates.propagation.exclusion import arms_possible, refutation_around
from lsdt.candidates.propagation.orientation import connected_parts
from lsdt.candidates.triangles.conflict import Conflict, conflict_of
from lsdt.side_information import PairStore, WindowStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lsdt.candidates.proofs import Relation, Step
    from lsdt.candidates.propagation.constraints import ConstraintSystem
    from lsdt.candidates.propagation.derivation import Hypothesis
    from lsdt.side_information import SideInformation

# Where the search for a small conflict starts. More starts may find a smaller one, but each takes a
# derivation.
_HARD, _HARDEST = 24, 6  # hard arms whose refutation is derived, and those with the most arms that are used
_PAIRS = 4  # dissimilar pairs of each of these whose order is tried
_TRIANGLES = 8  # excluding triangles whose dissimilar pair is tried, too
_NEAR = 3_000  # arms that pass on their bounds, if no earlier stage has set it; see `PropagationEffort`
_ENOUGH = 4  # contradictions to find at one size; the smallest is reported
# Shrinking tries each arm and each relation, with a run of propagation per attempt.
_MOST_SHRUNK = 100  # arms; a larger conflict is reported as it is
_MOST_ATTEMPTS = 599
_AROUND_CONFLICT = (96, 48, 24)  # arms: the first number that brings in no other conflict
_MOST_DOUBTED = 60  # relations of a conflict tried as the one to doubt: larger conflicts say little anyway


class Reach(NamedTuple):
    """How far to search for a small conflict.

    Contradictions that follow from ordering one pair are searched for among `sizes` arms around it, one size
    after the other. At most `most_arms` are followed from an arm to those that exclude it. A conflict that
    stays large lists its relations if there are at most `most_listed`.
    """

    sizes: tuple[int, ...] = (16, 32, 64, 128, 256)
    most_arms: int = 200
    most_listed: int = 20_000


_USUAL_REACH = Reach()
_LARGEST = max(_USUAL_REACH.sizes)


class FailedElimination(NamedTuple):
    """An elimination that left no arm: triangle witnesses, the constraint system after them, its limits."""

    witnesses: NDArray[np.int32]
    system: ConstraintSystem | None
    near: int
    most_closed: int


def part_without_arms(
    side: SideInformation, system: ConstraintSystem | None, left: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return the arms of the smallest part in which no arm is left, or None if every part has one."""
    if isinstance(side.store, WindowStore) and side.store.is_true:
        return None  # there are means
    if isinstance(side.store, PairStore):
        starts, others = side.store.similar
    elif system is not None and len(system.arms) == side.n_arms:
        starts, others = system.constraints.similar_starts, system.constraints.similar
    else:  # too many relations to be written out: all arms as one part
        return None if len(left) else np.arange(side.n_arms)
    number, count = connected_parts(starts, others)
    if isinstance(side.store, PairStore) and side.store.ranges is not None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        first, second = number[side.store.ranges.pairs.T]
        joined = csr_array((np.ones(len(first), np.int8), (first, second)), shape=(count, count))
        count, joint = connected_components(joined, directed=False)
        number = joint[number]
    sizes = np.bincount(number, minlength=count)
    sizes[number[left]] = side.n_arms + 1
    smallest = int(np.argmin(sizes))
    return None if sizes[smallest] > side.n_arms else np.flatnonzero(number == smallest)


def conflict_among(
    side: SideInformation,
    part: NDArray[np.int64],
    done: FailedElimination,
    reach: Reach = _USUAL_REACH,
) -> Conflict:
    """Return relations that cannot all be true, among arms that propagation excludes entirely."""
    if done.system is None:
        nearby = system_around(side, part[:: max(len(part) // 32, 1)])
        done = done._replace(system=nearby, near=min(len(nearby.arms), _NEAR))
    system = done.system
    assert system is not None
    found = _by_order(system, part, done, reach.sizes)
    if system.ranges is not None:
        found = found or _by_relations(system, part, done, reach.sizes)
    if found:
        smallest = min(found, key=lambda one: (one.n_relations, len(one.arms)))
        counted = Counter(relation for one in found for relation in relations_of(side, system, one))
        return _conflict(side, system, smallest, counted, steps_of(side, system, smallest))
    if side.store.thresholds is None and (done.witnesses[part, 0] >= 0).all():
        return _by_triangles(side, part, system, done.witnesses)
    return _by_arms(side, part, done, reach)


def _by_triangles(
    side: SideInformation, part: NDArray[np.int64], system: ConstraintSystem, witnesses: NDArray[np.int32]
) -> Conflict:
    """Return a conflict shown by triangles, with the relation to doubt if `system` contains all its arms."""
    conflict = conflict_of(side, witnesses, part)
    arms = np.sort([side.index(arm) for arm in conflict.arms])
    if len(arms) > _LARGEST or not np.isin(arms, system.arms).all():
        return conflict
    known, listed = hypothesis(system, system.places(arms)), set(conflict.relations)
    every = relations_of(side, system, known)
    close = known.with_relations(np.array([at for at, relation in enumerate(every) if relation in listed]))
    return replace(conflict, suggestion=_conflict(side, system, close, Counter()).suggestion)


def _conflict(
    side: SideInformation,
    system: ConstraintSystem,
    refuted: Hypothesis,
    appearances: Counter[Relation],
    steps: tuple[Step, ...] = (),
) -> Conflict:
    """Return a conflict with the names of its arms and the relation to doubt."""
    relations = relations_of(side, system, refuted)
    doubted = relation_to_doubt(system, refuted, [appearances[relation] for relation in relations])
    named = tuple(side.label(int(system.arms[place])) for place in refuted.arms)
    return Conflict(named, tuple(dict.fromkeys(relations)), steps=steps, suggestion=relations[doubted])


def contradiction_message(conflict: Conflict, max_wrong: int) -> str:
    """Return the note on a contradiction and on the fallback."""
    wrong = "one relation is" if max_wrong == 1 else f"{max_wrong} relations are"
    return (
        f"the relations contradict one another: {conflict.brief}. The candidates are what the triangle rule "
        f"leaves with max_wrong={max_wrong}: the best arm is among them if at most {wrong} wrong."
    )


def _by_arms(
    side: SideInformation, part: NDArray[np.int64], done: FailedElimination, reach: Reach
) -> Conflict:
    """Return a conflict in which each arm is excluded by others; all arms, if finding it takes too long."""
    system = done.system
    assert system is not None
    chosen = mutual_exclusion(system, part, done, reach.most_arms)
    if chosen is not None:
        return _conflict(side, system, chosen, Counter())
    known = hypothesis(system, system.places(np.intersect1d(part, system.arms)))
    relations = relations_of(side, system, known) if known.n_relations <= reach.most_listed else ()
    return Conflict(tuple(side.label(int(arm)) for arm in part), tuple(dict.fromkeys(relations)))


def _by_order(
    system: ConstraintSystem, part: NDArray[np.int64], done: FailedElimination, sizes: tuple[int, ...]
) -> list[Hypothesis]:
    """Return small contradictions that follow from ordering one pair, if there are any."""
    tried = [*_from_hard_arms(system, part, done), *_from_triangles(system, part, done)]
    for size in sizes:
        found = []
        for seeds, pair in tried:
            wide = hypothesis(system, system.nearest(seeds, size), ordered=pair)
            if wide.is_refuted():
                found.append(shrink(wide))
                if len(found) == _ENOUGH:
                    break
        if found:
            return found
    return []


def _by_relations(
    system: ConstraintSystem, part: NDArray[np.int64], done: FailedElimination, sizes: tuple[int, ...]
) -> list[Hypothesis]:
    """Return a small contradiction that follows without any hypothesis, in a list, if there is one."""
    inside = system.places(np.intersect1d(part, system.arms))
    seeds = [seeds for seeds, _ in _from_hard_arms(system, part, done)]
    seeds += [inside[at : at + 1] for at in range(0, len(inside), max(len(inside) // _HARD, 1))]
    for size in sizes:
        for some in seeds[:_HARD]:
            wide = hypothesis(system, system.nearest(some, size))
            if wide.is_refuted():
                return [shrink(wide)]
    return []


def _from_hard_arms(
    system: ConstraintSystem, part: NDArray[np.int64], done: FailedElimination
) -> list[tuple[NDArray[np.int64], tuple[int, int]]]:
    """Return seeds for the search, arms and a dissimilar pair each, from the derivations with most arms."""
    hard = system.places(np.intersect1d(part[done.witnesses[part, 0] < 0], system.arms))
    hard = hard[:: max(len(hard) // _HARD, 1)][:_HARD]
    reaching = [refutation_around(system, int(place), done.near, done.most_closed) for place in hard]
    few = [one for one in reaching if one is not None and len(one.arms) <= _LARGEST]
    tried = []
    for wide in sorted(few, key=lambda one: -len(one.arms))[:_HARDEST]:
        close = shrink(wide)
        pairs = close.arms[close.dissimilar]
        tried += [(close.arms, (int(a), int(b))) for a, b in pairs[:: max(len(pairs) // _PAIRS, 1)][:_PAIRS]]
    return tried


def _from_triangles(
    system: ConstraintSystem, part: NDArray[np.int64], done: FailedElimination
) -> list[tuple[NDArray[np.int64], tuple[int, int]]]:
    """Return seeds for the search, arms and a dissimilar pair each, from triangles, evenly spread."""
    excluded = part[done.witnesses[part, 0] >= 0]
    triangles = np.column_stack([excluded, done.witnesses[excluded]])
    triangles = triangles[np.isin(triangles, system.arms).all(axis=1)]
    return [
        (np.sort(places), (int(places[1]), int(places[2])))
        for places in system.places(triangles[:: max(len(triangles) // _TRIANGLES, 1)][:_TRIANGLES])
    ]


def mutual_exclusion(
    system: ConstraintSystem,
    part: NDArray[np.int64],
    done: FailedElimination,
    most_arms: int = _USUAL_REACH.most_arms,
) -> Hypothesis | None:
    """Return a few relations that exclude every arm they name; None if finding them takes too long."""
    inside = np.intersect1d(part, system.arms)
    arms = _closure(system, int(inside[0]), done, most_arms)
    if arms is None:
        if len(inside) > most_arms:
            return None
        arms = system.places(inside)
    close = hypothesis(system, arms)
    if arms_possible(close, np.arange(len(arms))).any():
        return None  # the constraint system lacks some of the relations that excluded them
    if len(arms) > _MOST_SHRUNK:
        return close
    budget = Budget(_MOST_ATTEMPTS)

    def is_contradictory(smaller: Hypothesis) -> bool:
        return budget.spend() and not arms_possible(smaller, np.arange(len(smaller.arms))).any()

    few = close.among(fewest(np.arange(len(arms)), lambda kept: is_contradictory(close.among(kept)), budget))
    relations = np.arange(few.n_relations)
    return few.with_relations(
        fewest(relations, lambda kept: is_contradictory(few.with_relations(kept)), budget)
    )


def _closure(
    system: ConstraintSystem, start: int, done: FailedElimination, most_arms: int
) -> NDArray[np.int64] | None:
    """Follow an arm to those that exclude it, and so on; return all places, or None if there are too many."""
    reached, waiting = {start}, [start]
    while waiting:
        arm = waiting.pop()
        if done.witnesses[arm, 0] >= 0:
            others = done.witnesses[arm].tolist()
        else:
            place = int(system.places(np.array([arm]))[0])
            wide = refutation_around(system, place, done.near, done.most_closed)
            if wide is None:
                return None
            others = system.arms[shrink(wide).arms].tolist()
        waiting += [other for other in others if other not in reached]
        reached |= set(others)
        if len(reached) > most_arms or not np.isin(others, system.arms).all():
            return None
    return system.places(np.array(sorted(reached)))


def relation_to_doubt(system: ConstraintSystem, known: Hypothesis, appearances: Sequence[int]) -> int:
    """Return the number of the relation to doubt; `appearances` counts the conflicts that contain each."""
    groups = (known.similar, known.dissimilar, known.links)
    places = known.arms[np.concatenate(groups)]
    group = np.repeat(np.arange(len(groups)), [len(pairs) for pairs in groups]).tolist()
    tried = range(min(len(places), _MOST_DOUBTED))
    for size in _AROUND_CONFLICT:
        near = hypothesis(system, system.nearest(known.arms, max(size, len(known.arms))))
        scores = [_survivors_without(near, places[at], group[at]) for at in tried]
        if max(scores) > 0:
            break
    return max(tried, key=lambda at: (scores[at], appearances[at], -at))


def _survivors_without(near: Hypothesis, pair: NDArray[np.int64], group: int) -> int:
    """Return how many arms could be the best without a relation: similar (0), dissimilar (1), link (2)."""
    groups = (near.similar, near.dissimilar, near.links)
    two = np.searchsorted(near.arms, pair if group == 2 else np.sort(pair))
    before = sum(len(pairs) for pairs in groups[:group])
    gone = before + int(np.flatnonzero((groups[group] == two).all(axis=1))[0])
    rest = near.with_relations(np.delete(np.arange(near.n_relations), gone))
    return int(arms_possible(rest, np.arange(len(near.arms))).sum())
