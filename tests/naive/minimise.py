"""All the smallest proofs there are, found by trying every set of things."""

from __future__ import annotations

from itertools import combinations


def minimal_proofs(things, is_proof):
    """Return the sets of things that are a proof while no smaller part of them is one."""
    found = []
    for size in range(len(things) + 1):
        for chosen in map(frozenset, combinations(things, size)):
            if is_proof(chosen) and not any(smaller < chosen for smaller in found):
                found.append(chosen)
    return found


def one_at_a_time(things, is_proof):
    """Leave things out one by one, the first first, while the others are a proof."""
    kept = list(things)
    for thing in list(things):
        others = [other for other in kept if other != thing]
        if is_proof(frozenset(others)):
            kept = others
    return kept
