"""The coin of a pair in plain Python integers."""

from __future__ import annotations

import numpy as np

_MASK = 2**64 - 1


def coin(seed, purpose, arm_a, arm_b):
    """Uniform on 0 .. 2**53 - 1."""
    key = int(np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)[0])
    low, high = sorted((arm_a, arm_b))
    state = (key + ((low << 32) + high) * 0x9E3779B97F4A7C15) & _MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return (state ^ (state >> 31)) >> 11
