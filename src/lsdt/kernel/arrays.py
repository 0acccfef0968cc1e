"""Copies, sorting and the least of a row in compiled code.

``target[:] = source`` takes seconds to compile: it brings along the text of an error for shapes that do not
fit, and with it half of Python's strings. `np.argsort` takes two seconds, ``row.min()`` half a one.
"""

from __future__ import annotations

import numpy as np

from lsdt.kernel.jit import Array, compiled, inlined, interpreted_as


@inlined
def copy_into(target: Array, source: Array) -> None:
    """Put the entries of a list of numbers at the beginning of another."""
    for place in range(len(source)):
        target[place] = source[place]


@inlined
def copy_table(target: Array, source: Array) -> None:
    """Put the entries of a table in those of another of the same shape."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]


def _add_multiple_plain(table: Array, row: int, source: Array, first: int, factor: float) -> None:
    table[row] += factor * source[first : first + table.shape[1]]


@interpreted_as(_add_multiple_plain)
def add_multiple(table: Array, row: int, source: Array, first: int, factor: float) -> None:
    """Add a multiple of the entries from place `first` of a list on to a row of a table."""
    at, place = np.uint64(row), np.uint64(first)  # unsigned: not checked whether they count from the end
    for column in range(np.uint64(table.shape[1])):
        table[at, column] += factor * source[place + column]


@inlined
def least_of(table: Array, row: int) -> int:
    """Return the least entry of a row."""
    least = table[row, 0]
    for column in range(1, table.shape[1]):
        least = min(least, table[row, column])
    return least


@compiled
def ascending(keys: Array) -> Array:
    """Return the places of numbers in ascending order, equal ones as they come: a merge sort."""
    n_keys = len(keys)
    order, other = np.empty(n_keys, np.int64), np.empty(n_keys, np.int64)
    for place in range(n_keys):
        order[place] = place
    width = 1
    while width < n_keys:
        for first in range(0, n_keys, 2 * width):
            middle, last = min(first + width, n_keys), min(first + 2 * width, n_keys)
            left, right = first, middle
            for place in range(first, last):
                if left < middle and (right == last or keys[order[left]] <= keys[order[right]]):
                    other[place] = order[left]
                    left += 1
                else:
                    other[place] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order
