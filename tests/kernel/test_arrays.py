from __future__ import annotations

import numpy as np
import pytest

from lsdt.kernel.arrays import add_multiple, ascending
from lsdt.kernel.jit import compiled_for


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 64, 100])
def test_ascending_is_a_stable_sort(size):
    rng = np.random.default_rng(size)
    for most in (1, 3, 1_000):
        keys = rng.integers(-most, most, size)
        assert ascending(keys).tolist() == np.argsort(keys, kind="stable").tolist()


def test_multiples_are_added_to_rows_with_the_same_bits_in_both_tiers(always_compiled):
    @compiled_for(int, lambda: None)
    def add_all(table, rows, source, factors):
        for number in range(len(rows)):
            add_multiple(table, rows[number], source, number * table.shape[1], factors[number])

    rng = np.random.default_rng(0)
    table, source = rng.random((3, 7)), rng.normal(size=35)
    rows, factors = np.array([2, 0, 2, 1, 2]), rng.random(5)
    expected, interpreted = table.copy(), table.copy()
    for number, row in enumerate(rows.tolist()):
        for column in range(7):
            expected[row, column] += factors[number] * source[7 * number + column]
    add_all.py_func(interpreted, rows, source, factors)
    add_all(table, rows, source, factors)
    assert np.array_equal(interpreted, expected)
    assert np.array_equal(table, expected)
