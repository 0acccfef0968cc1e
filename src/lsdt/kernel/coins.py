"""A coin for every pair of arms, tossed by hashing: nothing is stored, and (i, j) and (j, i) are one pair.

The coin of the pair {i, j} under a key is output number ``(min << 32) + max`` of the SplitMix64 generator
that starts at the key (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
A coin with probability p falls on yes when the upper 53 bits of that output are below ``p * 2**53``, so a
larger p says yes wherever a smaller p did.
"""

from __future__ import annotations

import math

import numpy as np

from lsdt.kernel.jit import inlined

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_30 = np.uint64(30)
_SHIFT_27 = np.uint64(27)
_SHIFT_31 = np.uint64(31)
_SHIFT_32 = np.uint64(32)
_SHIFT_11 = np.uint64(11)


def coin_key(seed: int, purpose: int) -> np.uint64:
    """Return the key of a family of coins; different purposes of one seed are unrelated."""
    return np.uint64(np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)[0])


def coin_threshold(probability: float) -> int:
    """Return the threshold that :func:`pair_coin` compares with: 0 for never, 2**53 for always."""
    return math.ceil(probability * 2.0**53)


@inlined
def pair_coin(key: np.uint64, arm_a: int, arm_b: int) -> int:
    """Return the coin of an unordered pair as an integer that is uniform on 0 .. 2**53 - 1."""
    low = np.uint64(min(arm_a, arm_b))
    high = np.uint64(max(arm_a, arm_b))
    state = key + ((low << _SHIFT_32) + high) * _GOLDEN
    state = (state ^ (state >> _SHIFT_30)) * _MIX_1
    state = (state ^ (state >> _SHIFT_27)) * _MIX_2
    state = state ^ (state >> _SHIFT_31)
    return np.int64(state >> _SHIFT_11)  # type: ignore[return-value]
