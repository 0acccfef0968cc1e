"""Ranges together with similar and dissimilar pairs, in whole steps.

All lengths are whole numbers of one quantum (see `difference_links`), and `unit` steps make a quantum, as in
`lsdt.side_information.layouts.integer_steps`. Less than n quanta is at most ``n * unit - 1`` steps, a closed
end of n quanta is ``n * unit`` steps, and a better pair, which is strict, differs by at least one step. As
there, a cycle of links adds up to less than 0 steps exactly when the links contradict one another: closed
ends lose no step. Here the unit is a power of two, so that steps convert to floats without rounding.

If the epsilon of similar or dissimilar pairs is not known, they cannot be compared with the size of a range.
Then only the direction of ranges is used: one that lies above 0 is a better pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsdt.candidates.propagation.difference_links import quanta_of
from lsdt.candidates.propagation.method_kernel import FAR
from lsdt.side_information import at_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.side_information import Adjacency, SideInformation

    Wholes = NDArray[np.int64]

_SPARE = 8  # this many sums along all arms can be added up without overflow


class LinkRows(NamedTuple):
    """Ends of ranges as links between arms: ``x_end - x_start <= steps``, x being the depth.

    The links of arm a are at ``starts[a]:starts[a + 1]``.
    """

    starts: Wholes
    ends: Wholes
    steps: Wholes


class RangeSteps(NamedTuple):
    """Relations in steps, as in `integer_steps`, and ranges.

    Attributes
    ----------
    similar, dissimilar : ndarray of int64
        One number per entry of the rows, or one for all of them.
    forward, backward : ndarray of int64
        For every range: how much deeper its second arm may be than the first, and the first than the second;
        `FAR` where that is open.
    unit, size, exact
        Steps to a quantum, its length in rewards, and whether nothing was rounded.
    """

    similar: Wholes
    dissimilar: Wholes
    forward: Wholes
    backward: Wholes
    unit: int
    size: float
    exact: bool


def has_one_unit(side: SideInformation) -> bool:
    """Return whether distances and ranges can be compared: without epsilon, distances have no size."""
    if side.has_epsilon or side.ranges is None or not side.ranges.has_size:
        return True
    return not (side.n_similar or side.n_dissimilar)


def range_steps(side: SideInformation) -> RangeSteps:
    """Return the relations of side information with ranges in steps.

    Examples
    --------
    >>> import lsdt
    >>> known = {"better": [(0, 1)], "ranges": [(0, 2, None, .3)]}
    >>> side = lsdt.SideInformation(3, similar=[(0, 1)], dissimilar=[(1, 2)], epsilon=.2, **known)
    >>> steps = range_steps(side)
    >>> steps.unit, steps.size, steps.similar.tolist(), steps.dissimilar.tolist()
    (4, 0.1, [7], [8])
    >>> steps.forward.tolist(), steps.backward[0].tolist()
    ([1152921504606846976, 12], -1)
    """
    ranges = side.ranges
    assert ranges is not None
    unit = 1 << int(side.n_arms).bit_length()
    low, high = ranges.low, ranges.high
    strict_low, strict_high = ranges.strict_low, ranges.strict_high
    if not has_one_unit(side):
        # Only the sign is used: a low end above 0 means better, one at 0 stays, one below 0 says nothing.
        strict_low, strict_high = strict_low | (low > 0.0), strict_high | (high < 0.0)
        low, high = np.where(low >= 0.0, 0.0, -np.inf), np.where(high <= 0.0, 0.0, np.inf)
    near, far = side.limits
    parts = [near, -far, np.where(np.isfinite(high), high, 0.0), np.where(np.isfinite(low), -low, 0.0)]
    quanta = quanta_of(np.concatenate(parts), _SPARE * (side.n_arms + 1) * unit, np.concatenate([near, far]))
    similar, dissimilar, above, below = np.split(quanta.bounds, np.cumsum([len(part) for part in parts])[:-1])
    # The second arm can be as much deeper than the first as its mean can be smaller.
    forward = np.where(np.isfinite(high), above * unit - strict_high, FAR)
    backward = np.where(np.isfinite(low), below * unit - strict_low, FAR)
    return RangeSteps(
        np.maximum(similar, 1) * unit - 1,
        -dissimilar * unit,
        forward,
        backward,
        unit,
        quanta.size,
        quanta.exact,
    )


def link_rows(n_arms: int, pairs: NDArray[np.int32], steps: RangeSteps) -> LinkRows:
    """Return the finite ends of ranges as links."""
    first, second = pairs.astype(np.int64).T
    ahead, back = steps.forward < FAR, steps.backward < FAR
    start, end = np.concatenate([first[ahead], second[back]]), np.concatenate([second[ahead], first[back]])
    order = np.lexsort((end, start))
    weight = np.concatenate([steps.forward[ahead], steps.backward[back]])
    return LinkRows(np.searchsorted(start[order], np.arange(n_arms + 1)), end[order], weight[order])


def joint_rows(
    similar: Adjacency, dissimilar: Adjacency, pairs: NDArray[np.int32], steps: RangeSteps
) -> tuple[Wholes, NDArray[np.int32], Wholes, Wholes]:
    """Return similar pairs and ranges as rows with steps in both directions; see `Constraints`.

    If its range leaves a dissimilar pair only one order, the pair has that order, which tightens a bound.
    """
    n_arms = len(similar.indptr) - 1
    first, second = pairs.astype(np.int64).T
    keys, there = first * n_arms + second, second * n_arms + first
    apart = at_pairs(dissimilar, steps.dissimilar, pairs, -FAR)  # below every bound where there is none
    forward, backward = ordered_steps(steps.forward, steps.backward, apart)
    near = np.repeat(np.arange(n_arms, dtype=np.int64), np.diff(similar.indptr)) * n_arms + similar.indices
    every, place = np.unique(np.concatenate([near, keys, there]), return_inverse=True)
    joint = np.full(len(every), FAR)
    values = np.broadcast_to(steps.similar, len(near)) if len(steps.similar) == 1 else steps.similar
    np.minimum.at(joint, place, np.concatenate([values, forward, backward]))
    start, end = np.divmod(every, n_arms)
    back = joint[np.searchsorted(every, end * n_arms + start)]
    return np.searchsorted(start, np.arange(n_arms + 1)), end.astype(np.int32), joint, back


def ordered_steps(forward: Wholes, backward: Wholes, apart: Wholes) -> tuple[Wholes, Wholes]:
    """Return bounds on differences, tightened where they leave one order of a pair at least `apart`."""
    return (
        np.where(forward < apart, np.minimum(forward, -apart), forward),
        np.where(backward < apart, np.minimum(backward, -apart), backward),
    )
