"""Place the arms on a line so that few known relations are broken.

Relations come as rows: the arms related to an arm, ascending, with 1 (similar) or -1 (dissimilar).
A relation holds on the line when similar arms are less than 1 apart and dissimilar ones at least 1.
"""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, copy_into, inlined

_FAR = 3.0  # gap between parts that no similar pair joins: above 1, so that all their arms are dissimilar
_SCALES = 40  # lengths tried for a part; `settle` then moves single arms, so a rough length is enough


@compiled
def mark_believable(indptr: Array, indices: Array, signs: Array, first: int, last: int, kept: Array) -> None:
    """Mark the similar pairs that their common neighbours do not contradict.

    If the two arms are far apart, an arm similar to one is dissimilar to the other and none is similar to
    both. If they are near, at least about half of the arms related to both are similar to both. One or two
    arms against a pair alone say little.
    """
    for arm in range(first, last):
        for place in range(indptr[arm], indptr[arm + 1]):
            kept[place] = False
            if signs[place] < 0:
                continue
            other = indices[place]
            here, there = indptr[arm], indptr[other]
            agree, against = 0, 0
            while here < indptr[arm + 1] and there < indptr[other + 1]:
                if indices[here] < indices[there]:
                    here += 1
                elif indices[here] > indices[there]:
                    there += 1
                else:
                    agree += signs[here] > 0 and signs[there] > 0
                    against += signs[here] != signs[there]
                    here += 1
                    there += 1
            kept[place] = against <= 2 + 3 * agree


@compiled
def _hops(indptr: Array, indices: Array, kept: Array, start: int, hops: Array, queue: Array) -> int:
    """Count hops over kept pairs from `start`; list arms in `queue`, nearest first; return how many."""
    queue[0] = start
    hops[start] = 0
    head, tail = 0, 1
    while head < tail:
        arm = queue[head]
        head += 1
        for place in range(indptr[arm], indptr[arm + 1]):
            other = indices[place]
            if kept[place] and hops[other] < 0:
                hops[other] = hops[arm] + 1
                queue[tail] = other
                tail += 1
    return tail


@compiled
def parts_of(indptr: Array, indices: Array, kept: Array) -> Array:
    """Return the number of each arm's part; kept pairs join the arms of a part."""
    n_arms = len(indptr) - 1
    part, hops = np.full(n_arms, -1, np.int64), np.full(n_arms, -1, np.int64)
    queue = np.empty(n_arms, np.int64)
    number = 0
    for start in range(n_arms):
        if part[start] < 0:
            for arm in queue[: _hops(indptr, indices, kept, start, hops, queue)]:
                part[arm] = number
            number += 1
    return part


@inlined
def _broken(sign: int, distance: float) -> bool:
    return (abs(distance) >= 1.0) == (sign > 0)


@compiled
def _n_broken(indptr: Array, indices: Array, signs: Array, members: Array, x: Array, scale: float) -> int:
    """Count the relations of some arms (twice if both are among them) that do not hold on the line."""
    count = 0
    for arm in members:
        for place in range(indptr[arm], indptr[arm + 1]):
            count += _broken(signs[place], scale * (x[indices[place]] - x[arm]))
    return count


@compiled
def _smooth(indptr: Array, indices: Array, kept: Array, members: Array, x: Array, rounds: int) -> None:
    """Repeatedly move every arm to the average of its neighbours and itself; keep spread and centre fixed.

    The slowest variation along a path lasts longest, so this tends to the order along the part.
    """
    smooth, weight = np.empty(len(x)), 0.0
    for arm in members:
        count = 1.0
        for place in range(indptr[arm], indptr[arm + 1]):
            count += kept[place]
        weight += count
    for _ in range(rounds):
        centre, spread = 0.0, 0.0
        for arm in members:
            total, count = x[arm], 1.0
            for place in range(indptr[arm], indptr[arm + 1]):
                if kept[place]:
                    total += x[indices[place]]
                    count += 1.0
            smooth[arm] = total / count
            centre += total / weight
        for arm in members:
            spread = max(spread, abs(smooth[arm] - centre))
        if spread == 0.0:
            return
        for arm in members:
            x[arm] = (smooth[arm] - centre) / spread


@compiled
def _scale_and_place(
    indptr: Array, indices: Array, signs: Array, members: Array, x: Array, longest: float, offset: float
) -> float:
    """Stretch a part to the length that breaks fewest relations, put it at `offset`; return its length."""
    low, high = np.inf, -np.inf
    for arm in members:
        low, high = min(low, x[arm]), max(high, x[arm])
    width = max(high - low, 1e-9)
    best, fewest = 0.0, np.iinfo(np.int64).max
    for step in range(1, _SCALES + 1):
        scale = longest * step / (_SCALES * width)
        count = _n_broken(indptr, indices, signs, members, x, scale)
        if count < fewest:
            best, fewest = scale, count
    for arm in members:
        x[arm] = offset + (x[arm] - low) * best
    return best * width


@compiled
def lay_out(
    indptr: Array, indices: Array, signs: Array, kept: Array, rounds: int, ranked: bool, x: Array
) -> None:
    """Place every part on the line by smoothed hop counts from its two ends, with a gap between parts.

    With `ranked`, only the order counts and the arms are evenly spaced.
    """
    n_arms = len(x)
    seen = np.full(n_arms, -1, np.int64)
    from_one, from_other, queue = seen.copy(), seen.copy(), seen.copy()
    offset = 0.0
    for start in range(n_arms):
        if seen[start] >= 0:
            continue
        size = _hops(indptr, indices, kept, start, seen, queue)
        _hops(indptr, indices, kept, queue[size - 1], from_one, queue)
        end = queue[size - 1]
        _hops(indptr, indices, kept, end, from_other, queue)
        members = queue[:size].copy()
        for arm in members:
            x[arm] = 0.5 * (from_one[arm] - from_other[arm])
        _smooth(indptr, indices, kept, members, x, rounds)
        if ranked:
            order = np.argsort(x[members], kind="mergesort")
            for number in range(size):
                x[members[order[number]]] = number
        longest = from_one[end] + 1.0  # a hop is shorter than 1
        offset += _FAR + _scale_and_place(indptr, indices, signs, members, x, longest, offset)


@compiled
def _best_place(indptr: Array, indices: Array, signs: Array, arm: int, x: Array) -> float:
    """Return the middle of the interval that breaks fewest relations of an arm, the nearest of several."""
    first, last = indptr[arm], indptr[arm + 1]
    n_ends = 2 * (last - first)
    ends, change = np.empty(n_ends), np.empty(n_ends, np.int64)
    broken = 0
    for number in range(last - first):
        at, sign = x[indices[first + number]], signs[first + number]
        broken += sign > 0
        ends[2 * number], change[2 * number] = at - 1.0, -sign
        ends[2 * number + 1], change[2 * number + 1] = at + 1.0, sign
    order = np.argsort(ends, kind="mergesort")
    here = x[arm]
    place, fewest = ends[order[0]] - 0.05, broken
    for number in range(n_ends):
        broken += change[order[number]]
        low = ends[order[number]]
        high = ends[order[number + 1]] if number + 1 < n_ends else low + 0.1
        if high - low < 1e-9:
            continue
        middle = 0.5 * (low + high)
        if broken < fewest or (broken == fewest and abs(middle - here) < abs(place - here)):
            place, fewest = middle, broken
    return float(place)


@compiled
def settle(indptr: Array, indices: Array, signs: Array, x: Array, sweeps: int) -> int:
    """Move each arm in turn to where fewest of its relations break; return how many are still broken."""
    n_arms = len(x)
    everything = np.arange(n_arms)
    kept_x, fewest = x.copy(), _n_broken(indptr, indices, signs, everything, x, 1.0)
    for sweep in range(sweeps):
        along = np.argsort(x, kind="mergesort")
        for number in range(n_arms):
            arm = along[number] if sweep % 2 == 0 else along[n_arms - 1 - number]
            if indptr[arm] < indptr[arm + 1]:
                x[arm] = _best_place(indptr, indices, signs, arm, x)
        count = _n_broken(indptr, indices, signs, everything, x, 1.0)
        if count < fewest:
            fewest = count
            copy_into(kept_x, x)
        elif sweep > 5:
            break
    copy_into(x, kept_x)
    return fewest // 2


@compiled
def cost_to_be_best(
    indptr: Array,
    indices: Array,
    signs: Array,
    part: Array,
    x: Array,
    slack: float,
    against: Array,
    costs: Array,
    near: Array,
) -> None:
    """Count the relations that must be wrong for each arm to stand at an end of its part.

    ``costs[i]`` is how many more relations of arm i break at the better end than at its best place; within
    `slack` of the end counts as the end. ``against[part, end]`` is added; end 0 has the largest positions.
    ``near[i]`` is how many relations it has with arms less than 2 away.
    """
    n_parts = part.max() + 1 if len(part) else 0
    tops = np.full((n_parts, 2, 2), -np.inf)  # the two outermost arms at either end
    for arm in range(len(x)):
        for end in range(2):
            at = x[arm] if end == 0 else -x[arm]
            if at > tops[part[arm], end, 0]:
                tops[part[arm], end, 1] = tops[part[arm], end, 0]
                tops[part[arm], end, 0] = at
            elif at > tops[part[arm], end, 1]:
                tops[part[arm], end, 1] = at
    for arm in range(len(x)):
        least = np.iinfo(np.int64).max
        for end in range(2):
            mirror = 1.0 if end == 0 else -1.0
            top = tops[part[arm], end, 0]
            if mirror * x[arm] == top:
                top = tops[part[arm], end, 1]
            cost = _cost_of_end(indptr, indices, signs, part, x, arm, mirror, top - slack)
            least = min(least, cost + against[part[arm], end])
        costs[arm] = least
        near[arm] = 0
        for place in range(indptr[arm], indptr[arm + 1]):
            other = indices[place]
            near[arm] += part[other] == part[arm] and abs(x[other] - x[arm]) < 2.0


@compiled
def _cost_of_end(
    indptr: Array, indices: Array, signs: Array, part: Array, x: Array, arm: int, mirror: float, limit: float
) -> int:
    """Return how many more relations within its part an arm breaks beyond `limit` than at its best place."""
    first, last = indptr[arm], indptr[arm + 1]
    ends, change = np.empty(2 * (last - first)), np.empty(2 * (last - first), np.int64)
    n_ends, broken = 0, 0
    for place in range(first, last):
        if part[indices[place]] == part[arm]:
            at, sign = mirror * x[indices[place]], signs[place]
            broken += sign > 0
            ends[n_ends], change[n_ends] = at - 1.0, -sign
            ends[n_ends + 1], change[n_ends + 1] = at + 1.0, sign
            n_ends += 2
    order = np.argsort(ends[:n_ends], kind="mergesort")
    anywhere, beyond = broken, broken if n_ends == 0 or limit <= ends[order[0]] else last - first + 1
    for number in range(n_ends):
        broken += change[order[number]]
        low = ends[order[number]]
        high = ends[order[number + 1]] if number + 1 < n_ends else np.inf
        if high - low < 1e-9:
            continue
        anywhere = min(anywhere, broken)
        if high > limit:
            beyond = min(beyond, broken)
    return beyond - anywhere
