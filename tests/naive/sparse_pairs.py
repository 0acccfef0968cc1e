"""Compared pairs in plain Python: one at a time, all arms looked through for those that are near."""

from __future__ import annotations

from naive.coins import coin


def draw_pairs(means, n_pairs, locality, reach, seed):
    """Return the pairs as a list of tuples."""
    n_arms = len(means)
    ascending = sorted(range(n_arms), key=lambda arm: (means[arm], arm))
    pairs = []
    for number in range(n_pairs):
        arm = number * n_arms // n_pairs
        near = [other for other in ascending if means[arm] - reach <= means[other] <= means[arm] + reach]
        is_near = coin(seed, 17, 0, number) / 2**53 < locality
        others = [other for other in (near if is_near and len(near) > 1 else ascending) if other != arm]
        pairs.append((arm, others[int(coin(seed, 18, 0, number) / 2**53 * len(others))]))
    return pairs
