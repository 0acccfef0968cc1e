"""The domination number of a small graph: the fewest arms such that every arm is one or is similar to one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsdt.side_information import SideInformation


def domination_number(side: SideInformation) -> int:
    """Return the size of a smallest dominating set of the similar pairs.

    Branch and bound over sets of arms as bits of an integer, one component after another; exponential in
    the worst case, and quick for the few dozen arms that an elimination leaves.

    Examples
    --------
    >>> import lsdt
    >>> from lsdt.reproduce.theorems.dominating_sets import domination_number
    >>> domination_number(lsdt.SideInformation(5, similar=[(0, 1), (1, 2), (2, 3), (3, 4)]))
    2
    """
    closed = [1 << arm for arm in range(side.n_arms)]
    for first, second in side.similar_pairs().tolist():
        closed[first] |= 1 << second
        closed[second] |= 1 << first
    total, left = 0, (1 << side.n_arms) - 1
    while left:
        component = _component(closed, left & -left)
        total += _fewest(closed, component, 0, component.bit_count())
        left &= ~component
    return total


def _component(closed: list[int], start: int) -> int:
    """Return all arms that can be reached from `start`."""
    found, news = start, start
    while news:
        arm = (news & -news).bit_length() - 1
        news = (news | (closed[arm] & ~found)) & ~(1 << arm)
        found |= closed[arm]
    return found


def _fewest(closed: list[int], uncovered: int, used: int, best: int) -> int:
    """Return the fewest arms in all, `used` of them chosen already, or `best` if it cannot be beaten."""
    if not uncovered:
        return min(used, best)
    most = max((cover & uncovered).bit_count() for cover in closed)
    if used - (-uncovered.bit_count() // most) >= best:
        return best
    # One of the neighbours of every arm must be chosen: branch where there are fewest of them.
    arm = min(_members(uncovered), key=lambda member: closed[member].bit_count())
    choices = sorted(_members(closed[arm]), key=lambda choice: -(closed[choice] & uncovered).bit_count())
    for choice in choices:
        best = _fewest(closed, uncovered & ~closed[choice], used + 1, best)
    return best


def _members(arms: int) -> list[int]:
    return [arm for arm in range(arms.bit_length()) if arms >> arm & 1]
