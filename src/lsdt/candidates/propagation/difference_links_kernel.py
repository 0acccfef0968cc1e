"""Compiled side of `difference_links`: least bounds along links, and cycles of links."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled


@compiled
def visiting_order(first: Array, end: Array) -> Array:
    """Return the arms in an order that follows the links, as far as these allow one (reverse postorder).

    The links of arm i lead to ``end[first[i]:first[i + 1]]``.
    """
    n_arms = len(first) - 1
    order = np.empty(n_arms, np.int64)
    seen = np.zeros(n_arms, np.bool_)
    path, cursor = np.empty(n_arms, np.int64), np.empty(n_arms, np.int64)
    left = n_arms
    for root in range(n_arms):
        if seen[root]:
            continue
        seen[root] = True
        path[0], cursor[0], depth = root, first[root], 0
        while depth >= 0:
            arm, at = path[depth], cursor[depth]
            if at < first[arm + 1]:
                cursor[depth] = at + 1
                other = end[at]
                if not seen[other]:
                    seen[other] = True
                    depth += 1
                    path[depth], cursor[depth] = other, first[other]
            else:
                left -= 1
                order[left] = arm
                depth -= 1
    return order


@compiled
def lower_levels(
    first: Array,
    end: Array,
    bounds: Array,
    strict: Array,
    order: Array,
    has_fallen: Array,
    level: Array,
    n_strict: Array,
    last: Array,
) -> int:
    """Relax once every link from an arm that has fallen, arms in `order`; return how many times one fell.

    Of two equal levels, the one with more strict links is lower.
    """
    count = 0
    for arm in order:
        if not has_fallen[arm]:
            continue
        has_fallen[arm] = False
        for at in range(first[arm], first[arm + 1]):
            other = end[at]
            through, through_strict = level[arm] + bounds[at], n_strict[arm] + strict[at]
            if through < level[other] or (through == level[other] and through_strict > n_strict[other]):
                level[other], n_strict[other], last[other] = through, through_strict, at
                has_fallen[other] = True
                count += 1
    return count


@compiled
def arm_in_circle(start: Array, last: Array) -> int:
    """Return an arm on a cycle of last links, or -1 if there is none."""
    n_arms = len(last)
    seen_from = np.full(n_arms, -1)
    for root in range(n_arms):
        arm = root
        while arm >= 0 and seen_from[arm] < 0:
            seen_from[arm] = root
            arm = start[last[arm]] if last[arm] >= 0 else -1
        if arm >= 0 and seen_from[arm] == root:
            return int(arm)
    return -1
