"""The best m by definition: every order of dissimilar pairs and every choice of arms above tried, exactly."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np

from naive.graphs import closed_neighbours, components, is_proper_order
from naive.ranges import exact, has_room, table_of


def can_be_in_top(n_arms, bounds, dissimilar, epsilon, top):
    """The arms that some means leave at most `top` - 1 arms strictly above; empty for a contradiction."""
    apart = [(a, b, exact(epsilon)) for a, b in dissimilar]
    table, unit = table_of(n_arms, bounds, [size for *_, size in apart])
    choices = [
        some for size in range(min(top, n_arms)) for some in combinations(range(n_arms), size)
    ]  # arms that may lie above; all others must not
    found = set()
    for turned in product((False, True), repeat=len(apart)):
        ordered = table.copy()
        for (a, b, size), turn in zip(apart, turned, strict=True):
            low, high = (b, a) if turn else (a, b)  # x_low - x_high <= -size
            ordered[low, high] = min(ordered[low, high], -int(size * unit))
        if not has_room(ordered[None])[0]:
            continue
        for arm in set(range(n_arms)) - found:
            tables = np.tile(ordered, (len(choices), 1, 1))
            for tried, some in zip(tables, choices, strict=True):
                for other in set(range(n_arms)) - {arm, *some}:
                    tried[other, arm] = min(tried[other, arm], 0)
            if has_room(tables).any():
                found.add(arm)
    return found


def by_positions(n_arms, similar, top):
    """The arms with fewer than `top` others before them in some proper order, all orders tried."""
    found = set()
    for order in permutations(range(n_arms)):
        if is_proper_order(order, n_arms, similar):
            found |= set(order[:top])
    return found


def stands_inside(relations, arm, top):
    """Whether the arms of a proof, all of whose pairs are listed, put `top` of them on each side of an arm.

    Similar pairs must join them, and some order must be proper: then there is no other, up to reversal and
    the exchange of arms with equal closed neighbourhoods.
    """
    names = sorted({name for a, b, _ in relations for name in (a, b)})
    number = {name: at for at, name in enumerate(names)}
    pairs = {frozenset((number[a], number[b])): word for a, b, word in relations}
    if len(pairs) != len(names) * (len(names) - 1) // 2 or arm not in number:
        return False
    similar = {pair for pair, word in pairs.items() if word == "similar"}
    if len(list(components(len(names), similar))) > 1:
        return False
    closed = [frozenset(closed_neighbours(len(names), similar, at)) for at in range(len(names))]
    order = _swept(len(names), closed)
    if not is_proper_order(order, len(names), similar):
        return False
    own = [at for at, one in enumerate(order) if closed[one] == closed[number[arm]]]
    return own[0] >= top and len(names) - 1 - own[-1] >= top


def _swept(n_arms, closed):
    """An order by hops from an end; of the same hops, by neighbours nearer to it, then by those beyond."""
    hops = _hops(closed, 0)
    last = [one for one in hops if hops[one] == max(hops.values())]
    hops = _hops(closed, min(last, key=lambda one: len(closed[one])))

    def reach(one):
        nearer = sum(hops[other] < hops[one] for other in closed[one])
        beyond = sum(hops[other] > hops[one] for other in closed[one])
        return hops[one], -nearer, beyond

    return sorted(range(n_arms), key=reach)


def _hops(closed, start):
    hops, waiting = {start: 0}, [start]
    for one in waiting:
        for other in sorted(closed[one]):
            if other not in hops:
                hops[other] = hops[one] + 1
                waiting.append(other)
    return hops
