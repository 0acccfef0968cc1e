"""Compiled side of :mod:`lsdt.candidates.complete.gap_bounds`."""

from __future__ import annotations

from lsdt.kernel import Array, compiled


@compiled
def relax_along(right_end: Array, unit: int, lower: Array, upper: Array) -> None:
    """Tighten the bounds `lower` and `upper` on depths in place, until nothing changes; depths never fall.

    The last arm similar to place p is at ``right_end[p] - 1``. It lies less than a unit below p, the next
    one a unit or more.
    """
    n_arms = len(right_end)
    changed = True
    while changed:
        changed = False
        for place in range(n_arms):
            last, after = right_end[place] - 1, right_end[place]
            if upper[last] > upper[place] + unit - 1:
                upper[last] = upper[place] + unit - 1
                changed = True
            if place + 1 < n_arms and lower[place + 1] < lower[place]:
                lower[place + 1] = lower[place]
                changed = True
            if after < n_arms and lower[after] < lower[place] + unit:
                lower[after] = lower[place] + unit
                changed = True
        for place in range(n_arms - 1, -1, -1):
            last, after = right_end[place] - 1, right_end[place]
            if place + 1 < n_arms and upper[place] > upper[place + 1]:
                upper[place] = upper[place + 1]
                changed = True
            if after < n_arms and upper[place] > upper[after] - unit:
                upper[place] = upper[after] - unit
                changed = True
            if lower[place] < lower[last] - (unit - 1):
                lower[place] = lower[last] - (unit - 1)
                changed = True
