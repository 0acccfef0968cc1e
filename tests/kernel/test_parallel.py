from __future__ import annotations

import numpy as np
import pytest

from lsdt.kernel import parallel


@pytest.mark.parametrize("cores", [1, 2, 7])
@pytest.mark.parametrize("n_items", [1, 1999, 2000, 2001, 12_345])
def test_blocks_cover_every_item_once(monkeypatch, cores, n_items):
    monkeypatch.setattr(parallel, "available_cores", lambda: cores)
    touched = np.zeros(n_items, int)

    def touch(first, last):
        touched[first:last] += 1

    parallel.over_blocks(touch, n_items)
    assert (touched == 1).all()


def test_an_error_in_a_block_is_not_lost():
    def fail(first, last):
        raise RuntimeError(f"block {first}")

    with pytest.raises(RuntimeError, match="block"):
        parallel.over_blocks(fail, 5000)
