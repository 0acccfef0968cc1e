from __future__ import annotations

import numba
import numpy as np
from hypothesis import given, strategies as st

from lsdt.kernel.random import coin_key, coin_threshold, pair_coin
from naive.coins import coin

ARMS = st.integers(0, 2**31 - 2)


@numba.njit
def toss(key, arm_a, arm_b):
    return pair_coin(key, arm_a, arm_b)


@given(st.integers(0, 2**64), st.integers(0, 3), ARMS, ARMS)
def test_compiled_coin_equals_plain_python(seed, purpose, arm_a, arm_b):
    key = coin_key(seed, purpose)
    assert toss(key, arm_a, arm_b) == coin(seed, purpose, arm_a, arm_b)
    assert toss(key, arm_a, arm_b) == toss(key, arm_b, arm_a)


def test_thresholds_at_the_ends():
    assert coin_threshold(0.0) == 0
    assert coin_threshold(1.0) == 2**53
    assert coin_threshold(0.5) == 2**52


def test_every_bit_is_fair_and_seeds_are_unrelated():
    """20,000 coins: each bit within five standard errors of a half, for two seeds and their difference."""
    first, second = (coin_key(seed, 0) for seed in (0, 1))
    coins = np.array(
        [[toss(key, a, a + 1 + b) for key in (first, second)] for a in range(200) for b in range(100)]
    )
    for values in (coins[:, 0], coins[:, 1], coins[:, 0] ^ coins[:, 1]):
        for bit in range(53):
            share = ((values >> bit) & 1).mean()
            assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(len(values))
