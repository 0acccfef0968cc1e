"""How much memory is available, and what fits in it."""

from __future__ import annotations

from lsdt.kernel import available_memory, fits_in_memory
from lsdt.kernel.memory import memory_limit


def test_what_fits_in_a_share_of_the_memory():
    with memory_limit(1_000):
        assert available_memory() == 1_000
        assert fits_in_memory(499, 0.5)
        assert not fits_in_memory(500, 0.5)
    assert fits_in_memory(1_000, 1e-12)  # so little fits anywhere, and costs no look at the system
    assert not fits_in_memory(2.0**60, 0.5)
