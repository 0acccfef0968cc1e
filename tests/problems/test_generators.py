from __future__ import annotations

import numpy as np
import pytest

from lsdt.kernel.random import Purpose, seed_words
from lsdt.problems.generators import problem_generator


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**70])
@pytest.mark.parametrize("replication", [0, 1, 255, 256, 2**32 - 1, 2**33])
def test_the_generator_that_numpy_would_begin(seed, replication):
    ours = problem_generator(seed, replication)
    numpys = np.random.default_rng(seed_words(seed, replication, int(Purpose.PROBLEM)))
    assert ours.bit_generator.state == numpys.bit_generator.state
    np.testing.assert_array_equal(ours.uniform(0.1, 1.0, 5), numpys.uniform(0.1, 1.0, 5))
    assert ours.integers(2**63) == numpys.integers(2**63)
    ours.integers(10, dtype=np.uint32)  # leaves half a word behind
    assert problem_generator(seed, replication).bit_generator.state["has_uint32"] == 0
