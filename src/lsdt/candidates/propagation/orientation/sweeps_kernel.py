"""Compiled side of `sweeps`: one arm after another tightens its bounds by its relations.

An arm reads the bounds of others and writes only its own, and bounds only ever shrink. So blocks of arms can
be swept in parallel: the result, once a sweep changes nothing, is the same in any order.
"""

from __future__ import annotations

import numpy as np

from lsdt.candidates.propagation.orientation.growth_kernel import (
    FAR,
    Codes,
    Frame,
    OrientationClasses,
    came_from,
    join_by,
    learn,
    log,
    plus,
)
from lsdt.kernel import Array, compiled, inlined

# Bounds fit into 16 bits: with four times the memory, sweeps of a million arms take twice as long. A sum of
# a bound and a code must fit, too.
NO_BOUND = 16_000
LARGEST_CODE = 1_000
LOWEST = -(2**30)  # of levels, in 32 bits
_LEAST = -8_000  # smaller bounds are raised to this: added to NO_BOUND, it forces nothing


@inlined
def _mark(starts: Array, others: Array, arm: int, marks: Array) -> None:
    """Mark an arm and the others of its row."""
    marks[arm] = True
    for at in range(starts[arm], starts[arm + 1]):
        marks[others[at]] = True


@compiled
def sweep_frame(
    c: Codes,
    k: OrientationClasses,
    signs: Array,
    f: Frame,
    grown: int,
    reference: int,
    bounds: Array,
    awake: Array,
    marks: Array,
    first: int,
    last: int,
) -> tuple[int, int]:
    """Tighten the bounds of some arms relative to a reference, and learn the orders that bounds force.

    ``bounds[a]`` are codes as in `Frame`, at most `NO_BOUND`; all codes are at most `LARGEST_CODE`. Arms that
    are not `awake` are skipped; an arm whose bounds change marks itself and all arms related to it in
    `marks`. Both arrays have an entry for every arm, or are empty. An order is written only in the row of the
    arm that is swept; the other row gets it, too, before the sweeps end. If the growth is logged, all arms
    are swept in one block, and both rows are written. ``signs[number]`` says how the orders of a class count,
    0 for not at all.

    Return how many bounds changed, and how many orders were written. A contradiction is recorded in
    ``k.totals``.
    """
    one_near = 0 if len(c.similar_codes) == 1 else 1
    one_far = 0 if len(c.dissimilar_codes) == 1 else 1
    is_logged = len(k.times) > 0
    n_changed, n_learnt = 0, 0
    for a in range(first, last):
        if len(awake) > 0 and not awake[a]:
            continue
        v, w = int(bounds[a, 0]), int(bounds[a, 1])
        before = v + w
        for at in range(c.similar_starts[a], c.similar_starts[a + 1]):
            b, code = c.similar[at], c.similar_codes[at * one_near]
            above, below = plus(int(bounds[b, 0]), code), plus(int(bounds[b, 1]), code)
            if is_logged:
                came_from(f, a, b, above < v, below < w)
            v, w = min(v, above), min(w, below)
        for at in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            b, apart, known = c.dissimilar[at], c.dissimilar_codes[at * one_far], int(k.bits[at])
            above, below = int(bounds[b, 0]), int(bounds[b, 1])
            # The processor cannot predict which orders are known: the only branch here is for a new one.
            order = known * signs[abs(known)]
            is_new = known == 0 and (v + below < apart or above + w < apart)
            if is_new:
                order = -1 if v + below < apart else 1
                if v + below < apart and above + w < apart:
                    k.totals[2] = a
                n_learnt += 1
                if is_logged:
                    learn(c, k, at, a, b, order, grown)
                    log(k, f, reference, a if order < 0 else b, b if order < 0 else a)
                else:
                    k.bits[at] = order * grown
            above = above - apart if order < 0 and above < NO_BOUND else NO_BOUND
            below = below - apart if order > 0 and below < NO_BOUND else NO_BOUND
            if is_logged:
                came_from(f, a, b, above < v, below < w)
            v, w = min(v, above), min(w, below)
        v, w = max(v, _LEAST), max(w, _LEAST)
        if v + w < before:
            bounds[a, 0], bounds[a, 1] = v, w
            n_changed += 1
            if v + w < 0:
                k.totals[2] = a
            if len(marks) > 0:
                _mark(c.similar_starts, c.similar, a, marks)
                _mark(c.dissimilar_starts, c.dissimilar, a, marks)
    return n_changed, n_learnt


@compiled
def join_forced(c: Codes, k: OrientationClasses, f: Frame, grown: int, reference: int, bounds: Array) -> int:
    """Join classes with the growing one if the bounds force the order of one of their pairs.

    Return how many were joined; stop after joining class 1.
    """
    one_far = 0 if len(c.dissimilar_codes) == 1 else 1
    n_joined = 0
    for a in range(len(bounds)):
        for at in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            known = int(k.bits[at])
            if known == 0 or k.root[abs(known)] == grown:
                continue
            b, apart = c.dissimilar[at], c.dissimilar_codes[at * one_far]
            order = 0
            if int(bounds[a, 0]) + bounds[b, 1] < apart:
                order = -1
            elif int(bounds[b, 0]) + bounds[a, 1] < apart:
                order = 1
            if order == 0:
                continue
            n_joined += 1
            if join_by(k, f, grown, reference, a, b, at, order):
                return n_joined
    return n_joined


@compiled
def sweep_levels(
    c: Codes,
    bits: Array,
    signs: Array,
    levels: Array,
    awake: Array,
    marks: Array,
    arms: Array,
    first: int,
    last: int,
) -> tuple[int, int]:
    """Lower the levels of some arms as their relations require, down to `LOWEST`; return how many changed.

    Levels and `signs` are as for `lower_levels`, `awake` and `marks` as for `sweep_frame`. The arms are those
    of ``arms[first:last]``, in this order, or if it is empty those from `first` to `last`.
    """
    one_near = 0 if len(c.similar_codes) == 1 else 1
    one_far = 0 if len(c.dissimilar_codes) == 1 else 1
    n_changed = 0
    for place in range(first, last):
        a = place if len(arms) == 0 else arms[place]
        if len(awake) > 0 and not awake[a]:
            continue
        before = int(levels[a])
        level = before
        for at in range(c.similar_starts[a], c.similar_starts[a + 1]):
            level = min(level, plus(int(levels[c.similar[at]]), c.similar_codes[at * one_near]))
        for at in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            known = int(bits[at])
            through = int(levels[c.dissimilar[at]]) - c.dissimilar_codes[at * one_far]
            level = min(level, through if signs[abs(known)] * known < 0 else level)
        for at in range(c.signed_starts[a], c.signed_starts[a + 1]):
            if c.signed_down[at] < FAR:
                level = min(level, plus(int(levels[c.signed[at]]), c.signed_down[at]))
        level = max(level, LOWEST)
        if level < before:
            levels[a] = level
            n_changed += 1
            if len(marks) > 0:
                _mark(c.similar_starts, c.similar, a, marks)
                _mark(c.dissimilar_starts, c.dissimilar, a, marks)
                _mark(c.signed_starts, c.signed, a, marks)
    return n_changed, 0


@inlined
def _from_the_top(c: Codes, bits: Array, signs: Array, n_arms: int) -> Array:
    """Return all arms, those first that have more arms below them than above them."""
    excess = np.empty(n_arms, np.int64)
    starts = np.zeros(2 * n_arms + 2, np.int64)  # a counting sort
    for a in range(n_arms):
        more = n_arms
        for at in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            known = int(bits[at])
            order = signs[abs(known)] * known
            more += (order < 0) - np.int64(order > 0)
        excess[a] = more
        starts[more + 1] += 1
    for at in range(1, len(starts)):
        starts[at] += starts[at - 1]
    arms = np.empty(n_arms, np.int64)
    for a in range(n_arms):
        arms[starts[excess[a]]] = a
        starts[excess[a]] += 1
    return arms


@compiled
def settle_few(c: Codes, bits: Array, signs: Array, levels: Array, most_sweeps: int, few: float) -> bool:
    """Sweep levels until nothing changes; return False after `most_sweeps`, or with a level at `LOWEST`.

    Levels pass downward, and a sweep from the top passes them on nearly all the way: three mostly do. After
    one that changes at most a share `few` of the arms, those with no change near them are skipped.
    """
    n_changed, no_arms = len(levels), np.zeros(0, np.bool_)
    arms = _from_the_top(c, bits, signs, len(levels))
    awake = no_arms
    for _ in range(most_sweeps):
        marks = np.zeros(len(levels) if n_changed <= few * len(levels) else 0, np.bool_)
        n_changed, _none = sweep_levels(c, bits, signs, levels, awake, marks, arms, 0, len(levels))
        if n_changed == 0:
            return bool(levels.min() > LOWEST)
        awake = marks
    return False
