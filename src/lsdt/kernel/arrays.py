"""Copies between arrays in compiled code.

``target[:] = source`` takes seconds to compile: it brings along the text of an error for shapes that do not
fit, and with it half of Python's strings.
"""

from __future__ import annotations

from lsdt.kernel.jit import Array, inlined


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
