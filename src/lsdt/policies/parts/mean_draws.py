"""Mean vectors that satisfy all relations, drawn at random before the first round.

Bounds on gaps say what cannot be; draws say what is likely: of all means that the relations allow, in how
many is an arm the best, and in how many of these are the rewards seen what one would expect? Rewards in
[0, 1] have their means there. Means of other rewards lie in an interval as wide as it would have to be for
as many pairs to be similar as are; where it begins does not matter to those who use the draws.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lsdt.candidates import ForbiddenSubgraph, recognise
from lsdt.kernel import SymmetricGraph, evenly_spread, new_stream
from lsdt.policies.parts.mean_draws_kernel import (
    DrawnRelations,
    all_broken,
    draw_in_order,
    draw_means,
    repair,
)
from lsdt.policies.parts.mean_draws_rows import MOST_ROWS, draw_side_by_side
from lsdt.side_information import subset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lsdt.candidates import CandidateSet
    from lsdt.side_information import SideInformation

    Floats = NDArray[np.float64]

N_DRAWS = 500  # shares read off are right to some .02
MOST_CANDIDATES = 1_000  # draws and bounds of more would fill memory, and take seconds to make
_MOST_ARMS = 400  # that are drawn, unless there are more candidates: others would tell little more
_FEWEST_ARMS = 200  # that are drawn, if there are that many: neighbours of candidates tell most
_SWEEPS = 5  # between two draws
_MOST_VISITS = 100_000_000  # of relations, in all sweeps: half a second
MOST_REPAIRS = 200  # sweeps
_SEED = 20  # any: the same policy draws the same means
_STRICTLY = 1.0 - 1e-9  # similar means are less than epsilon apart, by the tolerance of relations
_WIDER = 1.1  # the box reaches a little beyond the means found; by eye


def draws_of(found: CandidateSet, bounded: bool) -> Floats:
    """Return means of the candidates that satisfy all relations, a row each; no rows where none are found.

    Parameters
    ----------
    found : CandidateSet
        The candidates, with the side information that they come from.
    bounded : bool
        Whether means lie in [0, 1].
    """
    none = np.zeros((0, len(found.arms)))
    if len(found.arms) > MOST_CANDIDATES or found.conflict is not None:
        return none
    members = members_of(found.side.n_arms, found.arms)
    side = subset(found.side, members)
    size = size_of(side)
    if size is None:
        return none
    relations = relations_of(side)
    stream = new_stream(_SEED)
    start = first_means(side, relations, size, bounded, stream)
    if start is None:
        return none
    x, width = start
    visits = len(relations.others) + len(relations.far) + len(x)
    sweeps = min(max(_MOST_VISITS // (N_DRAWS * visits), 1), _SWEEPS)
    draws = np.empty((N_DRAWS, len(found.arms)))
    kept = np.searchsorted(members, found.arms)
    draw_from(x, width, side, relations, size, sweeps, kept, draws, stream)
    return draws


def draw_from(
    x: Floats,
    width: float,
    side: SideInformation,
    relations: DrawnRelations,
    size: float,
    sweeps: int,
    kept: NDArray[np.int64],
    draws: Floats,
    stream: NDArray[np.uint64],
) -> None:
    """Fill `draws` from means x that satisfy all relations, the quickest way for their number.

    Few arms are drawn by NumPy, without compiled code. The number alone decides, so that an agent and a
    simulation, compiled or not, draw the same means.
    """
    if len(x) <= MOST_ROWS:
        rng = np.random.default_rng(stream)
        draw_side_by_side(x, width, relations, sweeps, kept, draws, rng)
        return
    has_one_distance = side.ranges is None and side.store.thresholds is None
    if has_one_distance and len(relations.turns) == 1:
        draw_by_order(x, width, relations, size, sweeps, kept, draws, stream)
    else:
        draw_means(x, 0.0, width, relations, sweeps, kept, draws, stream)


def draw_by_order(
    x: Floats,
    width: float,
    relations: DrawnRelations,
    size: float,
    sweeps: int,
    kept: NDArray[np.int64],
    draws: Floats,
    stream: NDArray[np.uint64],
) -> None:
    """Fill `draws` as `draw_means` does, the same numbers: for one distance `size` and one component."""
    kinds = np.zeros((len(x), len(x)), np.int8)
    arms = np.arange(len(x))
    kinds[np.repeat(arms, np.diff(relations.starts)), relations.others] = 1
    kinds[np.repeat(arms, np.diff(relations.far_starts)), relations.far] = -1
    order = np.argsort(x, kind="stable")
    # More than rounding can have moved arms from where their relations hold.
    limits = (0.0, width, size * _STRICTLY, size, 1e-9 * size + 1e-12 * width)
    draw_in_order(x[order], order, kinds, limits, sweeps, kept, draws, stream)


def members_of(n_arms: int, arms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the arms to draw: all, or the candidates and some others."""
    if n_arms <= _MOST_ARMS:
        return np.arange(n_arms)
    others = np.setdiff1d(np.arange(n_arms), arms, assume_unique=True)
    n_others = min(max(_FEWEST_ARMS - len(arms), len(arms), 0), max(_MOST_ARMS - len(arms), 0), len(others))
    return np.sort(np.concatenate([arms, evenly_spread(others, n_others)]))


def size_of(side: SideInformation) -> float | None:
    """Return a distance of the order of those in the relations; None where they have no size in rewards."""
    if side.has_epsilon:
        return side.limits.largest
    if side.ranges is None or not side.ranges.has_size or side.n_similar or side.n_dissimilar:
        return None
    ends = np.abs(np.concatenate([side.ranges.low, side.ranges.high]))
    return float(np.median(ends[np.isfinite(ends) & (ends > 0.0)]))


def relations_of(side: SideInformation) -> DrawnRelations:
    """Return the relations of side information as constraints on means."""
    store = side.store.explicit()
    near, far = store.similar, store.listed_dissimilar()
    within = np.broadcast_to(side.limits.similar, len(near.indices)) * _STRICTLY
    apart = np.broadcast_to(side.limits.dissimilar, len(far.indices)).copy()
    owners = np.repeat(np.arange(side.n_arms), np.diff(near.indptr))
    others, low, high = near.indices.astype(np.int64), -within, within
    directed = np.zeros(0, np.int64)
    if side.ranges is not None:
        pairs = side.ranges.pairs.astype(np.int64)
        directed = pairs[:, 0]
        owners = np.concatenate([owners, pairs[:, 0], pairs[:, 1]])
        others = np.concatenate([others, pairs[:, 1], pairs[:, 0]])
        low = np.concatenate([low, side.ranges.low, -side.ranges.high])
        high = np.concatenate([high, side.ranges.high, -side.ranges.low])
    order = np.argsort(owners, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=side.n_arms))])
    others = others[order]
    n_components, component = SymmetricGraph(starts, others).components()
    turns = np.ones(n_components, np.int64)
    turns[component[directed]] = 0
    return DrawnRelations(
        starts.astype(np.int64),
        others,
        low[order],
        high[order],
        far.indptr.astype(np.int64),
        far.indices.astype(np.int64),
        apart,
        component.astype(np.int64),
        turns,
    )


def first_means(
    side: SideInformation, relations: DrawnRelations, size: float, bounded: bool, stream: NDArray[np.uint64]
) -> tuple[Floats, float] | None:
    """Return means that satisfy all relations, from 0 to a width, and that width; None if none are found."""
    if side.is_complete and side.ranges is None and side.store.thresholds is None:
        model = recognise(side)
        if isinstance(model, ForbiddenSubgraph):
            return None
        x = model.coordinates * size
    else:
        x = lay_on_lines(relations, size)
        room = max(float(np.ptp(x)), 1.0 if bounded else 0.0) + size
        if not repair(x, x.min() - room, x.max() + room, relations, MOST_REPAIRS, stream):
            return None
    x = x - x.min()
    span = float(x.max())
    if not bounded:
        width = _WIDER * min(max(likely_width(side, size), span), 3.0 * span + size)
        return x + 0.5 * (width - span), width
    if span < 1.0:
        return x + 0.5 * (1.0 - span), 1.0
    x = np.ascontiguousarray(x / span)
    return (x, 1.0) if repair(x, 0.0, 1.0, relations, MOST_REPAIRS, stream) else None


def likely_width(side: SideInformation, size: float) -> float:
    """Return the width of the interval in which two uniform points are similar as often as two arms are."""
    if side.epsilon is None or side.n_similar == 0:
        return 0.0
    apart = side.n_dissimilar / (side.n_similar + side.n_dissimilar)
    return size / max(1.0 - math.sqrt(apart), 1e-9)


def lay_on_lines(relations: DrawnRelations, size: float) -> Floats:
    """Return a first guess: every component along a line by steps from its ends, one after the other."""
    n_arms, at = len(relations.component), 0.0
    links = SymmetricGraph(relations.starts, relations.others)
    x = np.zeros(n_arms)
    for which in range(len(relations.turns)):
        members = np.flatnonzero(relations.component == which)
        steps = links.steps_from(int(members[0]))[members]
        one = members[np.argmax(steps)]
        steps = links.steps_from(int(one))[members]
        line = steps - links.steps_from(int(members[np.argmax(steps)]))[members]
        line = 0.375 * size * (line - line.min())  # three quarters of a size a step
        x[members] = at + line
        if relations.turns[which] == 0:
            over = x.copy()
            over[members] = at + line.max() - line
            if all_broken(over, relations) < all_broken(x, relations):
                x = over
        at += float(line.max()) + 1.3 * size
    return x
