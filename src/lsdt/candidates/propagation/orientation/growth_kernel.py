"""Compiled side of `growth`: grow classes of orders, and compute the levels that they imply.

A bound on a difference of two means is one whole number, its *code*: 2n says "at most n quanta", 2n - 1 says
"less than n". Two bounds add up to the sum of their codes, plus 1 if both are strict (`plus`). A smaller code
is a smaller bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsdt.candidates.propagation.queues_kernel import dequeue, enqueue, new_queues
from lsdt.kernel import Array, compiled, inlined

FAR = np.int64(2**60)  # no bound
MOST_CLASSES = 32_000  # they are numbered in 16 bits
_RANKS = 62  # one bit each in `Agenda.listed`; arms with this many orders or more share the last rank
_SHARE = 4  # an arm becomes a reference again when a quarter of its orders are new


class Codes(NamedTuple):
    """All relations as rows, with their codes; a single code applies to all pairs.

    Similar arms differ by at most their code, either way; the higher of two dissimilar arms lies at least
    ``dissimilar_codes / 2`` quanta above the other. `signed` are better pairs and ranges: the other arm lies
    at most `signed_up` above the arm of the row, which lies at most `signed_down` above the other.
    Arms whose position is known to within `narrow` (a code) come before others.
    """

    similar_starts: Array
    similar: Array
    similar_codes: Array
    dissimilar_starts: Array
    dissimilar: Array
    dissimilar_codes: Array
    signed_starts: Array
    signed: Array
    signed_up: Array
    signed_down: Array
    narrow: int


class OrientationClasses(NamedTuple):
    """The orders learnt so far: for every dissimilar entry its class, negative where the row's arm is below.

    ``root[c]`` is the class that c was joined with, ``sign[c]`` is -1 if c was reversed for it; ``size[c]``
    counts the pairs of a root. `totals` holds the number of classes, the number of visits, and an arm of a
    contradiction, or -1.

    If a log of the growth is kept, `totals` also holds the numbers of events, of joins, and of arms in
    `ways`. ``times`` is the event at which the order of every entry was learnt; the path that forced it, from
    the lower arm of the pair to the upper one, is ``ways[ends[event - 1]:ends[event]]``. An event without
    arms is a free choice. A row of `joins` is the event, the two arms of the pair that is in both classes,
    the root that stays, the one that goes, and the one that was growing.
    """

    bits: Array
    root: Array
    sign: Array
    size: Array
    totals: Array
    times: Array
    ends: Array
    ways: Array
    joins: Array


class Frame(NamedTuple):
    """Working memory: the bounds of arms relative to a reference, and the arms that wait for a visit.

    ``bounds[a]`` are the codes of x_a - x_reference and of x_reference - x_a. If the growth is logged,
    ``came_from[a]`` are the arms that set them.
    """

    bounds: Array
    came_from: Array
    waiting: Array
    queues: Array
    ends: Array
    reached: Array


class Agenda(NamedTuple):
    """Which arm to grow from next: stacks of arms by their number of orders.

    ``learnt`` counts the orders of an arm that are new since it was a reference, ``total`` all of them;
    ``listed`` are, as bits, the stacks that an arm is in.
    """

    learnt: Array
    total: Array
    listed: Array
    stacks: Array
    heights: Array


@inlined
def plus(first: int, second: int) -> int:
    """Return the code of the sum of two bounds."""
    return first + second + (first & second & 1)


def new_classes(n_entries: int, most_logged: int) -> OrientationClasses:
    """Return empty classes for `n_entries` entries of dissimilar pairs, with room for a log of their growth.

    `most_logged` is the room for arms on paths; with 0 there is no log.
    """
    most = min(n_entries // 2 + 3, MOST_CLASSES)
    root = np.arange(most).astype(np.int16)
    totals = np.zeros(6, np.int64)
    totals[2] = -1
    is_logged = most_logged > 0
    return OrientationClasses(
        np.zeros(n_entries, np.int16),
        root,
        np.ones(most, np.int8),
        np.zeros(most, np.int64),
        totals,
        np.zeros(n_entries if is_logged else 0, np.int32),
        np.zeros(n_entries // 2 + most + 1 if is_logged else 0, np.int64),
        np.empty(most_logged, np.int32),
        np.zeros((most if is_logged else 0, 6), np.int64),
    )


def new_frame(n_arms: int, is_logged: bool) -> Frame:
    """Return working memory for bounds of `n_arms` arms relative to a reference."""
    waiting, queues, ends = new_queues(n_arms)
    return Frame(
        np.full((n_arms, 2), FAR, np.int64),
        np.zeros((n_arms if is_logged else 0, 2), np.int32),
        waiting,
        queues,
        ends,
        np.empty(n_arms, np.int32),
    )


def new_agenda(n_arms: int) -> Agenda:
    """Return an empty agenda."""
    return Agenda(
        np.zeros(n_arms, np.int32),
        np.zeros(n_arms, np.int32),
        np.zeros(n_arms, np.int64),
        np.empty((_RANKS, n_arms), np.int32),
        np.zeros(_RANKS, np.int64),
    )


@inlined
def _note(agenda: Agenda, arm: int) -> None:
    """Count a new order of an arm, and list the arm under its number of orders if enough of them are new."""
    agenda.learnt[arm] += 1
    agenda.total[arm] += 1
    rank = min(agenda.total[arm], _RANKS) - 1
    if _SHARE * agenda.learnt[arm] >= agenda.total[arm] and not agenda.listed[arm] & (np.int64(1) << rank):
        agenda.listed[arm] |= np.int64(1) << rank
        agenda.stacks[rank, agenda.heights[rank]] = arm
        agenda.heights[rank] += 1


@inlined
def _next(agenda: Agenda) -> int:
    """Return the arm with the most orders among those with enough new ones, or -1."""
    rank = _RANKS - 1
    while rank >= 0:
        if agenda.heights[rank] == 0:
            rank -= 1
            continue
        agenda.heights[rank] -= 1
        arm = agenda.stacks[rank, agenda.heights[rank]]
        agenda.listed[arm] &= ~(np.int64(1) << rank)
        if min(agenda.total[arm], _RANKS) - 1 == rank and _SHARE * agenda.learnt[arm] >= agenda.total[arm]:
            agenda.learnt[arm] = 0
            return int(arm)
    return -1


@inlined
def _enqueue(f: Frame, arm: int, narrow: int, wide: int) -> None:
    """Put an arm whose bounds changed in a queue, if a visit can lead to anything.

    Arms with narrow bounds, which pass them on, come first; arms known to lie on one side of the reference
    come last. No others are visited: an order is forced only if one arm of the pair lies on one side.
    """
    v, w = f.bounds[arm, 0], f.bounds[arm, 1]
    if v + w <= wide:
        queue = 0 if v + w <= narrow else 1
    elif v <= 0 or w <= 0:
        queue = 2
    else:
        return
    enqueue(f.waiting, f.queues, f.ends, arm, queue)


@inlined
def place_of(starts: Array, others: Array, arm: int, other: int) -> int:
    """Return the place of `other` in the row of `arm`, which ascends."""
    low, high = starts[arm], starts[arm + 1] - 1
    while low < high:
        middle = (low + high) >> 1
        if others[middle] < other:
            low = middle + 1
        else:
            high = middle
    return int(low)


@inlined
def _join(k: OrientationClasses, kept: int, other: int, sign: int) -> None:
    """Merge class `other` into `kept`; `sign` is -1 if `other` has to be reversed."""
    turned = sign
    for number in range(1, k.totals[0] + 1):
        if k.root[number] == other:
            k.root[number] = kept
            k.sign[number] *= turned
    k.size[kept] += k.size[other]
    k.size[other] = 0


@inlined
def learn(c: Codes, k: OrientationClasses, at: int, arm: int, other: int, above: int, grown: int) -> None:
    """Record the order of a pair in class `grown`, in the rows of both arms."""
    back = place_of(c.dissimilar_starts, c.dissimilar, other, arm)
    k.bits[at] = above * grown
    k.bits[back] = -above * grown
    k.size[grown] += 1
    if len(k.times) > 0:
        k.times[at] = k.times[back] = k.totals[3] + 1


@inlined
def came_from(f: Frame, arm: int, other: int, is_above: bool, is_below: bool) -> None:
    """Record which arm set a bound of another, if the growth is logged."""
    if len(f.came_from) > 0:
        if is_above:
            f.came_from[arm, 0] = other
        if is_below:
            f.came_from[arm, 1] = other


@compiled
def log(k: OrientationClasses, f: Frame, reference: int, lower: int, upper: int) -> None:
    """Log an event and the path that forced it: from the lower arm to the reference, and on to the upper one.

    If there is no room for the path, its length is still counted.
    """
    end, room = k.totals[5], len(k.ways)
    for side in range(2):
        arm, first = np.int64(lower if side == 0 else upper), end
        while arm != reference and end - first < len(f.came_from):
            if end < room:
                k.ways[end] = arm
            end += 1
            arm = np.int64(f.came_from[arm, side])
        if side == 0:
            if end < room:
                k.ways[end] = reference
            end += 1
        elif end <= room:
            for at in range((end - first) // 2):
                k.ways[first + at], k.ways[end - 1 - at] = k.ways[end - 1 - at], k.ways[first + at]
    k.totals[3] += 1
    k.totals[5] = end
    k.ends[k.totals[3]] = end


@compiled
def join_by(
    k: OrientationClasses, f: Frame, grown: int, reference: int, arm: int, other: int, at: int, order: int
) -> bool:
    """Join the growing class with that of a pair whose order is forced; return whether that was class 1."""
    known = int(k.bits[at])
    root = int(k.root[abs(known)])
    turned = order * k.sign[abs(known)] * (1 if known > 0 else -1)
    is_sure = root == 1
    if len(k.times) > 0:
        log(k, f, reference, arm if order < 0 else other, other if order < 0 else arm)
        join = k.joins[k.totals[4]]
        join[0], join[1], join[2], join[5] = k.totals[3], arm, other, grown
        join[3], join[4] = (1, grown) if is_sure else (grown, root)
        k.totals[4] += 1
    if is_sure:
        _join(k, 1, grown, turned)
    else:
        _join(k, grown, root, turned)
    return bool(is_sure)


@compiled
def grow_from(
    c: Codes,
    k: OrientationClasses,
    f: Frame,
    agenda: Agenda,
    grown: int,
    reference: int,
    patience: int,
    wide: int,
    n_pairs: int,
) -> int:
    """Grow a class from a reference: bound the arms around it, and learn the orders that these bounds force.

    `grown` is a root; only class 1, whose orders are certain, may use `signed`. Return how many orders were
    learnt; stop once all `n_pairs` are in the class. Bounds that leave no room are a contradiction, which is
    recorded in ``k.totals``.
    """
    bounds = f.bounds
    one_near = 0 if len(c.similar_codes) == 1 else 1
    one_far = 0 if len(c.dissimilar_codes) == 1 else 1
    bounds[reference, 0] = bounds[reference, 1] = 0
    f.reached[0] = reference
    n_reached, n_new, visits, is_sure = 1, 0, 0, False
    _enqueue(f, reference, c.narrow, wide)
    while visits <= patience + 10 * n_new:
        a = dequeue(f.waiting, f.queues, f.ends)
        if a < 0:
            break
        visits += 1
        again = False
        if bounds[a, 0] + bounds[a, 1] <= wide:
            v, w = bounds[a, 0], bounds[a, 1]
            for at in range(c.similar_starts[a], c.similar_starts[a + 1]):
                b = c.similar[at]
                code = c.similar_codes[at * one_near]
                above, below = plus(v, code), plus(w, code)
                old_above, old_below = bounds[b, 0], bounds[b, 1]
                if above < old_above or below < old_below:
                    if old_above == FAR and old_below == FAR:
                        f.reached[n_reached] = b
                        n_reached += 1
                    above, below = min(above, old_above), min(below, old_below)
                    bounds[b, 0], bounds[b, 1] = above, below
                    came_from(f, b, a, above < old_above, below < old_below)
                    if above + below < 0:
                        k.totals[2] = b
                    _enqueue(f, b, c.narrow, wide)
        if grown == 1:
            for at in range(c.signed_starts[a], c.signed_starts[a + 1]):
                b = c.signed[at]
                above, below = bounds[b, 0], bounds[b, 1]
                if above == FAR and below == FAR:
                    f.reached[n_reached] = b  # an arm that stays without bounds is reset as well
                    n_reached += 1
                if bounds[a, 0] < FAR and c.signed_up[at] < FAR:
                    bounds[b, 0] = min(above, plus(bounds[a, 0], c.signed_up[at]))
                if bounds[a, 1] < FAR and c.signed_down[at] < FAR:
                    bounds[b, 1] = min(below, plus(bounds[a, 1], c.signed_down[at]))
                if above == FAR and below == FAR and bounds[b, 0] == FAR and bounds[b, 1] == FAR:
                    n_reached -= 1
                if bounds[b, 0] < above or bounds[b, 1] < below:
                    came_from(f, b, a, bounds[b, 0] < above, bounds[b, 1] < below)
                    if bounds[b, 0] + bounds[b, 1] < 0:
                        k.totals[2] = b
                    _enqueue(f, b, c.narrow, wide)
        for at in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            b = c.dissimilar[at]
            apart = c.dissimilar_codes[at * one_far]
            v, w = bounds[a, 0], bounds[a, 1]
            above, below = bounds[b, 0], bounds[b, 1]
            known = k.bits[at]
            number = abs(known)
            order = 0
            if known != 0 and k.root[number] == grown:
                order = k.sign[number] * (1 if known > 0 else -1)
            elif v + below < apart:  # a cannot lie above b
                order = -1
            elif above + w < apart:
                order = 1
            else:
                continue
            if known == 0:
                learn(c, k, at, a, b, order, grown)
                if len(k.times) > 0:
                    log(k, f, reference, a if order < 0 else b, b if order < 0 else a)
                n_new += 1
                _note(agenda, a)
                _note(agenda, b)
            elif k.root[number] != grown:
                n_new += 1
                _note(agenda, a)
                _note(agenda, b)
                is_sure = join_by(k, f, grown, reference, a, b, at, order)
                if is_sure:  # class 1 fixes the direction of this class: start again
                    break
            if order > 0:
                above, w = (
                    min(above, v - apart if v < FAR else FAR),
                    min(w, below - apart if below < FAR else FAR),
                )
            else:
                v, below = (
                    min(v, above - apart if above < FAR else FAR),
                    min(below, w - apart if w < FAR else FAR),
                )
            if v < bounds[a, 0] or w < bounds[a, 1]:
                came_from(f, a, b, v < bounds[a, 0], w < bounds[a, 1])
                bounds[a, 0], bounds[a, 1] = v, w
                again = True
                if v + w < 0:
                    k.totals[2] = a
            if above < bounds[b, 0] or below < bounds[b, 1]:
                if bounds[b, 0] == FAR and bounds[b, 1] == FAR:
                    f.reached[n_reached] = b
                    n_reached += 1
                came_from(f, b, a, above < bounds[b, 0], below < bounds[b, 1])
                bounds[b, 0], bounds[b, 1] = above, below
                if above + below < 0:
                    k.totals[2] = b
                _enqueue(f, b, c.narrow, wide)
        if again:
            _enqueue(f, a, c.narrow, wide)
        if is_sure or k.totals[2] >= 0 or k.size[grown] >= n_pairs:
            break
    for at in range(n_reached):
        arm = f.reached[at]
        bounds[arm, 0] = bounds[arm, 1] = FAR
        f.waiting[arm] = 0
    f.ends[:] = 0
    k.totals[1] += visits
    return n_new


@compiled
def grow(
    c: Codes,
    k: OrientationClasses,
    f: Frame,
    agenda: Agenda,
    grown: int,
    patience: int,
    wide: int,
    most_visits: int,
    n_pairs: int,
    reference: int,
) -> int:
    """Grow a class from one arm after another until nothing new is learnt; return how many orders were new.

    If `reference` is not -1, grow from that arm only. Stop also after `most_visits`, after a contradiction,
    and once all `n_pairs` are in the class: contradictions among their orders then show in the levels.
    """
    n_new, end = 0, k.totals[1] + most_visits
    while k.totals[1] < end and k.totals[2] < 0 and k.size[k.root[grown]] < n_pairs:
        arm = reference if reference >= 0 else _next(agenda)
        if arm < 0:
            break
        root = np.int64(k.root[grown])  # the dtype that Python passes, to avoid a second compilation
        n_new += grow_from(c, k, f, agenda, root, arm, patience, wide, n_pairs)  # type: ignore[arg-type]
        if reference >= 0:
            break
    return n_new


@compiled
def seed_class(c: Codes, k: OrientationClasses, agenda: Agenda, middle: int, marks: Array) -> int:
    """Seed a class with two dissimilar arms similar to `middle` that have no order; return its number, or 0.

    Which of the two arms is above is a free choice: means can be reflected. `marks` is working memory, False
    for every arm before and after.
    """
    if k.totals[0] + 1 >= len(k.root):
        return 0
    first, last = c.similar_starts[middle], c.similar_starts[middle + 1]
    for at in range(first, last):
        marks[c.similar[at]] = True
    seeded = 0
    for at in range(first, last):
        a = c.similar[at]
        for place in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            b = c.dissimilar[place]
            if marks[b] and k.bits[place] == 0:
                k.totals[0] += 1
                seeded = k.totals[0]
                learn(c, k, place, a, b, 1, seeded)
                if len(k.times) > 0:
                    k.totals[3] += 1
                    k.ends[k.totals[3]] = k.totals[5]
                _note(agenda, middle)
                _note(agenda, a)
                _note(agenda, b)
                break
        if seeded:
            break
    for at in range(first, last):
        marks[c.similar[at]] = False
    return seeded


@compiled
def empty_agenda(agenda: Agenda) -> None:
    """Remove all arms from the agenda."""
    for rank in range(_RANKS):
        for place in range(agenda.heights[rank]):
            arm = agenda.stacks[rank, place]
            agenda.listed[arm] = agenda.learnt[arm] = 0
        agenda.heights[rank] = 0


@compiled
def list_signed(c: Codes, agenda: Agenda) -> None:
    """Put all arms with better pairs or ranges on the agenda."""
    for arm in range(len(c.signed_starts) - 1):
        if c.signed_starts[arm] < c.signed_starts[arm + 1]:
            _note(agenda, arm)


@compiled
def list_open(c: Codes, k: OrientationClasses, number: int, agenda: Agenda) -> None:
    """Put all arms with pairs both in a class and outside it on the agenda, counting their orders as new."""
    for arm in range(len(agenda.total)):
        first, last = c.dissimilar_starts[arm], c.dissimilar_starts[arm + 1]
        n_orders = 0
        for at in range(first, last):
            n_orders += k.bits[at] != 0 and k.root[abs(k.bits[at])] == k.root[number]
        if 0 < n_orders < last - first:
            agenda.total[arm] = n_orders - 1
            agenda.learnt[arm] = n_orders - 1
            _note(agenda, arm)


@compiled
def count_orders(c: Codes, k: OrientationClasses, number: int, counts: Array) -> None:
    """Count the orders that every arm has in a class."""
    for arm in range(len(counts)):
        counts[arm] = 0
        for at in range(c.dissimilar_starts[arm], c.dissimilar_starts[arm + 1]):
            if k.bits[at] != 0 and k.root[abs(k.bits[at])] == k.root[number]:
                counts[arm] += 1


@compiled
def connected_parts(starts: Array, others: Array) -> tuple[Array, int]:
    """Return the number of every arm's connected part, and how many parts there are."""
    n_arms = len(starts) - 1
    part, queue = np.full(n_arms, -1, np.int32), np.empty(n_arms, np.int32)
    count = 0
    for root in range(n_arms):
        if part[root] >= 0:
            continue
        part[root], queue[0] = count, root
        head, tail = 0, 1
        while head < tail:
            arm = queue[head]
            head += 1
            for at in range(starts[arm], starts[arm + 1]):
                if part[others[at]] < 0:
                    part[others[at]] = count
                    queue[tail] = others[at]
                    tail += 1
        count += 1
    return part, count


@inlined
def _in_circle(came_from: Array) -> int:
    """Return an arm on a cycle of `came_from`, or -1."""
    seen = np.full(len(came_from), -1, np.int32)
    for root in range(len(came_from)):
        arm = np.int64(root)
        while arm >= 0 and seen[arm] < 0:
            seen[arm] = root
            arm = np.int64(came_from[arm])
        if arm >= 0 and seen[arm] == root:
            return int(arm)
    return -1


@inlined
def _starts_of(c: Codes, kind: int) -> Array:
    """Return where the rows of similar pairs (0), dissimilar pairs (1) or ranges (2) begin."""
    return c.similar_starts if kind == 0 else (c.dissimilar_starts if kind == 1 else c.signed_starts)


@compiled
def lower_levels(
    c: Codes, bits: Array, signs: Array, queue: Array, n_waiting: int, came_from: Array, levels: Array
) -> int:
    """Lower the levels of arms until they satisfy all relations; return an arm of a contradiction, or -1.

    Levels are codes of upper bounds on how far an arm lies above the largest mean: an arm with a level below
    0 lies strictly below another one. The first `n_waiting` of `queue`, which has room for all arms, are
    those whose relations the levels may violate. ``signs[number]`` says how the orders of a class count: 1 as
    they stand, -1 reversed, 0 not at all.
    """
    n_arms = len(levels)
    one_near = 0 if len(c.similar_codes) == 1 else 1
    one_far = 0 if len(c.dissimilar_codes) == 1 else 1
    waiting = np.zeros(n_arms, np.bool_)
    for place in range(n_waiting):
        waiting[queue[place]] = True
    came_from[:] = -1
    head, visits, look = 0, 0, 8 * n_waiting + 1_000
    while n_waiting > 0:
        a = queue[head]
        head = head + 1 if head + 1 < n_arms else 0
        n_waiting -= 1
        waiting[a] = False
        visits += 1
        if visits == look:
            look *= 2
            arm = _in_circle(came_from)
            if arm >= 0:
                return arm
        level = levels[a]
        for kind in range(3):
            starts = _starts_of(c, kind)
            for at in range(starts[a], starts[a + 1]):
                if kind == 0:
                    b = c.similar[at]
                    through = plus(level, c.similar_codes[at * one_near])
                elif kind == 1:
                    known = bits[at]
                    if known == 0 or signs[abs(known)] * known <= 0:
                        continue
                    b = c.dissimilar[at]
                    through = level - c.dissimilar_codes[at * one_far]
                else:
                    if c.signed_up[at] >= FAR:
                        continue
                    b = c.signed[at]
                    through = plus(level, c.signed_up[at])
                if through < levels[b]:
                    levels[b] = through
                    came_from[b] = a
                    if not waiting[b]:
                        waiting[b] = True
                        tail = head + n_waiting
                        queue[tail if tail < n_arms else tail - n_arms] = b
                        n_waiting += 1
    return -1


@inlined
def quanta(code: int) -> int:
    """Return the bound of a code, in quanta and without its strictness; bounds add up."""
    return (code + 1) >> 1


@compiled
def upward_ways(c: Codes, bits: Array, signs: Array, members: Array, number: Array) -> tuple[Array, ...]:
    """Return bounds on how far each of `members` lies above others of them, as rows, in quanta.

    ``number`` is the index of an arm in `members`, or -1; `signs` are as for `lower_levels`.
    """
    one_near = 0 if len(c.similar_codes) == 1 else 1
    one_far = 0 if len(c.dissimilar_codes) == 1 else 1
    starts = np.zeros(len(members) + 1, np.int64)
    most = 0
    for b in members:
        most += c.similar_starts[b + 1] - c.similar_starts[b] + c.signed_starts[b + 1] - c.signed_starts[b]
        most += c.dissimilar_starts[b + 1] - c.dissimilar_starts[b]
    others, bounds = np.empty(most, np.int32), np.empty(most, np.int64)
    filled = 0
    for row in range(len(members)):
        b = members[row]
        for at in range(c.similar_starts[b], c.similar_starts[b + 1]):
            if number[c.similar[at]] >= 0:
                others[filled] = number[c.similar[at]]
                bounds[filled] = quanta(c.similar_codes[at * one_near])
                filled += 1
        for at in range(c.dissimilar_starts[b], c.dissimilar_starts[b + 1]):
            known = bits[at]
            if known != 0 and signs[abs(known)] * known < 0 and number[c.dissimilar[at]] >= 0:
                others[filled] = number[c.dissimilar[at]]
                bounds[filled] = -(c.dissimilar_codes[at * one_far] >> 1)
                filled += 1
        for at in range(c.signed_starts[b], c.signed_starts[b + 1]):
            if c.signed_down[at] < FAR and number[c.signed[at]] >= 0:
                others[filled] = number[c.signed[at]]
                bounds[filled] = quanta(c.signed_down[at])
                filled += 1
        starts[row + 1] = filled
    return starts, others, bounds


@compiled
def gaps_above(
    starts: Array,
    others: Array,
    bounds: Array,
    levels: Array,
    tops: Array,
    most_visits: int,
    gaps: Array,
) -> None:
    """Write upper bounds, in quanta or `FAR`, on how far each of `tops` lies above all arms, a row for each.

    These are shortest paths; after `most_visits` visits to arms the search stops and may miss some. `levels`
    are in quanta: the excess of a path over the least that they allow never shrinks along it, so arms with
    the least excess come first.
    """
    n_arms = len(levels)
    waiting, queue = np.zeros(n_arms, np.bool_), np.empty(n_arms, np.int32)
    for row in range(len(tops)):
        ways = gaps[row]
        ways[:] = FAR
        top = tops[row]
        ways[top], queue[0], waiting[top] = 0, top, True
        head, n_waiting, visits = 0, 1, 0
        while n_waiting > 0 and visits < most_visits:
            b = queue[head]
            head = head + 1 if head + 1 < n_arms else 0
            n_waiting -= 1
            waiting[b] = False
            visits += 1
            way = ways[b]
            longer = way + levels[b]
            for at in range(starts[b], starts[b + 1]):
                a = others[at]
                through = way + bounds[at]
                if through >= ways[a]:
                    continue
                ways[a] = through
                if waiting[a]:
                    continue
                waiting[a] = True
                if through + levels[a] <= longer:
                    head = head - 1 if head > 0 else n_arms - 1
                    queue[head] = a
                else:
                    tail = head + n_waiting
                    queue[tail if tail < n_arms else tail - n_arms] = a
                n_waiting += 1
        while n_waiting > 0:
            waiting[queue[head]] = False
            head = head + 1 if head + 1 < n_arms else 0
            n_waiting -= 1


@compiled
def strict_counts(c: Codes, bits: Array, signs: Array, levels: Array, counts: Array) -> int:
    """Count the strict relations on the paths that set the levels, by Kahn's algorithm on tight relations.

    Return an arm on or downstream of a cycle of tight relations, or -1. If every tight cycle must contain a
    strict relation, such a cycle is a contradiction: it would put an arm below itself.
    """
    n_arms = len(levels)
    one_near = 0 if len(c.similar_codes) == 1 else 1
    one_far = 0 if len(c.dissimilar_codes) == 1 else 1
    into, queue = np.empty(n_arms, np.int32), np.empty(n_arms, np.int32)
    counts[:] = 0
    tail = 0
    for a in range(n_arms):
        level, n_into = quanta(int(levels[a])), 0
        for at in range(c.similar_starts[a], c.similar_starts[a + 1]):
            from_level = quanta(int(levels[c.similar[at]]))
            n_into += level == from_level + quanta(c.similar_codes[at * one_near])
        for at in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            known = int(bits[at])
            from_level = quanta(int(levels[c.dissimilar[at]]))
            is_tight = level == from_level + quanta(-c.dissimilar_codes[at * one_far])
            n_into += is_tight & (signs[abs(known)] * known < 0)
        for at in range(c.signed_starts[a], c.signed_starts[a + 1]):
            from_level = quanta(int(levels[c.signed[at]]))
            if c.signed_down[at] < FAR and level == from_level + quanta(c.signed_down[at]):
                n_into += 1
        into[a] = n_into
        if n_into == 0:
            queue[tail] = a
            tail += 1
    head = 0
    while head < tail:
        a = int(queue[head])
        head += 1
        level, count = quanta(int(levels[a])), counts[a]
        for kind in range(3):
            starts = _starts_of(c, kind)
            for at in range(starts[a], starts[a + 1]):
                if kind == 0:
                    b, code = c.similar[at], c.similar_codes[at * one_near]
                elif kind == 1:
                    b, code = c.dissimilar[at], -c.dissimilar_codes[at * one_far]
                else:
                    b, code = c.signed[at], c.signed_up[at]
                if quanta(int(levels[b])) != level + quanta(code):
                    continue
                if kind == 1:
                    known = int(bits[at])
                    if signs[abs(known)] * known <= 0:
                        continue
                counts[b] = max(counts[b], count + (code & 1))
                into[b] -= 1
                if into[b] == 0:
                    queue[tail] = b
                    tail += 1
    if tail < n_arms:
        for arm in range(n_arms):
            if into[arm] > 0:
                return arm
    return -1


@inlined
def _strict_way(
    c: Codes, bits: Array, signs: Array, levels: Array, arm: int, kind: int, at: int, is_from: bool
) -> tuple[int, int]:
    """Return the other arm of a relation in the row of `arm`, and whether it is strict from (or to) `arm`.

    The other arm is -1 where the relation is not tight: it does not set the level.
    """
    if kind == 0:
        other, code = int(c.similar[at]), c.similar_codes[at if len(c.similar_codes) > 1 else 0]
    elif kind == 1:
        other, code = (
            int(c.dissimilar[at]),
            -c.dissimilar_codes[at if len(c.dissimilar_codes) > 1 else 0],
        )
        order = signs[abs(bits[at])] * bits[at]
        if order == 0 or (order > 0) != is_from:
            return -1, 0
    else:
        other, code = int(c.signed[at]), c.signed_up[at] if is_from else c.signed_down[at]
        if code >= FAR:
            return -1, 0
    first, last = (arm, other) if is_from else (other, arm)
    is_tight = (levels[last] + 1) >> 1 == ((levels[first] + 1) >> 1) + ((code + 1) >> 1)
    return other if is_tight else -1, code & 1


@compiled
def raise_counts(c: Codes, bits: Array, signs: Array, levels: Array, touched: Array, counts: Array) -> int:
    """Raise the counts of strict relations until they satisfy all tight ones, after some arms changed.

    `touched` are the arms of new orders and all whose level changed; the counts were right before. The result
    may be larger than that of `strict_counts`, which does no harm. Return an arm on a cycle with a strict
    relation, which would raise the counts for ever, or -1.
    """
    n_arms = len(levels)
    waiting, queue = np.zeros(n_arms, np.bool_), np.empty(n_arms, np.int32)
    came_from = np.full(n_arms, -1, np.int32)
    head, n_waiting = 0, 0
    for arm in touched:
        queue[n_waiting] = arm
        waiting[arm] = True
        n_waiting += 1
    n_touched = n_waiting
    visits, look = 0, 2 * n_waiting + 200
    while n_waiting > 0:
        visits += 1
        if visits == look:
            look *= 2
            arm = _in_circle(came_from)
            if arm >= 0:
                return arm
        a = int(queue[head])
        head = head + 1 if head + 1 < n_arms else 0
        n_waiting -= 1
        waiting[a] = False
        for kind in range(3):
            starts = _starts_of(c, kind)
            if n_touched > 0:  # relations to a touched arm may be newly tight as well
                for at in range(starts[a], starts[a + 1]):
                    b, strict = _strict_way(c, bits, signs, levels, a, kind, at, False)
                    if b >= 0 and counts[a] < counts[b] + strict:
                        counts[a] = counts[b] + strict
                        came_from[a] = b
        for kind in range(3):
            starts = _starts_of(c, kind)
            for at in range(starts[a], starts[a + 1]):
                b, strict = _strict_way(c, bits, signs, levels, a, kind, at, True)
                if b < 0 or counts[b] >= counts[a] + strict:
                    continue
                counts[b] = counts[a] + strict
                came_from[b] = a
                if not waiting[b]:
                    waiting[b] = True
                    tail = head + n_waiting
                    queue[tail if tail < n_arms else tail - n_arms] = b
                    n_waiting += 1
        n_touched -= 1
    return -1


@compiled
def misfits(c: Codes, means: Array, unit: int, first: int, last: int, wrong: Array) -> None:
    """Mark arms with a relation that the means violate; means are in steps, `unit` per quantum."""
    one_near = 0 if len(c.similar_codes) == 1 else 1
    one_far = 0 if len(c.dissimilar_codes) == 1 else 1
    for a in range(first, last):
        for at in range(c.similar_starts[a], c.similar_starts[a + 1]):
            far = abs(means[a] - means[c.similar[at]])
            if far >= ((c.similar_codes[at * one_near] + 1) >> 1) * unit:
                wrong[a] = True
        for at in range(c.dissimilar_starts[a], c.dissimilar_starts[a + 1]):
            far = abs(means[a] - means[c.dissimilar[at]])
            if far < (c.dissimilar_codes[at * one_far] >> 1) * unit:
                wrong[a] = True
        for at in range(c.signed_starts[a], c.signed_starts[a + 1]):
            code, above = c.signed_up[at], means[c.signed[at]] - means[a]
            if code < FAR and above > ((code + 1) >> 1) * unit - (code & 1):
                wrong[a] = True
