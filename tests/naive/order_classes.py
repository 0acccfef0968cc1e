"""Deep arms, found by trying every order of the arms on a line."""

from __future__ import annotations

from itertools import permutations


def deep_arms(n_arms, similar, dissimilar):
    """Return arms that have dissimilar arms on both sides in every order that fits the relations.

    An order from left to right fits when no arm stands between two similar arms and is dissimilar to both of
    them in a way that no distances allow: an arm between two similar ones is similar to both.
    """
    near, far = {frozenset(pair) for pair in similar}, {frozenset(pair) for pair in dissimilar}
    always = set(range(n_arms))
    for order in permutations(range(n_arms)):
        place = {arm: number for number, arm in enumerate(order)}
        if any(_is_wide(pair, far, place) for pair in near):
            continue
        always &= {
            arm
            for arm in range(n_arms)
            if any(frozenset((arm, other)) in far and place[other] < place[arm] for other in place)
            and any(frozenset((arm, other)) in far and place[other] > place[arm] for other in place)
        }
    return always


def _is_wide(pair, far, place):
    """Return whether a dissimilar pair stands within the span of a similar one."""
    low, high = sorted(place[arm] for arm in pair)
    return any(
        low <= min(place[arm] for arm in other) and max(place[arm] for arm in other) <= high for other in far
    )
