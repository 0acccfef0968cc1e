"""Draws of mean vectors that satisfy all relations: a Markov chain whose law is uniform on them.

One arm at a time moves to a uniform point of what its relations leave for it, all other arms staying where
they are (Gibbs sampling). Whole components, which relations hold together in themselves, are moved, turned
over, and traded with the next one: no single arm could get past another component.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.kernel import Array, compiled, inlined, safe_exp, safe_log, safe_pow, uniform

if TYPE_CHECKING:
    from lsdt.kernel import FixedReals, FixedWholes

_ALL = 2**62  # more than there are relations
_TRIES = 8  # places that an arm without a free one is tried at
_JUST = 1.0 + 1e-9  # dissimilar arms are put apart by a hair more than they must be
_NEAR = 0.1  # how far a small move takes a component, as a share of the box
_TINY = 1e-300  # logarithms of 0 would be infinite
_BISECTIONS = 50


class DrawnRelations(NamedTuple):
    """Relations as rows: links ``low <= x_j - x_k <= high``, dissimilar pairs ``|x_j - x_k| >= apart``.

    ``component`` numbers what links hold together; where ``turns`` is 0 a range gives it a direction.
    """

    starts: FixedWholes
    others: FixedWholes
    low: FixedReals
    high: FixedReals
    far_starts: FixedWholes
    far: FixedWholes
    apart: FixedReals
    component: FixedWholes
    turns: FixedWholes


class RewardEvidence(NamedTuple):
    """What rewards say of each arm: the logarithm of a density of its mean, up to a constant.

    For coins it is ``first log(x) + second log(1 - x)``, else ``-second (x - first)^2 / 2``.
    """

    first: Array
    second: Array
    is_coin: bool


@inlined
def log_density(evidence: RewardEvidence, arm: int, at: float) -> float:
    """Return the logarithm of the density of an arm's mean, up to a constant."""
    first, second = evidence.first[arm], evidence.second[arm]
    if evidence.is_coin:
        return first * safe_log(max(at, _TINY)) + second * safe_log(max(1.0 - at, _TINY))
    return -0.5 * second * (at - first) * (at - first)


@compiled
def find_room(
    x: Array, arm: int, floor: float, ceiling: float, relations: DrawnRelations, room: Array
) -> tuple[float, float, int]:
    """Return the interval that links leave for an arm, and how many dissimilar arms cut stretches out of it.

    The stretches are put into `room` by their left ends, which come first; the right ends begin at its half.
    """
    low, high = floor, ceiling
    for at in range(relations.starts[arm], relations.starts[arm + 1]):
        other = relations.others[at]
        low, high = max(low, x[other] + relations.low[at]), min(high, x[other] + relations.high[at])
    n, half = 0, len(x)
    if not low < high:
        return low, high, n
    for at in range(relations.far_starts[arm], relations.far_starts[arm + 1]):
        other, apart = relations.far[at], relations.apart[at]
        left, right = x[other] - apart, x[other] + apart
        if right > low and left < high:  # few do: sorted as they come
            place = n
            while place > 0 and room[place - 1] > left:
                room[place], room[half + place] = room[place - 1], room[half + place - 1]
                place -= 1
            room[place], room[half + place] = left, right
            n += 1
    return low, high, n


@compiled
def point_in(low: float, high: float, n: int, room: Array, stream: Array) -> float:
    """Return a uniform point of an interval without the stretches in `room`; NaN where nothing is left."""
    if not low < high:
        return math.nan
    half = len(room) // 2
    free, at_ = 0.0, low
    for place in range(n):
        free += max(min(room[place], high) - at_, 0.0)
        at_ = max(at_, room[half + place])
    free += max(high - at_, 0.0)
    if free <= 0.0:
        return math.nan
    left_over, at_ = uniform(stream) * free, low
    for place in range(n):
        gap = max(min(room[place], high) - at_, 0.0)
        if left_over < gap:
            return at_ + left_over
        left_over -= gap
        at_ = max(at_, room[half + place])
    return min(at_ + left_over, high)


@compiled
def free_place(
    x: Array, arm: int, floor: float, ceiling: float, relations: DrawnRelations, room: Array, stream: Array
) -> float:
    """Return a uniform point of what relations leave for an arm, or not a number where they leave nothing.

    `room` is scratch space for two numbers an arm.
    """
    low, high, n = find_room(x, arm, floor, ceiling, relations, room)
    return point_in(low, high, n, room, stream)


@compiled
def n_broken(x: Array, arm: int, y: float, relations: DrawnRelations, enough: int) -> int:
    """Return how many relations break with an arm at y; no more are counted once there are above `enough`."""
    broken = 0
    for at in range(relations.starts[arm], relations.starts[arm + 1]):
        apart = y - x[relations.others[at]]
        if not relations.low[at] <= apart <= relations.high[at]:
            broken += 1
            if broken > enough:
                return broken
    for at in range(relations.far_starts[arm], relations.far_starts[arm + 1]):
        if abs(y - x[relations.far[at]]) < relations.apart[at]:
            broken += 1
            if broken > enough:
                return broken
    return broken


@compiled
def all_broken(x: Array, relations: DrawnRelations) -> int:
    """Return how many relations break, each counted from both ends."""
    broken = 0
    for arm in range(len(x)):
        broken += n_broken(x, arm, x[arm], relations, _ALL)
    return broken


@compiled
def repair(
    x: Array, floor: float, ceiling: float, relations: DrawnRelations, most_sweeps: int, stream: Array
) -> bool:
    """Move arms until no relation breaks; say whether that came about."""
    room = np.empty(2 * len(x))
    for _ in range(most_sweeps):
        broken = 0
        for arm in range(len(x)):
            y = free_place(x, arm, floor, ceiling, relations, room, stream)
            if y == y:
                x[arm] = y
                continue
            broken += _least_broken(x, arm, floor, ceiling, relations, stream)
        if broken == 0:
            return True
    return False


@compiled
def _least_broken(
    x: Array, arm: int, floor: float, ceiling: float, relations: DrawnRelations, stream: Array
) -> int:
    """Move an arm to where fewest relations break, among points that satisfy one; return how many do."""
    first, far = relations.starts[arm], relations.far_starts[arm]
    n_links, n_far = relations.starts[arm + 1] - first, relations.far_starts[arm + 1] - far
    x[arm] = min(max(x[arm], floor), ceiling)
    fewest = n_broken(x, arm, x[arm], relations, _ALL)
    for _ in range(_TRIES):
        if fewest == 0 or n_links + n_far == 0:
            break
        at = int(uniform(stream) * (n_links + n_far))
        if at < n_links:
            other = x[relations.others[first + at]]
            low = max(other + relations.low[first + at], floor)
            high = min(other + relations.high[first + at], ceiling)
            y = low + uniform(stream) * (high - low)
        else:
            at += far - n_links
            apart = _JUST * relations.apart[at]
            y = x[relations.far[at]] + (apart if uniform(stream) < 0.5 else -apart)
        y = min(max(y, floor), ceiling)
        broken = n_broken(x, arm, y, relations, fewest)
        if broken <= fewest:
            fewest, x[arm] = broken, y
    return fewest


@inlined
def _ends(x: Array, component: Array, which: int) -> tuple[float, float]:
    """Return the ends of a component."""
    low, high = math.inf, -math.inf
    for arm in range(len(x)):
        if component[arm] == which:
            low, high = min(low, x[arm]), max(high, x[arm])
    return low, high


@compiled
def stay_apart(
    y: Array, first: int, second: int, floor: float, ceiling: float, relations: DrawnRelations
) -> bool:
    """Say whether two components lie in the box, and apart from the others."""
    component = relations.component
    for arm in range(len(y)):
        if component[arm] != first and component[arm] != second:
            continue
        if not floor <= y[arm] <= ceiling:
            return False
        for at in range(relations.far_starts[arm], relations.far_starts[arm + 1]):
            other = relations.far[at]
            if component[other] != component[arm] and abs(y[arm] - y[other]) < relations.apart[at]:
                return False
    return True


@compiled
def _accept(x: Array, y: Array, heat: float, evidence: RewardEvidence, stream: Array) -> None:
    """Move from x to y with the probability of Metropolis: always, where there is no evidence."""
    if heat > 0.0:
        gain = 0.0
        for arm in range(len(x)):
            if x[arm] != y[arm]:
                gain += log_density(evidence, arm, y[arm]) - log_density(evidence, arm, x[arm])
        if uniform(stream) >= safe_exp(min(heat * gain, 0.0)):
            return
    x[:] = y


@compiled
def move_components(
    x: Array,
    y: Array,
    n_components: int,
    floor: float,
    ceiling: float,
    relations: DrawnRelations,
    heat: float,
    evidence: RewardEvidence,
    stream: Array,
) -> None:
    """Turn each component over, put it anywhere or move it a little; trade the places of two neighbours.

    The law stays uniform on what relations leave where `heat` is 0, else the power `heat` of the evidence.
    """
    component = relations.component
    for which in range(n_components):
        low, high = _ends(x, component, which)
        kind, turns, shift = uniform(stream), False, 0.0
        if kind < 1.0 / 3.0:
            turns = True
        elif kind < 2.0 / 3.0:
            turns = uniform(stream) < 0.5
            shift = floor - low + uniform(stream) * (ceiling - floor - (high - low))
        else:
            shift = (uniform(stream) - 0.5) * _NEAR * (ceiling - floor)
        turns = turns and relations.turns[which] == 1
        for arm in range(len(x)):
            y[arm] = x[arm]
            if component[arm] == which:
                y[arm] = (low + high - x[arm] if turns else x[arm]) + shift
        if stay_apart(y, which, which, floor, ceiling, relations):
            _accept(x, y, heat, evidence, stream)
    which = int(uniform(stream) * n_components)
    low, high = _ends(x, component, which)
    following, next_low, next_high, third_low = -1, math.inf, math.inf, math.inf
    for other in range(n_components):
        other_low, other_high = _ends(x, component, other)
        if low < other_low < next_low:
            following, third_low, next_low, next_high = other, next_low, other_low, other_high
        elif low < other_low < third_low:
            third_low = other_low
    # Traded back, they must be neighbours again: where others begin between them, trades would lead there
    # and not back, and the law would not be uniform.
    if following >= 0 and low < low + next_high - high < third_low:
        for arm in range(len(x)):
            y[arm] = x[arm]
            if component[arm] == which:
                y[arm] += next_high - high
            elif component[arm] == following:
                y[arm] += low - next_low
        if stay_apart(y, which, following, floor, ceiling, relations):
            _accept(x, y, heat, evidence, stream)


@compiled
def _place_from(x: Array, at: int, target: float) -> int:
    """Return how many of ascending numbers lie below the target, which is likely to be about `at`."""
    while at < len(x) and x[at] < target:
        at += 1
    while at > 0 and x[at - 1] >= target:
        at -= 1
    return at


@compiled
def sweep_in_order(
    x: Array,
    order: Array,
    begins: Array,
    ends: Array,
    place: Array,
    kinds: Array,
    limits: tuple[float, float, float, float, float],
    room: Array,
    stream: Array,
) -> None:
    """Move every arm in turn to where `free_place` would, with one distance for all pairs.

    Similar arms are then less than a distance away and dissimilar ones are not, so that few arms matter: of
    the similar ones the lowest and the highest, of the dissimilar ones those just beyond the distance. `x`
    ascends, ``order[p]`` is the arm at place p and ``place`` the inverse; ``begins`` and ``ends`` say where
    arms near to one were the last time. `kinds` is a table of all pairs: 1 for similar, -1 for dissimilar.
    """
    floor, ceiling, within, apart, spare = limits
    n_arms = len(x)
    for arm in range(n_arms):
        now, kind = x[place[arm]], kinds[arm]
        begin = _place_from(x, begins[arm], now - apart + spare)
        end = _place_from(x, ends[arm], now + apart - spare)
        begins[arm], ends[arm] = begin, end
        first, last = begin, end - 1
        while first > 0 and x[first - 1] >= now - apart - spare:
            first -= 1
        while last + 1 < n_arms and x[last + 1] <= now + apart + spare:
            last += 1
        lowest, highest = first, last
        while highest >= first and kind[order[highest]] <= 0:
            highest -= 1
        if highest >= first:
            while kind[order[lowest]] <= 0:
                lowest += 1
            low, high = max(floor, x[highest] - within), min(ceiling, x[lowest] + within)
        else:
            low, high = floor, ceiling
        if not low < high:
            continue
        left = begin
        while left > 0 and x[left - 1] + apart > low:
            left -= 1
        n, free, at = 0, 0.0, low
        p = left if left < begin else end
        while p < n_arms and x[p] - apart < high:
            if kind[order[p]] < 0:
                room[n] = x[p]
                free += max(x[p] - apart - at, 0.0)
                at = max(at, x[p] + apart)
                n += 1
            p += 1
            if p == begin:
                p = end
        free += max(high - at, 0.0)
        if free <= 0.0:
            continue
        left_over, at, number = uniform(stream) * free, low, 0
        while number < n:
            gap = max(room[number] - apart - at, 0.0)
            if left_over < gap:
                break
            left_over -= gap
            at = max(at, room[number] + apart)
            number += 1
        new = at + left_over if number < n else min(at + left_over, high)
        p = place[arm]
        while p + 1 < n_arms and x[p + 1] < new:
            x[p], order[p] = x[p + 1], order[p + 1]
            place[order[p]] = p
            p += 1
        while p > 0 and x[p - 1] > new:
            x[p], order[p] = x[p - 1], order[p - 1]
            place[order[p]] = p
            p -= 1
        x[p], order[p], place[arm] = new, arm, p


@compiled
def draw_in_order(
    x: Array,
    order: Array,
    kinds: Array,
    limits: tuple[float, float, float, float, float],
    sweeps: int,
    kept: Array,
    draws: Array,
    stream: Array,
) -> None:
    """Fill `draws` as `draw_means` does, for one distance and one component; see `sweep_in_order`."""
    n_arms, room = len(x), np.empty(len(x))
    begins, ends, place = np.zeros(n_arms, np.int64), np.zeros(n_arms, np.int64), np.empty(n_arms, np.int64)
    for p in range(n_arms):
        place[order[p]] = p
    floor, ceiling = limits[0], limits[1]
    for number in range(len(draws)):
        for _ in range(sweeps if number > 0 else 20 * sweeps):
            sweep_in_order(x, order, begins, ends, place, kinds, limits, room, stream)
        low, high = x[0], x[n_arms - 1]
        shift = floor - low + uniform(stream) * (ceiling - floor - (high - low))
        if uniform(stream) < 0.5:
            for p in range((n_arms + 1) // 2):
                q = n_arms - 1 - p
                x[p], x[q] = low + high - x[q], low + high - x[p]
                order[p], order[q] = order[q], order[p]
            for arm in range(n_arms):
                place[arm] = n_arms - 1 - place[arm]
                begins[arm], ends[arm] = n_arms - ends[arm], n_arms - begins[arm]
        for p in range(n_arms):
            x[p] += shift
        for at in range(len(kept)):
            draws[number, at] = x[place[kept[at]]]


@compiled
def _sweep(
    x: Array, floor: float, ceiling: float, relations: DrawnRelations, room: Array, y: Array, stream: Array
) -> None:
    """Move every arm, then every component. Scratch space: `room` for two numbers an arm, `y` for one."""
    for arm in range(len(x)):
        place = free_place(x, arm, floor, ceiling, relations, room, stream)
        if place == place:
            x[arm] = place
    n_components = len(relations.turns)
    if n_components > 1:
        nothing = RewardEvidence(np.zeros(0), np.zeros(0), False)
        move_components(x, y, n_components, floor, ceiling, relations, 0.0, nothing, stream)


@compiled
def draw_means(
    x: Array,
    floor: float,
    ceiling: float,
    relations: DrawnRelations,
    sweeps: int,
    kept: Array,
    draws: Array,
    stream: Array,
) -> None:
    """Fill the rows of `draws` with means of the arms `kept`, from means that satisfy all relations.

    `sweeps` lie between two draws, and twenty times as many before the first.
    """
    room, y, turns = np.empty(2 * len(x)), np.empty(len(x)), relations.turns.min() == 1
    for number in range(len(draws)):
        for _ in range(sweeps if number > 0 else 20 * sweeps):
            _sweep(x, floor, ceiling, relations, room, y, stream)
        low, high = x.min(), x.max()
        shift = floor - low + uniform(stream) * (ceiling - floor - (high - low))
        over = turns and uniform(stream) < 0.5
        for arm in range(len(x)):
            x[arm] = (low + high - x[arm] if over else x[arm]) + shift
        for at in range(len(kept)):
            draws[number, at] = x[kept[at]]


@compiled
def draw_width_too(
    x: Array, width: float, widest: float, relations: DrawnRelations, sweeps: int, draws: Array, stream: Array
) -> None:
    """Fill `draws` as `draw_means` does, where it is unknown how wide the box is that means lie in.

    All widths up to `widest` are alike before the relations are known. K means in a box of width w have the
    density ``w**-K``, so a box far wider than the relations need is unlikely. A new width is drawn
    after every sweep. If `widest` is finite, the box lies anywhere between 0 and that.
    """
    room, y, turns = np.empty(2 * len(x)), np.empty(len(x)), relations.turns.min() == 1
    for number in range(len(draws)):
        for _ in range(sweeps if number > 0 else 20 * sweeps):
            _sweep(x, 0.0, width, relations, room, y, stream)
            low, high = x.min(), x.max()
            width = width_around(high - low, len(x), widest, uniform(stream))
            shift = uniform(stream) * (width - (high - low)) - low
            for arm in range(len(x)):
                x[arm] += shift
        low, high = x.min(), x.max()
        over, floor = turns and uniform(stream) < 0.5, 0.0
        if widest < math.inf:
            floor = uniform(stream) * (widest - width)
        for arm in range(len(x)):
            draws[number, arm] = floor + (low + high - x[arm] if over else x[arm])


@compiled
def width_around(span: float, n_arms: int, widest: float, share: float) -> float:
    """Return a quantile of the width of the box, given how far apart the means in it are, of three at least.

    Its density is as ``(w - span) / w**K``: means may be anywhere in the box as a whole. So ``v = span / w``
    has a beta law with K - 2 and 2, cut off where w is `widest`.
    """
    least = span / widest
    low, high, below = least, 1.0, _beta_below(least, n_arms)
    target = below + share * (1.0 - below)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if _beta_below(middle, n_arms) < target:
            low = middle
        else:
            high = middle
    return min(span / max(high, _TINY), widest)


@inlined
def _beta_below(v: float, n_arms: int) -> float:
    """Return how probable it is that a beta number with the shapes K - 2 and 2 is below v."""
    return safe_pow(v, n_arms - 2.0) * (n_arms - 1.0 - (n_arms - 2.0) * v)
