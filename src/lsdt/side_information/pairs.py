"""Pairs of arms as users give them, checked and turned into index arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lsdt.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information.arms import ArmNames


_LOOKED_AT = 1_000  # pairs that are searched for true and false, which numpy takes for 1 and 0


def index_pairs(pairs: Any, names: ArmNames, relation: str) -> NDArray[np.integer[Any]]:
    """Return ``(m, 2)`` indices of the pairs of one relation; errors name the pair and the arm."""
    indices = names.indices(_two_columns(pairs, relation), relation)
    same = indices[:, 0] == indices[:, 1]
    if same.any():
        row = int(np.argmax(same))
        arm = names.label(int(indices[row, 0]))
        raise InvalidInput(
            f"{relation} pair number {row} joins arm {arm!r} to itself; a relation needs two different arms"
        )
    return indices


def _two_columns(pairs: Any, relation: str) -> NDArray[Any]:
    """Return the pairs as an ``(m, 2)`` array of ints, or of objects when they are ids."""
    if hasattr(pairs, "columns"):
        raise InvalidInput(f"{relation} must be a list of pairs; for a dataframe use lsdt.from_frame")
    if not isinstance(pairs, np.ndarray):
        pairs = _array_of_rows(pairs, relation)
    if pairs.size == 0:
        return np.zeros((0, 2), np.int32)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidInput(f"{relation} must have two columns, one pair a row; got shape {pairs.shape}")
    if pairs.dtype.kind in "iu":
        return np.asarray(pairs)
    if pairs.dtype.kind not in "OUT":
        raise InvalidInput(f"{relation} must hold arm numbers or ids; got an array of {pairs.dtype}")
    return np.asarray(pairs, object)


def _array_of_rows(pairs: Any, relation: str) -> NDArray[Any]:
    try:
        rows = list(pairs)
    except TypeError:
        raise InvalidInput(f"{relation} must be a list of pairs of arms; got {pairs!r}") from None
    try:
        array = np.array(rows)
    except (ValueError, OverflowError):  # rows of different lengths, or a number beyond 64 bits
        array = np.zeros(0)
    if array.dtype.kind in "iu" and array.ndim == 2 and array.shape[1] == 2:
        flags = any(isinstance(arm, (bool, np.bool_)) for pair in rows[:_LOOKED_AT] for arm in pair)
        if not flags:
            return array
    for row, pair in enumerate(rows):
        if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise InvalidInput(f"{relation} pair number {row} must be two arms; got {pair!r}")
    objects = np.empty((len(rows), 2), object)
    for row, pair in enumerate(rows):
        objects[row] = tuple(pair)
    return objects
