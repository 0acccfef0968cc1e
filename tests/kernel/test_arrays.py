from __future__ import annotations

import numpy as np
import pytest

from lsdt.kernel.arrays import ascending


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 64, 100])
def test_ascending_is_a_stable_sort(size):
    rng = np.random.default_rng(size)
    for most in (1, 3, 1_000):
        keys = rng.integers(-most, most, size)
        assert ascending(keys).tolist() == np.argsort(keys, kind="stable").tolist()
