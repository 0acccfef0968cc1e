"""Compiled side of `near_points`: one sweep finds the pairs of points that are near each other."""

from __future__ import annotations

import numpy as np

from lsdt.kernel import Array, compiled, copy_table

TILE = 128  # points that are compared with one point together, in vector instructions
_FEW = TILE // 32  # when so few are left, they are finished one by one


@compiled
def near_in_rows(
    columns: Array, arms: Array, ends: Array, per_radius: float, power: int, first: int, last: int
) -> Array:
    """Return the near pairs ``(a, b)``, a < b, whose earlier point is at the positions first .. last - 1.

    ``columns[f, p]`` is coordinate f of the point at position p of the sweep, ``arms[p]`` is its arm, and no
    point at or after ``ends[p]`` is near it. A distance only grows with every coordinate that is
    added to it, even in floats, so a pair is dropped as soon as its distance reaches the radius. `power` is
    1, 2, or 0 for the largest coordinate.
    """
    pairs, found = np.empty((256, 2), np.int32), 0
    apart, near = np.empty(TILE), np.empty(TILE + 1, np.int64)
    for here in range(first, last):
        for start in range(here + 1, ends[here], TILE):
            stop = min(start + TILE, ends[here])
            feature, left = 0, stop - start
            apart[:] = 0.0
            while left > _FEW and feature < len(columns):
                left = _add(columns[feature, start:stop], columns[feature, here], per_radius, power, apart)
                feature += 1
            if left == 0:
                continue
            _list_near(apart, stop - start, near)
            for at in near[:left]:
                there = start + at
                if _still_near(columns, here, there, feature, apart[at], per_radius, power):
                    if found == len(pairs):
                        pairs = _twice_as_long(pairs)
                    pairs[found, 0] = min(arms[here], arms[there])
                    pairs[found, 1] = max(arms[here], arms[there])
                    found += 1
    return pairs[:found].copy()


@compiled
def _add(coordinates: Array, here: float, per_radius: float, power: int, apart: Array) -> int:
    """Add one coordinate to the distances of a tile; return how many are still below the radius."""
    left = 0
    if power == 2:
        for at in range(len(coordinates)):
            step = (coordinates[at] - here) * per_radius
            apart[at] += step * step
            left += apart[at] < 1.0
    elif power == 1:
        for at in range(len(coordinates)):
            apart[at] += abs(coordinates[at] - here) * per_radius
            left += apart[at] < 1.0
    else:
        for at in range(len(coordinates)):
            step = abs(coordinates[at] - here) * per_radius
            apart[at] = step if step > apart[at] else apart[at]
            left += apart[at] < 1.0
    return left


@compiled
def _list_near(apart: Array, size: int, near: Array) -> None:
    """Write the places of the distances below the radius, without a branch; the last entry is scratch."""
    written = 0
    for at in range(size):
        near[written] = at
        written += apart[at] < 1.0


@compiled
def _still_near(
    columns: Array, here: int, there: int, feature: int, apart: float, per_radius: float, power: int
) -> bool:
    """Add the coordinates from `feature` on to the distance of one pair; say whether it is near."""
    for later in range(feature, len(columns)):
        step = abs(columns[later, there] - columns[later, here]) * per_radius
        if power == 2:
            apart += step * step
        elif power == 1:
            apart += step
        else:
            apart = max(apart, step)
        if not apart < 1.0:
            return False
    return True


@compiled
def _twice_as_long(pairs: Array) -> Array:
    longer = np.empty((2 * len(pairs), 2), np.int32)
    copy_table(longer, pairs)
    return longer


@compiled
def sweep_ends(coordinates: Array, per_radius: float) -> Array:
    """Return for every point the first later one a radius or more further along this ascending coordinate."""
    n_points = len(coordinates)
    ends = np.empty(n_points, np.int64)
    end = 0
    for here in range(n_points):
        while end < n_points and (coordinates[end] - coordinates[here]) * per_radius < 1.0:
            end += 1
        ends[here] = end
    return ends
