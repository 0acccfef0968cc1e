"""Random samples and halves of users, by arithmetic that every engine has.

The coin of user k, in the order of ids, is a polynomial of degree 3 in k modulo the prime p = 2^31 - 1, with
coefficients drawn from a seed (Carter and Wegman 1979): any four users' coins are independent and uniform.
Products stay below 2^63, so 64-bit integers are enough, in memory and in SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import TooLarge

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRIME = 2**31 - 1  # the largest Mersenne prime whose products fit in 64 bits


class UserCoins:
    """Coins of users ``0 .. n_users - 1``, from 0 to p - 1.

    Examples
    --------
    >>> from lsdt.ratings.engines.user_hash import UserCoins
    >>> coins = UserCoins(n_users=10, seed=3)
    >>> len(coins.lowest(4)), bool((coins.of(coins.lowest(4)) < coins.limit(4)).all())
    (4, True)
    """

    def __init__(self, n_users: int, seed: int) -> None:
        if n_users >= PRIME:
            raise TooLarge(f"users are dealt out by 31 bits, which tell {PRIME:,} apart; got {n_users:,}")
        self.n_users = n_users
        drawn = np.random.default_rng((seed, n_users)).integers(1, PRIME, 4)
        self._coefficients = [int(number) for number in drawn]

    def of(self, users: Any) -> Any:
        """Return the coins of users: an array of int64, or a column of an engine."""
        coins = users * 0 + self._coefficients[0]
        for coefficient in self._coefficients[1:]:
            coins = (coins * users + coefficient) % PRIME
        return coins

    def limit(self, most: int) -> int:
        """Return the largest limit with at most `most` coins below it."""
        if most >= self.n_users:
            return PRIME
        coins = self.of(np.arange(self.n_users, dtype=np.int64))
        return int(np.partition(coins, most)[most])

    def lowest(self, most: int) -> NDArray[np.int64]:
        """Return the users with the lowest coins, ascending; at most `most` of them."""
        users = np.arange(self.n_users, dtype=np.int64)
        chosen: NDArray[np.int64] = users[self.of(users) < self.limit(most)]
        return chosen
