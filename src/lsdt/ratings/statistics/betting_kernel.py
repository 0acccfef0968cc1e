"""Compiled side of `betting`: the wealth of bets against items, user by user."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, safe_log

# Fractions stay below .99, so a product of this many factors lies between 1e-128 and 2e19. Taking a logarithm
# once for this many users costs nothing.
_AT_A_TIME = 64


@compiled
def add_bets(
    rows: tuple[Array, Array, Array],
    begins: Array,
    rivals: Array,
    fractions: Array,
    found: tuple[Array, Array],
) -> None:
    """Add the logarithms of the wealth of all bets, over the users who rated both items of a pair.

    The rivals of item i are ``rivals[begins[i]:begins[i + 1]]``. `found` has a row per pair: the logarithms
    of wealth with a column per fraction, and the number of users.
    """
    starts, items, ratings = rows
    log_wealth, raters = found
    n_items = len(begins) - 1
    wealth = np.ones(log_wealth.shape)
    rating_of, rated_by = np.zeros(n_items), np.full(n_items, -1)
    for user in range(len(starts) - 1):
        for at in range(starts[user], starts[user + 1]):
            rating_of[items[at]] = ratings[at]
            rated_by[items[at]] = user
        for at in range(starts[user], starts[user + 1]):
            item = items[at]
            for pair in range(begins[item], begins[item + 1]):
                if rated_by[rivals[pair]] == user:
                    lead = ratings[at] - rating_of[rivals[pair]]
                    for bet in range(len(fractions)):
                        wealth[pair, bet] *= 1.0 - fractions[bet] * lead
                    raters[pair] += 1
                    if raters[pair] % _AT_A_TIME == 0:
                        for bet in range(len(fractions)):
                            log_wealth[pair, bet] += safe_log(wealth[pair, bet])
                            wealth[pair, bet] = 1.0
    for pair in range(len(rivals)):
        for bet in range(len(fractions)):
            log_wealth[pair, bet] += safe_log(wealth[pair, bet])
